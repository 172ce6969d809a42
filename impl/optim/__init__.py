"""`torch.optim`: optimizers, learning-rate schedules and averages of weights."""

import sys
from types import ModuleType

from impl.optim import lr_scheduler, swa_utils, update_rules
from impl.optim.lbfgs import LBFGS
from impl.optim.optimizer import Optimizer
from impl.optim.update_rules import (
    ASGD,
    SGD,
    Adadelta,
    Adagrad,
    Adam,
    Adamax,
    AdamW,
    NAdam,
    RAdam,
    RMSprop,
    Rprop,
)

__all__ = [
    "ASGD", "LBFGS", "SGD", "Adadelta", "Adagrad", "Adam", "AdamW", "Adamax", "NAdam",
    "Optimizer", "RAdam", "RMSprop", "Rprop", "lr_scheduler", "swa_utils",
]  # fmt: skip


def _module_of(optimizer: type) -> ModuleType:
    """The module that torch has for an optimizer, such as `torch.optim.sgd` for `SGD`."""
    name = optimizer.__name__.lower()
    module = ModuleType(f"{__name__}.{name}", f"`{optimizer.__name__}`: see `update_rules`.")
    module.__file__ = update_rules.__file__
    setattr(module, optimizer.__name__, optimizer)
    optimizer.__module__ = module.__name__
    sys.modules[module.__name__] = module
    return module


adadelta, adagrad, adam, adamax = map(_module_of, (Adadelta, Adagrad, Adam, Adamax))
adamw, asgd, nadam, radam = map(_module_of, (AdamW, ASGD, NAdam, RAdam))
rmsprop, rprop, sgd = map(_module_of, (RMSprop, Rprop, SGD))
