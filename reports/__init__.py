"""Static pages from run files: self-contained, without network, opened from disk."""
