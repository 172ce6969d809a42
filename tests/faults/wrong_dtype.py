"""impl with float64 as its default dtype: nearly every program diverges from impl itself."""

from __future__ import annotations

from contextlib import AbstractContextManager

import impl
from conformance.backends import TorchShaped


class WrongDtype(TorchShaped):
    def __init__(self) -> None:
        super().__init__("wrong_dtype", impl, "1")

    def session(self) -> AbstractContextManager[None]:
        self.default_dtype = "float64"
        return super().session()
