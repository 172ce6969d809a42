"""Functions that make tensors, random numbers, printing and dtype information."""
