"""`bnnbench compare FILE --target COLUMN`: compare all methods on your own data."""

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from bnnbench.commands.running import values
from bnnbench.commands.running.arguments import parse
from bnnbench.commands.terminal.parser import Lenient
from bnnbench.suites import Entry

if TYPE_CHECKING:
    from bnnbench.datasets.own.images import OwnImages
    from bnnbench.datasets.own.table import OwnTable

PROFILES = ("quick", "all")
COMPARED = (0, 1, 3)
"""Exit codes of a suite with scores, though the report or some runs may have failed."""
MINUTES = 3.0
"""Default time limit for tables in the quick profile, in minutes."""
USAGE = """In addition, all options of a suite: --profile {quick,all}, --methods, --folds, --seeds,
--out, --workers and so on (bnnbench uci --help). Tables: the quick profile takes at most three
minutes of two idle cores, or --minutes M. What takes longer by a pilot of every method is cut in
this order: trials of a search from 16 to 8 and 4, splits from five to three, then the slowest
methods; what --methods and --folds ask for stays. --profile all has no limit unless --minutes gives
one. Text columns become categories; of more than 50 texts the frequent ones, and a column whose
texts are all different is left out. Dates become numbers. Missing numbers are replaced by the
median of the training rows, and marked; rows without a target are left out. There are five splits,
each with a tenth of the rows for testing; splits are stratified by class, and equal rows are on one
side. Each of fewer than twenty rows is tested once. Images are scaled to 32 x 32, and have one
split and three seeds. The headline is about networks; --with-yardsticks lets boosting, Gaussian
processes and the like take it."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line, and return the exit code."""
    # Unknown options are passed to the suite's parser, which names the nearest known one.
    parser = Lenient("bnnbench compare", description=__doc__, epilog=USAGE)
    parser.add_argument(
        "file",
        help="csv file (separated by commas, semicolons, tabs or |), Excel workbook or parquet "
        "file with a column for each feature; npz file whose arrays are columns or blocks of "
        "columns; folder written by Hugging Face's save_to_disk; or folder with a sub-folder of "
        "images for each class",
    )
    parser.add_argument(
        "--target",
        default="",
        metavar="COLUMN",
        help="column to predict; not needed for an npz file with the arrays inputs and targets",
    )
    parser.add_argument(
        "--task",
        choices=("regression", "classification"),
        help="default: classification for texts and up to 20 distinct whole numbers",
    )
    parser.add_argument(
        "--split",
        default="",
        metavar="COLUMN",
        help="column that says train, validation (joins train) or test, or the number of the fold",
    )
    parser.add_argument(
        "--groups",
        default="",
        metavar="COLUMN",
        help="column of groups; all rows of a group are in training or all in test",
    )
    parser.add_argument(
        "--drop", default="", metavar="A,B", help="columns to leave out, such as row numbers"
    )
    parser.add_argument(
        "--head",
        type=values.head,
        metavar="N",
        help="hidden units of the networks, or linear for none, as for features of a pretrained "
        "network; default: 50",
    )
    parser.add_argument(
        "--strict",
        action="store_true",
        help="refuse a table, with the cure, wherever it is not read as it stands: gaps in the "
        "target, marks among numbers, dates, names, other encodings and so on",
    )
    options, rest = parser.parse_known_args(arguments)
    asked = parse("own", Entry("", PROFILES), rest)  # refuses a mistake before the file is read
    if options.head is not None and asked.network:
        parser.error("give either --head or --network")
    # imported here because --help needs none of them
    from bnnbench.datasets.own.table import OwnTable
    from bnnbench.datasets.reading.columns import BadTable
    from bnnbench.datasets.reading.third_party_text import legible

    try:
        source = _source(options)
    except BadTable as error:
        print(f"error: {legible(error)}", file=sys.stderr)
        return 2
    from bnnbench.commands.suite import command
    from bnnbench.suites.own import HIDDEN_UNITS, NEED_HIDDEN_UNITS, suites_of

    hidden = HIDDEN_UNITS if options.head is None else options.head
    if isinstance(source, OwnTable):
        for line in (f"{source.name}: {source.columns_in_words}", *source.lines):
            print(legible(line), flush=True)
        if not hidden and asked.profile == "all" and source.task == "classification":
            print(f"Left out, since they need hidden units: {', '.join(NEED_HIDDEN_UNITS)}")
    if not isinstance(source, OwnTable):
        return command(suites_of(source, hidden), rest)
    suites = suites_of(source, hidden)
    code = command(suites, rest, {"quick": MINUTES, "all": None})
    if code in COMPARED and not (asked.dry_run or asked.detach):
        from bnnbench.commands.running.first_method import saved_model

        for line in saved_model(source, suites[asked.profile], asked):
            print(legible(line), flush=True)
    return code


def _source(options: argparse.Namespace) -> "OwnTable | OwnImages":
    from bnnbench.datasets.own.images import has_pictures, own_images
    from bnnbench.datasets.own.table import own_table
    from bnnbench.datasets.reading.columns import BadTable

    drop = tuple(filter(None, options.drop.split(",")))
    settings: dict[str, Any] = {"split": options.split, "groups": options.groups, "drop": drop}
    settings["strict"] = options.strict
    if not has_pictures(options.file):
        return own_table(options.file, options.target, options.task, **settings)
    if given := next((n for n in ("target", "task", *settings) if getattr(options, n)), ""):
        raise BadTable(
            f"{options.file} has images, whose classes are its sub-folders: omit --{given}"
        )
    if options.head is not None:
        raise BadTable(f"{options.file} has images, which LeNets learn: omit --head")
    return own_images(options.file)


if __name__ == "__main__":
    sys.exit(main())
