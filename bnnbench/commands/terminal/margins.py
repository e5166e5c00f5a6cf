"""Margins of practical equality given on the command line instead of the metrics' own."""

import argparse
from collections.abc import Sequence

from bnnbench.metrics import LISTED
from bnnbench.metrics.base import Margin, Margins

HELP = (
    "practical equality by a metric, such as accuracy=0.01, rmse=5%% (of the best mean) or "
    "nll=none; may be repeated, and is printed under the tables"
)


def add_margins(parser: argparse.ArgumentParser) -> None:
    """Add the option --margin to a command."""
    parser.add_argument(
        "--margin", action="append", default=[], type=margin, metavar="METRIC=SIZE", help=HELP
    )


def margins(given: Sequence[tuple[str, Margin | None]]) -> Margins:
    """Return metric → margin; if several are given for one metric, the last."""
    return dict(given)


def margin(text: str) -> tuple[str, Margin | None]:
    """Return metric and margin of "accuracy=0.01", "rmse=5%" or "nll=none".

    Raises argparse.ArgumentTypeError for an unknown metric or any other form.
    """
    name, _, size = text.partition("=")
    if name not in LISTED:
        raise argparse.ArgumentTypeError(f"there is no metric {name}; known: {', '.join(LISTED)}")
    if size == "none":
        return name, None
    try:
        number = float(size.removesuffix("%")) / (100 if size.endswith("%") else 1)
        return name, Margin(number, relative=size.endswith("%"))
    except ValueError as error:
        raise argparse.ArgumentTypeError(
            f"needed METRIC=SIZE, such as accuracy=0.01, rmse=5% or nll=none; got {text}: {error}"
        ) from error
