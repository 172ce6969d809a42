"""Writing of run files, as results come in."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from conformance.base.outputs import replacing
from conformance.run_files.seal import sealed


class RunWriter:
    """Writes a run file as its results come in.

    Until `close` the file is a journal: the header, then one line per program in the order of
    arrival, each handed to the operating system at once, so that a killed run is readable. `close`
    replaces it atomically by the same lines in suite order, with the footer.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        header: Mapping[str, Any],
        order: Iterable[str] = (),
        taken: Iterable[Mapping[str, Any]] = (),
    ) -> None:
        """Begin the file, with the lines ``taken`` from earlier runs; ``order`` is the suite's
        order of program IDs. An existing file is replaced when the new one has those
        lines: a run that is resumed loses none of them. Raises OSError.
        """
        self.path = Path(path)
        self.header = dict(header)
        self.lines: dict[str, dict[str, Any]] = {line["id"]: dict(line) for line in taken}
        self._order = {identifier: position for position, identifier in enumerate(order)}
        self._replace()
        self._journal = open(self.path, "ab", buffering=0)  # noqa: SIM115 (closed by close/abandon)
        self._whole = self._journal.tell()
        self._unwritten = b""

    def write(self, line: Mapping[str, Any]) -> None:
        """Append one program's line; raises ValueError when the program was written already.

        Where the file takes no more, as on a full disk, the line is kept, to be written with the
        next one or at the end.
        """
        if line["id"] in self.lines:
            raise ValueError(f"{line['id']} is in the run already")
        self.lines[line["id"]] = dict(line)
        self._unwritten += sealed(line)
        self._append()

    def in_suite_order(self) -> list[dict[str, Any]]:
        """The lines written so far, sorted as the suite is; IDs it does not know come last."""
        last = len(self._order)
        return sorted(
            self.lines.values(), key=lambda line: (self._order.get(line["id"], last), line["id"])
        )

    def close(self, footer: Mapping[str, Any]) -> None:
        """Rewrite the file in suite order with the footer; the run is complete then.

        Raises OSError, and leaves the lines so far, which can be resumed.
        """
        self._journal.close()
        self._replace(footer)

    def abandon(self) -> None:
        """Rewrite the file in suite order without a footer: the run was interrupted.

        Raises OSError, as `close`.
        """
        self._journal.close()
        self._replace()

    def _append(self) -> None:
        rest = self._unwritten
        try:
            while rest:
                rest = rest[self._journal.write(rest) :]
        except OSError:
            with suppress(OSError):
                self._journal.truncate(self._whole)  # without the part that was taken
        else:
            self._whole += len(self._unwritten)
            self._unwritten = b""

    def _replace(self, footer: Mapping[str, Any] | None = None) -> None:
        digest = hashlib.sha256()
        with replacing(self.path) as file:
            for line in map(sealed, [self.header, *self.in_suite_order()]):
                digest.update(line)
                file.write(line)
            if footer is not None:
                file.write(sealed({**footer, "sha256": digest.hexdigest()}))
