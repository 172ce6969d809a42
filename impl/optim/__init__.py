"""`torch.optim`: optimizers, each of which updates one parameter after the other, and schedules."""

from impl.optim import lr_scheduler
from impl.optim.adagrad import Adagrad
from impl.optim.adam import Adam, AdamW
from impl.optim.lbfgs import LBFGS
from impl.optim.optimizer import Optimizer
from impl.optim.rmsprop import RMSprop
from impl.optim.sgd import SGD

__all__ = ["LBFGS", "SGD", "Adagrad", "Adam", "AdamW", "Optimizer", "RMSprop", "lr_scheduler"]
