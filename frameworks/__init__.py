"""Other libraries as backends: torch-shaped namespaces over JAX, HIPS/autograd and others.

A backend is named by `--backend frameworks.MODULE:backend`; no other package imports this one.
docs/frameworks.md has the findings.
"""
