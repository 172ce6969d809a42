"""Confinement of a child process by the kernel: it ends with its parent, and has no network.

This file is also the script that a port's command is started with: it confines itself, and then
becomes the command. It imports no other module of the suite.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import fcntl
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Sequence
from functools import cache

_PR_SET_PDEATHSIG = 1
_CLONE_NEWUSER = 0x10000000
_CLONE_NEWNET = 0x40000000
_SIOCGIFFLAGS, _SIOCSIFFLAGS, _IFF_UP = 0x8913, 0x8914, 1
_NOT_FOUND, _REFUSED = 127, 125


def can_end_with_parent() -> bool:
    """Whether a process that this thread starts may ask to end with its parent.

    To the kernel the parent is the thread, and other threads than the main one may end earlier.
    """
    main = threading.current_thread() is threading.main_thread()
    return main and sys.platform.startswith("linux")


def end_with_parent() -> None:
    """Have this process killed when the thread that started it ends."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def command(words: Sequence[str], network: bool) -> list[str]:
    """The command that runs these words confined, with the network of this machine or without."""
    options = ["--end-with-parent"] if can_end_with_parent() else []
    options += [] if network else ["--without-network"]
    if not options:
        return [*words]
    return [sys.executable, "-I", "-S", __file__, *options, "--", *words]


@cache
def network_refusal() -> str | None:
    """Why this machine's kernel lets no process give up the network; None where it does."""
    words = command([sys.executable, "-I", "-S", "-c", ""], network=False)
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    return None if not done.returncode else done.stderr.strip() or "it refuses without a reason"


def _leave_network() -> None:
    """Move this process to a network of its own, which has a loopback only; raises OSError."""
    user, group = os.geteuid(), os.getegid()
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(_CLONE_NEWUSER | _CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    for name, text in (
        ("setgroups", "deny"),
        ("uid_map", f"{user} {user} 1"),
        ("gid_map", f"{group} {group} 1"),
    ):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(text)
    with contextlib.suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_:
        request = struct.pack("16sh", b"lo", 0) + bytes(22)
        flags = struct.unpack_from("h", fcntl.ioctl(any_, _SIOCGIFFLAGS, request), 16)[0]
        fcntl.ioctl(any_, _SIOCSIFFLAGS, struct.pack("16sh", b"lo", flags | _IFF_UP) + bytes(22))


def _main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--end-with-parent", action="store_true")
    parser.add_argument("--without-network", action="store_true")
    parser.add_argument("words", nargs="+")
    options = parser.parse_args(arguments)
    if options.end_with_parent:
        end_with_parent()
    if options.without_network:
        try:
            _leave_network()
        except (OSError, AttributeError) as error:
            print(f"it refuses to leave the network: {error}", file=sys.stderr)
            return _REFUSED
    try:
        os.execvp(options.words[0], options.words)
    except OSError as error:
        print(f"{options.words[0]}: {error.strerror}", file=sys.stderr)
        return _NOT_FOUND


if __name__ == "__main__":
    sys.exit(_main(sys.argv[1:]))
