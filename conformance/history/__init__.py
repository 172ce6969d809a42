"""The history of torch: made of the traces of each version, read for changes, checked."""
