"""Mutation testing of the suite: which mistakes of an implementation its rules notice."""
