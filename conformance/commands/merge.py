"""The command `conform merge`."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace

from conformance.base.outputs import writing
from conformance.commands.campaigns import merge_campaigns
from conformance.output.terminal import Terminal
from conformance.run.ending import ended, written
from conformance.run.plan import alone_with, check_writable, known_divergences, one_paragraph
from conformance.run.progress import summarise
from conformance.run_files.merge import Merged
from conformance.run_files.reading import read_run
from conformance.run_files.writing import RunWriter
from conformance.settings.settings import Settings, read_settings
from conformance.suite.suite import Selection, read_suite


def merge_runs(options: argparse.Namespace) -> int:
    """Put run files or campaigns together into one; returns the exit code of the whole."""
    if any(path.is_dir() for path in options.run_files):
        return merge_campaigns(options.run_files, options.output)
    with alone_with(options.output):
        return _merge(options)


def _merge(options: argparse.Namespace) -> int:
    with one_paragraph():
        runs = [read_run(path) for path in options.run_files]
        merged = Merged(runs)
        settings = _settings(options, merged)
        if settings.allow_unsupported:
            merged.header["allowed"] = ["unsupported"]
        suite = read_suite(settings.spec, settings.findings)
    known = known_divergences(settings, suite).beside(merged.header["backend"]["version"])
    for path in (options.output, *settings.outputs):
        check_writable(path)
    complete = len(merged.lines) == merged.header["programs"]
    with writing(options.output):
        writer = RunWriter(options.output, merged.header, suite.ids(), merged.lines)
    lines = writer.in_suite_order()
    gone = () if settings.known else merged.stale
    result = ended(merged.header, lines, settings, suite, known, complete, gone=gone)
    result = written(result, settings, writer)
    summarise(Terminal(), result)
    for sentence in () if complete else merged.missing:
        print(f"conform: {sentence}", file=sys.stderr)
    return result.code()


def _settings(options: argparse.Namespace, merged: Merged) -> Settings:
    """The settings of the command line, completed from the runs' header."""
    header, asked = merged.header, read_settings(options)
    return replace(
        asked,
        allow_unsupported=asked.allow_unsupported or "unsupported" in header.get("allowed", ()),
        backend=header["backend"]["name"],
        oracle=header["oracle"]["name"],
        seed=header["seed"],
        default_dtype=header.get("default_dtype", "float32"),
        selection=Selection(levels=tuple(header["selection"]["levels"])),
    )
