"""Deterministic miniature backends: `impl` with one fault.

Each misbehaves in `torch.ones` only (unless its name says otherwise), so that a chapter determines
the programs with the fault. Run against the oracle `impl`, they show the harness's reaction to such
a backend without the seconds of torch's import.
"""
