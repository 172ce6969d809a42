"""The order in which libstdc++'s `unordered_map` lists strings: that of keywords in messages."""

from __future__ import annotations

from collections.abc import Iterable

_MASK = (1 << 64) - 1
_SEED = 0xC70F6907
_MULTIPLIER = 0xC6A4A7935BD1E995
_BUCKETS = 13  # the number after the first insertion, which suffices for as many strings


def unordered(keys: Iterable[str]) -> list[str]:
    """The strings, inserted in the order given, as the map lists them.

    A string whose bucket is empty comes first of all, another one first in its bucket.
    """
    listed: list[str] = []
    for key in keys:
        bucket = _hash(key.encode()) % _BUCKETS
        same = [i for i, k in enumerate(listed) if _hash(k.encode()) % _BUCKETS == bucket]
        listed.insert(same[0] if same else 0, key)
    return listed


def _hash(data: bytes) -> int:
    """MurmurHash2 of 64 bits, variant A, which is `std::hash` of a string."""
    value = _SEED ^ (len(data) * _MULTIPLIER & _MASK)
    whole = len(data) & ~7
    for start in range(0, whole, 8):
        block = int.from_bytes(data[start : start + 8], "little")
        block = _mixed(block * _MULTIPLIER & _MASK) * _MULTIPLIER & _MASK
        value = (value ^ block) * _MULTIPLIER & _MASK
    if whole < len(data):
        value = (value ^ int.from_bytes(data[whole:], "little")) * _MULTIPLIER & _MASK
    return _mixed(_mixed(value) * _MULTIPLIER & _MASK)


def _mixed(value: int) -> int:
    return value ^ (value >> 47)
