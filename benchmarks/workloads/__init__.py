"""The workloads of the engine benchmark; importing this package registers all of them."""

from workloads import draws, modules, sized, small
from workloads.registry import WORKLOADS

__all__ = ["WORKLOADS", "draws", "modules", "sized", "small"]
