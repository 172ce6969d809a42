"""The command `conform spec`: the specification as a site."""

from __future__ import annotations

import argparse
import importlib
import sys

from conformance.execution.recorded import find_recording
from conformance.execution.recordings import is_recorded
from conformance.history.notes import MalformedNote
from conformance.output.terminal import Terminal
from conformance.run.plan import WrongInput, check_folder, one_paragraph
from conformance.run_files.reading import read_run
from conformance.settings.options import RECORDING
from conformance.suite.chapters import read_spec
from conformance.suite.texts import read_texts


def specification(options: argparse.Namespace) -> int:
    """Make a site of the chapters, a recording and run files; 3 if some program has no trace."""

    if not is_recorded(options.oracle):
        raise WrongInput(
            f"{options.oracle!r} is no recording; name one as {RECORDING}, or a file that "
            "`conform record` made as recorded:FILE.jsonl.xz."
        )
    check_folder(options.site)
    try:
        site = importlib.import_module("reports.specification.site")
    except ImportError as error:
        raise WrongInput(f"the site cannot be made here: {error}.") from None
    with Terminal(sys.stderr).status("reading the specification") as status, one_paragraph():
        chapters, texts = read_spec(options.spec), read_texts(options.spec)
        recording = find_recording(options.oracle)
        runs = [read_run(path) for path in options.run or ()]
        try:
            missing = site.build(chapters, recording, runs, options.site, status.update, texts)
        except MalformedNote as error:
            raise WrongInput(str(error)) from None
    for problem in missing:
        print(f"conform: {problem}", file=sys.stderr)
    print(f"spec: {options.site / 'index.html'}: {len(chapters):,} chapters, {len(runs):,} runs")
    return 3 if missing else 0
