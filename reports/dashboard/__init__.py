"""The dashboard: a static site, computed from a directory of run files."""
