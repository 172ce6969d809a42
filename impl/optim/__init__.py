"""`torch.optim`: optimizers, learning-rate schedules and averages of weights."""

from types import ModuleType

from impl.core.torch_modules import place
from impl.optim import lr_scheduler, swa_utils
from impl.optim.lbfgs import LBFGS
from impl.optim.matrix_rules import Adafactor, Muon
from impl.optim.moment_rules import Adam, Adamax, AdamW, NAdam, RAdam
from impl.optim.optimizer import Optimizer
from impl.optim.sparse_rules import SparseAdam
from impl.optim.swapped_state import swap_in_optimizer_params_and_state
from impl.optim.update_rules import ASGD, SGD, Adadelta, Adagrad, RMSprop, Rprop

__all__ = [
    "ASGD",
    "LBFGS",
    "SGD",
    "Adadelta",
    "Adafactor",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "Muon",
    "NAdam",
    "Optimizer",
    "RAdam",
    "RMSprop",
    "Rprop",
    "SparseAdam",
    "lr_scheduler",
    "swa_utils",
    "swap_in_optimizer_params_and_state",
]  # fmt: skip


def _module_of(optimizer: type) -> ModuleType:
    """The module that torch has for an optimizer, such as `torch.optim.sgd` for `SGD`."""
    name = "sparse_adam" if optimizer is SparseAdam else optimizer.__name__.lower()
    return place(f"{__name__}.{name}", optimizer)


adadelta, adagrad, adam, adamax = map(_module_of, (Adadelta, Adagrad, Adam, Adamax))
adamw, asgd, nadam, radam = map(_module_of, (AdamW, ASGD, NAdam, RAdam))
rmsprop, rprop, sgd, sparse_adam = map(_module_of, (RMSprop, Rprop, SGD, SparseAdam))
