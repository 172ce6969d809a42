"""`torch.optim`: optimizers, each of which updates one parameter after the other, and schedules."""

from impl.optim import lr_scheduler, swa_utils
from impl.optim.adadelta import Adadelta
from impl.optim.adagrad import Adagrad
from impl.optim.adam import Adam, AdamW
from impl.optim.adamax import Adamax
from impl.optim.asgd import ASGD
from impl.optim.lbfgs import LBFGS
from impl.optim.nadam import NAdam
from impl.optim.optimizer import Optimizer
from impl.optim.radam import RAdam
from impl.optim.rmsprop import RMSprop
from impl.optim.rprop import Rprop
from impl.optim.sgd import SGD

__all__ = [
    "ASGD",
    "LBFGS",
    "SGD",
    "Adadelta",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "NAdam",
    "Optimizer",
    "RAdam",
    "RMSprop",
    "Rprop",
    "lr_scheduler",
    "swa_utils",
]
