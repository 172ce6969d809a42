"""Observation: the table of fields, the observer that reads them, and traces."""
