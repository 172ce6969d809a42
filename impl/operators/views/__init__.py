"""View operators, their copying variants, and the operators that are their adjoints."""
