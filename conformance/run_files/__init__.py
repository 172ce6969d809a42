"""Run files: written, read, merged, compared and resumed."""
