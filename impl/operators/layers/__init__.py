"""Convolution, normalisation, attention, recurrence."""
