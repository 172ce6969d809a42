"""The terminal: rich's console, on which texts of backends can do no harm."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TextIO

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from conformance.base.escapes import without_controls
from conformance.base.streams import Stream


class Terminal(Console):
    """A console without markup, which escapes every text before it is styled."""

    def __init__(self, file: TextIO | Stream | None = None, **options: Any) -> None:
        """``file`` is standard output, unless another is given."""
        file = file or sys.stdout
        stream = file if isinstance(file, Stream) else Stream(file)
        plain = {"markup": False, "emoji": False, "highlight": False}
        super().__init__(file=stream.styled(), **{**plain, **options})  # type: ignore[arg-type]

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            if not segment.control:
                segment = segment._replace(text=without_controls(segment.text))
            yield segment


@contextmanager
def terminal() -> Iterator[Terminal]:
    """A terminal on the real standard output, which pytest's capturing does not reach."""
    stream = sys.stdout if isinstance(sys.stdout, Stream) else Stream(sys.stdout)
    with stream.duplicate() as real:
        yield Terminal(real)
