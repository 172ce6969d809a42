"""The table of layers: convolutions, normalisations, lookups, padding, pooling, dropout."""

from __future__ import annotations

from conformance.samples.convolutions import convolution, transposed
from conformance.samples.normalisations import (
    INSTANCE_NORM,
    RMS_NORM,
    batch_norm,
    group_norm,
    layer_norm,
)
from conformance.samples.pooling import ADAPTIVE, EMBEDDING, average, dropout, padding

LAYERS = (
    *(convolution(dims) for dims in (1, 2, 3)),
    *(transposed(dims) for dims in (1, 2)),
    batch_norm(),
    layer_norm(),
    group_norm(),
    RMS_NORM,
    INSTANCE_NORM,
    EMBEDDING,
    padding(),
    *(average(dims) for dims in (1, 2, 3)),
    *ADAPTIVE,
    dropout("dropout"),
    dropout("dropout1d"),
    dropout("alpha_dropout"),
)
