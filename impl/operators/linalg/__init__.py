"""Linear algebra: factorisations, systems, norms."""
