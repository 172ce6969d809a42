"""A tiny backend whose functions are faults."""

from __future__ import annotations

import builtins
import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np

__version__ = "1"


class Tensor:
    requires_grad = False
    grad = None
    dtype = "torch.float32"

    def __init__(self, values):
        self.values, self.shape = values, (len(values),)

    def tolist(self):
        return list(self.values)


def tensor(values):
    return Tensor(values)


def pid():
    return os.getpid()


def wrong():
    """Another number in every process: two sides never agree on it."""
    return os.getpid()


def die(code):
    os._exit(code)


def kill(name):
    os.kill(os.getpid(), getattr(signal, name))


def hang():
    time.sleep(3600)


def stuck():
    """In C code, with the interpreter's lock: no thread of this process runs."""
    ctypes.PyDLL(None).sleep(3600)


def nap(seconds):
    begun = time.monotonic()
    time.sleep(seconds)
    return [begun, time.monotonic()]


def long_text(megabytes):
    return "x" * (megabytes << 20)


def nested(levels):
    found = 1
    for _ in range(levels):
        found = [found]
    return found


def say(text):
    """Write to every pipe of this process."""
    for name in os.listdir("/proc/self/fd"):
        try:
            if "pipe" in os.readlink("/proc/self/fd/" + name):
                os.write(int(name), text.encode())
        except OSError:
            pass


def eat(megabytes):
    eaten = bytearray(megabytes << 20)
    eaten[::4096] = b"x" * len(eaten[::4096])
    time.sleep(3600)


def feed_child(megabytes):
    code = f"import time; x = bytearray({megabytes} << 20); time.sleep(3600)"
    subprocess.run([sys.executable, "-c", code])


def daemon(path):
    """Start a process in a session of its own, which writes its ID to the file."""
    code = "import os, sys, time; print(os.getpid(), file=open(sys.argv[1], 'w')); time.sleep(3600)"
    subprocess.Popen([sys.executable, "-c", code, path], start_new_session=True)
    while not os.path.exists(path) or not Path(path).read_text().endswith("\n"):
        time.sleep(0.01)


def poison(name):
    _POISONS[name]()


_POISONS = {
    "sys.modules.clear": sys.modules.clear,
    "module removed": lambda: sys.modules.pop("json"),
    "module replaced": lambda: sys.modules.__setitem__("json", os),
    "builtin patched": lambda: setattr(builtins, "eval", None),
    "np.seterr": lambda: np.seterr(all="raise"),
    "chdir": lambda: os.chdir("/"),
    "stdout": lambda: setattr(sys, "__stdout__", None) or os.environ.pop("PATH", None),
    "recursion limit": lambda: sys.setrecursionlimit(5000),
    "signal handler": lambda: signal.signal(signal.SIGINT, lambda *_: None),
    "thread": lambda: threading.Thread(target=hang, daemon=True).start(),
    "environment": lambda: os.environ.__setitem__("PATH", "/nowhere"),
    "path": lambda: sys.path.insert(0, "/nowhere"),
    "unraisable hook": lambda: setattr(sys, "unraisablehook", print),
}
