"""Backends in child processes, and ports in any language."""
