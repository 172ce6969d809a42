"""The neutral form: programs without Python, for backends in any language."""
