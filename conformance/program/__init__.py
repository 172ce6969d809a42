"""Programs, their given tensors and their normative comments."""
