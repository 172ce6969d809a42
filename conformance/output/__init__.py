"""Observations, failures and runs as text."""
