"""Random programs: drawn, compared, shrunk and kept."""
