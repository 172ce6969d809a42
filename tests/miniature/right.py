"""Always right: `impl` under another name."""

from .wrapping import Namespace

namespace = Namespace()
