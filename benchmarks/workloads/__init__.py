"""The workloads of the engine benchmark; importing this package registers all of them."""

from workloads import sized, small
from workloads.registry import WORKLOADS

__all__ = ["WORKLOADS", "sized", "small"]
