"""`torch.utils.benchmark`: timers of statements, and their measurements."""

from impl.utils.benchmark.comparison import Colorize, Compare
from impl.utils.benchmark.measurement import Measurement, TaskSpec, select_unit, trim_sigfig
from impl.utils.benchmark.timer import Language, Timer, timer

__all__ = [
    "Colorize",
    "Compare",
    "Language",
    "Measurement",
    "TaskSpec",
    "Timer",
    "select_unit",
    "timer",
    "trim_sigfig",
]
