"""What the engines are timed on; importing this package registers all of it."""

from workloads import sized, small
from workloads.registry import WORKLOADS

__all__ = ["WORKLOADS", "sized", "small"]
