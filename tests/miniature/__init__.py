"""Deterministic miniature backends: `impl`, with one thing about it that is wrong.

Each misbehaves in `torch.ones` only (unless its name says otherwise), so that a chapter decides
which of its programs meet the fault. Against the oracle `impl` they show what the harness does with
such a backend, without the seconds that importing torch takes.
"""
