"""`bnnbench site`: the board and all its pages, from bundles or folders of results."""

import sys
from collections.abc import Sequence
from pathlib import Path

from bnnbench.commands import report
from bnnbench.commands.terminal.parser import Parser
from bnnbench.datasets.reading import finished_runs

ABOUT = """Build a site without fitting: the board, which answers which method to use
first, a page for each method, data set and suite, and a comparison of any two methods. If
predictions are available, pages of examples show the images or rows on which methods differ. All
pages are files that need no server."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line, and return the exit code of `bnnbench report`."""
    parser = Parser("bnnbench site", description=ABOUT)
    parser.add_argument(
        "sources", nargs="*",
        help="bundles, or folders of results (default: the finished runs of bnnbench)",
    )  # fmt: skip
    parser.add_argument("--out", type=Path, default=Path("site"), help="folder (default: site)")
    parser.add_argument(
        *("--predictions",), action="append", default=[], metavar="FILE.tar",
        help="predictions of a bundle's runs, from `bnnbench bundle --predictions`; adds pages of "
        "examples and figures; repeatable",
    )  # fmt: skip
    options = parser.parse_args(arguments)
    try:
        sources = options.sources or [str(finished_runs.folder())]
    except finished_runs.NoFinishedRuns as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    archives = [part for path in options.predictions for part in ("--predictions", path)]
    code = report.main([*sources, *archives, "--out", str(options.out)])
    if code != 2:
        print(f"open {(options.out / 'index.html').resolve().as_uri()}")
    return code
