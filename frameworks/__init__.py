"""Other libraries as backends: torch-shaped namespaces over JAX, HIPS/autograd and others.

Each is named by `--backend frameworks.MODULE:backend`. Nobody imports this package;
docs/frameworks.md says what was found with it.
"""
