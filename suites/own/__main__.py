"""`bnnbench own FILE --target COLUMN`: every method on a table of one's own."""

import argparse
import sys
from collections.abc import Sequence

USAGE = """After these, all options of a suite: --profile {quick,all}, --methods, --folds, --seeds,
--out, --workers and so on (bnnbench uci --help). Text columns become categories, missing numbers
the median of the training rows, with a mark. Five splits, a tenth of the rows for testing; classes
keep their shares."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Carry out the command line, and return the exit code."""
    # Options that it does not know are the suites', whose own parser names the nearest one.
    parser = argparse.ArgumentParser(
        "bnnbench own", description=__doc__, epilog=USAGE, allow_abbrev=False
    )
    parser.add_argument("file", help="csv, parquet or npz file with a column for each feature")
    parser.add_argument("--target", required=True, metavar="COLUMN", help="the column to predict")
    parser.add_argument(
        "--task",
        choices=("regression", "classification"),
        help="default: classification for texts and up to 20 different whole numbers",
    )
    parser.add_argument("--split", default="", metavar="COLUMN", help="train and test, or folds")
    parser.add_argument(
        "--groups", default="", metavar="COLUMN", help="rows of a group stay on one side of a split"
    )
    parser.add_argument(
        "--drop", default="", metavar="A,B", help="columns to leave out, such as a row's number"
    )
    own, rest = parser.parse_known_args(arguments)
    # Imported here, as --help needs none of them.
    from bnnbench.datasets.own.columns import BadTable
    from bnnbench.datasets.own.table import own_table

    drop = tuple(filter(None, own.drop.split(",")))
    try:
        source = own_table(
            own.file, own.target, own.task, split=own.split, groups=own.groups, drop=drop
        )
    except BadTable as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    from bnnbench.suites.engine.command.cli import command
    from bnnbench.suites.own import suites_of

    return command(suites_of(source), rest)


if __name__ == "__main__":
    sys.exit(main())
