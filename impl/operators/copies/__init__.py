"""Operators that copy, join and repeat."""
