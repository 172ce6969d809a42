"""HIPS/autograd on the tape, differentiated by its `make_vjp`."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

import autograd
import autograd.numpy as anp
import numpy as np
from autograd.builtins import tuple as boxed_tuple
from autograd.scipy import special

from frameworks.numpy_shaped import operators
from frameworks.tape import Arrays, Function, Library
from frameworks.torch_shaped import Ported


class Autograd(Library):
    """HIPS/autograd on NumPy."""

    name = "autograd"
    version = version("autograd")

    def __init__(self) -> None:
        self.operators = {
            **operators(anp),
            "erf": special.erf,
            "erfc": special.erfc,
            "erfinv": special.erfinv,
            "lgamma": special.gammaln,
            "digamma": special.digamma,
            "sigmoid": special.expit,
            "logit": special.logit,
            "logsumexp": lambda x, dim, keepdim=False: special.logsumexp(
                x, axis=dim, keepdims=keepdim
            ),
        }

    def array(self, values: np.ndarray) -> Any:
        return values

    def numpy(self, array: Any) -> np.ndarray:
        return np.asarray(array)

    def cotangent(self, output: Any) -> Any:
        return np.asarray(autograd.grad(lambda x: x)(output))

    def vjp(self, function: Function, inputs: Arrays, cotangents: Arrays) -> Arrays:
        places = tuple(range(len(inputs)))
        pull, _ = autograd.make_vjp(lambda *given: boxed_tuple(function(*given)), places)(*inputs)
        return tuple(pull(boxed_tuple(tuple(cotangents))))


backend = Ported("frameworks.autograd_hips:backend", Autograd())
