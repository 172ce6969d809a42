"""Execution of programs on backends, and recordings of it."""
