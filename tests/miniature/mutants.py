"""Mutants: `impl` with one piece of autograd's semantics deliberately wrong.

Each is a factory, named as a backend `miniature.mutants:NAME`. It changes `impl` in the process
that calls it, so it is for the harness's child processes only.
"""

from __future__ import annotations

from types import ModuleType, SimpleNamespace

import numpy as np


def first_index_ties_in_amax() -> ModuleType:
    """amax sends the whole gradient to the first tied element instead of sharing it."""
    import impl
    from impl.core.dims import wrap_dims
    from impl.operators.reductions.extrema import amax_dim

    def first(F, grad, self, result, dim, keepdim):
        array = np.asarray(self)
        dims = wrap_dims(dim, array.ndim)
        kept = tuple(1 if i in dims else n for i, n in enumerate(array.shape))
        tied = array == np.reshape(result, kept)
        moved = np.moveaxis(tied, dims, range(-len(dims), 0)) if dims else tied
        rows = moved.reshape(*moved.shape[: moved.ndim - len(dims)], -1)
        only_first = (rows & (rows.cumsum(-1) == 1)).reshape(moved.shape)
        back = np.moveaxis(only_first, range(-len(dims), 0), dims) if dims else only_first
        return np.reshape(grad, kept) * back

    amax_dim.formulas.clear()
    amax_dim.plans.clear()
    amax_dim.gradient(self=first)
    return impl


def grad_overwritten() -> ModuleType:
    """A backward replaces `.grad` instead of adding to it."""
    import impl
    from impl.engine import accumulation

    write = accumulation.write.write

    def overwrite(held, value):
        write(held, value - held._raw)

    accumulation.write = SimpleNamespace(write=overwrite)
    return impl


def detach_copies() -> ModuleType:
    """detach() returns a copy: no shared storage, no shared version counter."""
    import impl

    def detach(tensor):
        with impl.no_grad():
            return tensor.clone()

    impl.Tensor.detach = detach
    return impl


def no_version_check() -> ModuleType:
    """A saved tensor is used even if it was written since."""
    import impl
    from impl.tape import saved_variable

    saved_variable.raise_version_mismatch = lambda *_: None
    return impl
