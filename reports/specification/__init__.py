"""The specification as a static site: chapters, the oracle's traces, backends' verdicts."""
