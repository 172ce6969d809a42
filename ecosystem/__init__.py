"""Programs over packages of other people, on impl and on torch: `python -m ecosystem`.

A program (`ecosystem/programs/PACKAGE.py`) has functions `case_*` that return tensors: values and
gradients. Each runs in a process of its own side, in float64, with the same seed.
"""
