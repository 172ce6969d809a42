"""Comparison of two traces into a verdict, and known divergences."""
