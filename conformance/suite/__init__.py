"""The suite: chapters, whole programs, conventions, laws, and selections of them."""
