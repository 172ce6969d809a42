"""The operators that look up or write elements of meta tensors at indices of the CPU."""

from __future__ import annotations

from impl.operators.indexing.embedding import embedding_rows
from impl.operators.indexing.gathering import gather, index_select
from impl.operators.indexing.index_operators import put, take
from impl.operators.indexing.scattering import scatter_src, scatter_value

for _op in (gather, index_select, put, scatter_src, scatter_value, take):
    _op.index_position = _op.position["index"]
embedding_rows.index_position = embedding_rows.position["indices"]
