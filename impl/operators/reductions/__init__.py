"""Reductions, order and search."""
