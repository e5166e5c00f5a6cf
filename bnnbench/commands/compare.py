"""`bnnbench compare FILE --target COLUMN`: compare all methods on your own data."""

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from bnnbench.commands.running.arguments import parse
from bnnbench.suites import Entry

if TYPE_CHECKING:
    from bnnbench.datasets.own.images import OwnImages
    from bnnbench.datasets.own.table import OwnTable

PROFILES = ("quick", "all")
USAGE = """In addition, all options of a suite: --profile {quick,all}, --methods, --folds, --seeds,
--out, --workers and so on (bnnbench uci --help). Text columns become categories; of more than 50
texts the frequent ones, and a column whose texts are all different is left out. Dates become
numbers. Missing numbers are replaced by the median of the training rows, and marked; rows without a
target are left out. There are five splits, each with a tenth of the rows for testing; splits are
stratified by class, and equal rows are on one side. Each of fewer than twenty rows is tested once.
Images are scaled to 32 x 32, and have one split and three seeds."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line, and return the exit code."""
    # Unknown options are passed to the suite's parser, which names the nearest known one.
    parser = argparse.ArgumentParser(
        "bnnbench compare", description=__doc__, epilog=USAGE, allow_abbrev=False
    )
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
        "--strict",
        action="store_true",
        help="refuse a table, with the cure, wherever it is not read as it stands: gaps in the "
        "target, marks among numbers, dates, names, other encodings and so on",
    )
    options, rest = parser.parse_known_args(arguments)
    parse("own", Entry("", PROFILES), rest)  # refuses a mistake before the file is read
    # imported here because --help needs none of them
    from bnnbench.datasets.own.table import OwnTable
    from bnnbench.datasets.reading.columns import BadTable
    from bnnbench.datasets.reading.third_party_text import legible

    try:
        source = _source(options)
    except BadTable as error:
        print(f"error: {legible(error)}", file=sys.stderr)
        return 2
    if isinstance(source, OwnTable):
        for line in (f"{source.name}: {source.columns_in_words}", *source.lines):
            print(legible(line), flush=True)
    from bnnbench.commands.suite import command
    from bnnbench.suites.own import suites_of

    return command(suites_of(source), rest)


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
    return own_images(options.file)


if __name__ == "__main__":
    sys.exit(main())
