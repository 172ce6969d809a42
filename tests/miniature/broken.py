"""Cannot be imported."""

raise RuntimeError("this miniature is broken on purpose")
