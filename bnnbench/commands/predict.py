"""`bnnbench predict MODEL ROWS`: predict rows of a file by a saved model.

The model is the folder that `bnnbench compare` writes: its first method, fitted to all rows. The
file has the columns of that table, in any order; the target may be missing, other columns are
ignored. Numbers: mean, standard deviation and quantiles, in the target's unit. Classes: the most
probable one, and the probability of each.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bnnbench.commands.terminal.parser import Parser
from bnnbench.datasets.reading.third_party_text import legible

if TYPE_CHECKING:
    import pandas as pd


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line, and return the exit code."""
    options = _parser().parse_args(arguments)
    # imported here because --help needs none of them
    from bnnbench.datasets.errors import ExtremeScale
    from bnnbench.datasets.reading.columns import BadTable
    from bnnbench.methods.predictions.base import CannotAnswer
    from bnnbench.methods.saved.errors import NotLoaded

    try:
        _write(_predicted(options), options.out)
    except (BadTable, NotLoaded, ExtremeScale, CannotAnswer, ValueError) as error:
        print(f"error: {legible(error)}", file=sys.stderr)
        return 2
    return 0


def _parser() -> Parser:
    parser = Parser("bnnbench predict", description=__doc__)
    parser.add_argument("model", help="folder of a saved model, such as results/own/NAME/model")
    parser.add_argument(
        "rows", help="file with the columns of the table: csv, Excel, parquet or npz"
    )
    parser.add_argument(
        "--out", type=Path, metavar="FILE.csv", help="file to write; default: the terminal"
    )
    parser.add_argument(
        "--levels", type=_levels, metavar="L,M", help="levels of quantiles; default: .05 to .95"
    )
    parser.add_argument(
        "--seed", type=int, default=0, help="seed of methods that draw; default: %(default)s"
    )
    parser.add_argument(
        *("--network",), action="append", default=[], metavar="FILE.py:NAME",
        help="your own network, if the model has one: its code is not in the model; repeatable",
    )  # fmt: skip
    parser.add_argument(
        *("--code",), action="append", type=Path, default=[], metavar="FILE.py",
        help="file with your own method, imported before the model is loaded; repeatable",
    )  # fmt: skip
    return parser


def _predicted(options: argparse.Namespace) -> "pd.DataFrame":
    from bnnbench.methods import own_files
    from bnnbench.methods.saved.errors import NotLoaded
    from bnnbench.methods.saved.files import load
    from bnnbench.methods.saved.table_model import TableModel

    for file in options.code:
        own_files.imported(own_files.module_of(file))
    model: Any = load(options.model, networks=options.network)
    if not isinstance(model, TableModel):
        raise NotLoaded(
            f"{options.model} is a {type(model).__name__} without the columns of a table: load it "
            "in Python, by bnnbench.load"
        )
    return model.predict(model.read(options.rows), options.levels, seed=options.seed)


def _write(frame: "pd.DataFrame", out: Path | None) -> None:
    if out is None:
        frame.to_csv(sys.stdout, index=False)
        return
    frame.to_csv(out, index=False)
    print(f"{len(frame)} rows predicted: {out}")


def _levels(text: str) -> tuple[float, ...]:
    try:
        levels = tuple(map(float, text.split(",")))
    except ValueError:
        levels = (0.0,)
    if not all(0 < level < 1 for level in levels):
        raise argparse.ArgumentTypeError(
            f"needed levels between 0 and 1, as in .1,.5; got {text!r}"
        )
    return levels


if __name__ == "__main__":
    sys.exit(main())
