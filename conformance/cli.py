"""The command `conform`: run the suite, list it, show one program, make pages of runs."""

from __future__ import annotations

import argparse
import importlib
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path

from conformance.base.kept import cache_folder
from conformance.base.outputs import OutputError
from conformance.base.release import version
from conformance.base.streams import standard_streams
from conformance.fuzz.options import FUZZ
from conformance.run.plan import WrongInput
from conformance.settings.arguments import commit_address
from conformance.settings.options import (
    BACKENDS,
    COUNTED,
    ENDING,
    MUTANTS,
    ORACLE,
    RECORDING,
    RUN,
    SEED,
    SELECTION,
    SHARE,
    SPEC_URL,
    SUITE,
    add_options,
)
from conformance.settings.settings import WrongOptions

EXIT_CODES = """\
exit codes:
  0  every selected program was compared and conforms, shows what another version of torch
     shows, or is a known divergence
  1  something diverges, or a known divergence is gone and its entry must be removed
  2  wrong usage or input: the message says what, and in which file and line
  3  nothing diverges, but something was not compared (unsupported, error, not run),
     or the run was interrupted
  4  an output could not be written, or the suite itself failed (nothing diverges: 1 comes first)
"""

DASHBOARD_EXIT_CODES = """\
exit codes:
  0  the site has every run file
  2  wrong usage or input: no run file, or a folder that cannot be written
  3  some file was damaged or no run; the site is written without it
"""

SPEC_EXIT_CODES = """\
exit codes:
  0  the site has every program's trace
  2  wrong usage or input: a chapter, recording or run file is damaged
  3  some program has no trace in the recording; the site says so where it would stand
"""

CHECK_EXIT_CODES = """\
exit codes:
  0  the chapters say what torch does, and every change that the history shows
  1  a comment does not hold, a change has no note, or a note no change
  2  wrong usage or input
  3  nothing is wrong, but the history lacks examples of some versions
"""

VERSIONS_EXIT_CODES = """\
No torch is needed: the history has the traces of every version. Only programs on which versions
differ at the levels asked for (--level, default all) are run.

exit codes:
  0  the backends were compared
  2  wrong usage or input, or a backend that is not available
"""

MUTANT_EXIT_CODES = """\
exit codes:
  0  every mutant is noticed by a program of a rule, or by a sample of an operator
  1  a mutant survived, only a whole program noticed it, or it could not be applied
  2  wrong usage or input
"""

EXAMPLES = """\
examples:
  conform fuzz -n auto                                500 programs of each theme, impl against torch
  conform fuzz --theme writes --examples 5000 -n auto --seed 7
  conform fuzz --time 30m -n auto --corpus corpus     half an hour, beginning with the corpus
  conform fuzz --backend my_port.torch:namespace --level values --level graph

Divergences are grouped by cause: the operator of the first statement that diverges, the field, and
the kind of difference. The smallest program of each cause is shrunk, printed so that it can be
pasted, and written to conformance/findings (in a source checkout) or ./findings (elsewhere);
`conform run` replays the former, and the latter with --findings ./findings. The same options draw
the same programs.

"""


TODO = """\
Each step adds the operations that unlock the most programs, for each operation that is added, and
that others need most; `then` is the share of programs that run after it. Without --area and --rule
the programs are those of all rules.

examples:
  conform todo --area seeds                 the shortest way from nothing to the rules about seeds
  conform todo run.jsonl                    the next operations for the port of this run

exit codes:
  0  always, but for
  2  wrong usage or input
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code (see EXIT_CODES)."""
    with standard_streams() as faults:
        code = _code(arguments)
    return 4 if faults and code != 1 else code


def _code(arguments: Sequence[str] | None) -> int:
    try:
        options = _parser().parse_args(arguments)
        module, _, function = options.command.partition(":")
        return getattr(importlib.import_module(f"conformance.commands.{module}"), function)(options)
    except SystemExit as ended:  # of argparse
        return int(ended.code or 0)
    except (WrongInput, WrongOptions) as error:
        print(f"conform: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("conform: interrupted", file=sys.stderr)
        return 3
    except (OutputError, OSError, MemoryError) as error:
        print(f"conform: {error or 'no memory is left'}", file=sys.stderr)
        return 4
    except Exception:
        traceback.print_exc()
        print("conform: the suite itself failed: please report the lines above", file=sys.stderr)
        return 4


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="conform",
        allow_abbrev=False,
        description="A conformance suite for PyTorch's autograd semantics.",
        epilog=EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"conform {version()}")
    commands = parser.add_subparsers(metavar="command", required=True)

    def command(name: str, function: str, about: str) -> argparse.ArgumentParser:
        # Only the module of the command that is given is imported: commands start faster.
        added = commands.add_parser(
            name,
            allow_abbrev=False,
            help=about,
            description=about[0].upper() + about[1:] + ".",
            epilog=EXIT_CODES,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        added.set_defaults(command=function)
        return added

    running = command("run", "run:run", "compare a backend with an oracle, program by program")
    add_options(running.add_argument, RUN)
    drawing = command("fuzz", "fuzz:fuzz", "compare a backend with an oracle on random programs")
    drawing.epilog = EXAMPLES + (
        EXIT_CODES.replace("every selected program", "every program drawn").replace(
            ", or a known divergence is gone and its entry must be removed",
            ": it is shown and kept",
        )
    )
    add_options(drawing.add_argument, tuple(option for option in FUZZ if option.name != "keep-in"))
    drawing.add_argument(
        "--keep",
        dest="no_keep",
        action="store_false",
        default=False,
        help="write it to a file (default)",
    )
    drawing.add_argument(
        "--findings",
        dest="keep_in",
        metavar="DIR",
        help="write findings to this folder (default: see below)",
    )
    listing = command(
        "list", "programs:list_programs", "list what would run, with the rules' sentences"
    )
    add_options(listing.add_argument, (*SELECTION, SEED, *SHARE))
    add_options(listing.add_argument, SUITE)
    listing.add_argument("--json", action="store_true", help="one JSON object per program")

    def spread_over(added: argparse.ArgumentParser) -> None:
        added.add_argument(
            "-n",
            dest="processes",
            type=_processes,
            default=0,
            metavar="N",
            help="spread over this many processes, or `auto` for one per core (default: 0, none)",
        )
        added.set_defaults(machines=[], folders=[])

    def reach_out(added: argparse.ArgumentParser) -> None:
        added.add_argument(
            "--tx",
            dest="machines",
            action="append",
            metavar="SPEC",
            help="spread over this interpreter, here or elsewhere, as pytest-xdist names it, such "
            "as 4*popen, ssh=HOST or socket=HOST:PORT; repeatable",
        )
        added.add_argument(
            "--rsyncdir",
            dest="folders",
            action="append",
            metavar="DIR",
            help="send this folder, such as the suite's checkout, to the machines of --tx, and "
            "import from it there; repeatable",
        )

    running.add_argument("-x", dest="maxfail", action="store_const", const=1, help="--maxfail 1")
    spread_over(running)
    reach_out(running)
    spread_over(drawing)
    reach_out(drawing)
    mutating = command(
        "mutants", "mutants:mutants", "put mistakes into a backend, and see which rules notice them"
    )
    mutating.epilog = MUTANT_EXIT_CODES
    add_options(mutating.add_argument, MUTANTS)
    spread_over(mutating)
    one = command("show", "programs:show_program", "show one program, both traces side by side")
    one.add_argument("program", metavar="ID", help="such as SEED-03.2 or op/amax/ties/float64")
    add_options(one.add_argument, (*BACKENDS, *SUITE, *COUNTED))
    one.add_argument("--json", action="store_true", help="the program's line of a run file instead")
    reported = command("report", "pages:report", "make an HTML report of a run file")
    reported.add_argument("run_file", metavar="RUNFILE", type=Path)
    reported.add_argument("-o", dest="output", metavar="FILE.html", type=Path, required=True)
    add_options(reported.add_argument, (SPEC_URL,))
    beside = command(
        "frameworks",
        "pages:frameworks",
        "make one table of several backends' conventions",
    )
    beside.add_argument("run_files", metavar="RUNFILE", type=Path, nargs="+")
    beside.add_argument(
        "-o", dest="output", metavar="FILE", type=Path, required=True, help="ends in .html or .md"
    )
    merged = command(
        "merge",
        "merge:merge_runs",
        "put run files of shards together into one run, fold reruns back, or merge campaigns",
    )
    merged.add_argument("run_files", metavar="RUNFILE|DIR", type=Path, nargs="+")
    merged.add_argument("-o", dest="output", metavar="FILE|DIR", type=Path, required=True)
    add_options(merged.add_argument, (*ENDING, *SUITE))
    written = command(
        "export",
        "traces:export_programs",
        "write programs and the oracle's traces for ports in any language",
    )
    written.add_argument("folder", metavar="DIR", type=Path)
    add_options(written.add_argument, SELECTION)
    add_options(written.add_argument, (*ORACLE, *SUITE))
    site = command("dashboard", "pages:dashboard", "make a site of a directory of run files")
    site.epilog = DASHBOARD_EXIT_CODES
    site.add_argument("runs", metavar="RUNS_DIR", type=Path, help="with *.jsonl, *.jsonl.gz")
    site.add_argument("site", metavar="SITE_DIR", type=Path)
    site.add_argument(
        "--cache",
        metavar="DIR",
        type=Path,
        default=cache_folder("dashboard"),
        help="keep here what run files were read as (default: %(default)s)",
    )
    site.add_argument(
        "--commit-url",
        metavar="URL",
        type=commit_address,
        help="link the revision of each run (--revision): its address, with {} in its place",
    )
    add_options(site.add_argument, (SPEC_URL,))
    spread_over(site)
    chapters = command("spec", "spec:specification", "make a site of the specification")
    chapters.epilog = SPEC_EXIT_CODES
    chapters.add_argument("site", metavar="SITE_DIR", type=Path)
    chapters.add_argument(
        "--run",
        metavar="RUNFILE",
        type=Path,
        action="append",
        help="show this run's verdicts under the rules; repeatable",
    )
    chapters.add_argument(
        "--oracle",
        metavar="recorded:NAME",
        default=RECORDING,
        help="whose traces stand under the rules (default: %(default)s)",
    )
    add_options(chapters.add_argument, tuple(option for option in SUITE if option.name == "spec"))
    recorded = command(
        "record", "traces:record_traces", "write an oracle's traces into a recording"
    )
    recorded.add_argument(
        "recording",
        metavar="FILE.jsonl.xz|DIR",
        type=Path,
        help="a file for these traces, or the folder of a history, to which the version is added",
    )
    add_options(recorded.add_argument, SELECTION)
    add_options(recorded.add_argument, (*ORACLE, *SUITE))
    checked = command(
        "check", "check:check_chapters", "hold the chapters against torch and against the history"
    )
    checked.epilog = CHECK_EXIT_CODES
    checked.add_argument(
        "files", metavar="CHAPTER.md", type=Path, nargs="*", help="default: all chapters"
    )
    checked.add_argument(
        "--oracle",
        metavar="NAME",
        help="the torch that the comments are held against, or none (default: torch, if installed)",
    )
    checked.add_argument(
        "--import", dest="imports", metavar="MODULE", action="append", default=[], help="as of run"
    )
    checked.add_argument(
        "--without-history", action="store_true", help="hold the chapters against torch only"
    )
    checked.add_argument(
        "--allow-lagging",
        action="store_true",
        help="succeed where the history lacks examples of older versions (they are named)",
    )
    checked.add_argument(
        "--prose", action="store_true", help="list the comments that are not checked"
    )
    followed = command(
        "versions", "versions:versions", "say which torch backends follow where its versions differ"
    )
    followed.epilog = VERSIONS_EXIT_CODES
    followed.add_argument(
        "--backend",
        dest="backends",
        metavar="NAME",
        action="append",
        help="a backend, named as of run (default: impl); repeatable",
    )
    add_options(
        followed.add_argument,
        tuple(o for o in BACKENDS if o.name in ("import", "timeout", "start-timeout")),
    )
    add_options(followed.add_argument, (*SELECTION, *SUITE, *COUNTED))
    followed.add_argument(
        "--oracle",
        default="none",
        metavar="NAME",
        help="a torch that is newer than the history, to be asked as well (default: none)",
    )
    followed.add_argument(
        "--json", dest="json_file", metavar="FILE", type=Path, help="write all results here"
    )
    followed.add_argument(
        "--table", metavar="FILE.md", type=Path, help="write a table in Markdown here"
    )
    lacking = command("todo", "todo:todo", "list the operations that a port should have next")
    lacking.epilog = TODO
    lacking.add_argument(
        "run_file",
        metavar="RUNFILE",
        type=Path,
        nargs="?",
        help="a run of the port, which says what it has; without one the way begins with nothing",
    )
    add_options(lacking.add_argument, (*SELECTION, *SUITE))
    lacking.add_argument(
        "--steps",
        metavar="N",
        type=int,
        default=20,
        help="show this many steps (default: %(default)s)",
    )
    compared = command(
        "diff", "traces:show_differences", "say what changed between two recordings or runs"
    )
    compared.add_argument(
        "before", metavar="BEFORE", help="a recording (a file, or recorded:torch-2.6) or a run file"
    )
    compared.add_argument("after", metavar="AFTER", help="another of the same kind")
    add_options(compared.add_argument, tuple(option for option in SUITE if option.name == "spec"))
    return parser


def _processes(text: str) -> int | str:
    if text == "auto":
        return text
    try:
        number = int(text)
    except ValueError:
        number = -1
    if number < 0:
        raise argparse.ArgumentTypeError(f"{text!r} is neither a number of processes nor auto")
    return number


if __name__ == "__main__":
    sys.exit(main())
