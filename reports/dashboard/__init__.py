"""The dashboard: a static site that is a function of a directory of run files."""
