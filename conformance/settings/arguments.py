"""Readers of the arguments of options, as types of argparse."""

from __future__ import annotations

import argparse
import re

from conformance.isolation import memory
from conformance.run_files.identity import is_web_address


def seconds(text: str) -> float:
    """A positive number of seconds; raises ArgumentTypeError for anything else."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < 1e7:
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive number of seconds")
    return value


_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0}


class Duration(float):
    """A number of seconds, which is written as `duration` reads it."""

    def __str__(self) -> str:
        return f"{float(self)}s"


def duration(text: str) -> Duration:
    """The seconds of `90s`, `30m` or `8h`; raises ArgumentTypeError for anything else."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([smh])", text)
    if match is None or not float(match[1]):
        raise argparse.ArgumentTypeError(f"{text!r} is not a time, such as 90s, 30m or 8h")
    return Duration(float(match[1]) * _UNITS[match[2]])


class Size(int):
    """A number of bytes, which is written as `size` reads it."""

    def __str__(self) -> str:
        return memory.size_text(self)


def size(text: str) -> Size:
    """The bytes of `512M` or `2G`; raises ArgumentTypeError for anything else."""
    try:
        return Size(memory.size(text))
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def one_line(text: str) -> str:
    """A short text without line breaks; raises ArgumentTypeError for any other."""
    if not text or len(text.splitlines()) > 1 or len(text) > 200:
        raise argparse.ArgumentTypeError("not one line of at most 200 characters")
    return text


def web_address(text: str) -> str:
    """An address that starts with http:// or https://; raises ArgumentTypeError for any other."""
    if not is_web_address(text):
        raise argparse.ArgumentTypeError(f"{text!r} does not start with http:// or https://")
    return text


def commit_address(text: str) -> str:
    """A web address with `{}` in it; raises ArgumentTypeError for any other text."""
    if "{}" not in text:
        raise argparse.ArgumentTypeError(f"{text!r} has no {{}}, where the revision belongs")
    return web_address(text)


def count(text: str) -> int:
    """A positive whole number; raises ArgumentTypeError for anything else."""
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive number")
    return int(text)


def number(text: str) -> int:
    """A whole number from 0 on; raises ArgumentTypeError for anything else."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a number")
    return int(text)
