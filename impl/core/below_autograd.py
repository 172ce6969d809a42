"""The block in which operators are called below autograd (at::AutoDispatchBelowAutograd)."""

from __future__ import annotations

from impl.core.state import STATE


class BelowAutograd:
    """While it is entered, nothing is recorded and tangents are dropped; the grad mode that a
    program reads is unchanged."""

    def __enter__(self) -> None:
        self._before = STATE.below_autograd, STATE.forward
        STATE.below_autograd, STATE.forward = True, False

    def __exit__(self, *exc) -> None:
        STATE.below_autograd, STATE.forward = self._before
