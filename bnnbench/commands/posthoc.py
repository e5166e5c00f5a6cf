"""`bnnbench posthoc FILE.py:NAME --weights FILE`: treatments of your trained network."""

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from bnnbench.commands.running.arguments import parse
from bnnbench.commands.terminal.parser import Lenient
from bnnbench.suites import Entry
from bnnbench.wording import UsageError

if TYPE_CHECKING:
    from bnnbench.engine.declare.grid import Suite

PROFILES = ("quick", "all")
USAGE = """In addition, all options of a suite: --profile {quick,all}, --methods, --seeds, --out,
--workers, --dry-run and so on (bnnbench uci --help). Inputs reach the network as they are in the
files. Half of the test rows, at most 1,000, choose temperatures, precisions and learning rates, and
are not scored. The report says what each treatment costs in addition to the network."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line, and return the exit code."""
    # Unknown options are passed to the suite's parser, which names the nearest known one.
    options, rest = _parser().parse_known_args(arguments)
    of_suite = parse("posthoc", Entry("", PROFILES), rest)  # before a file is read
    # imported here because --help needs none of them
    from bnnbench.datasets.reading.columns import BadTable
    from bnnbench.datasets.reading.third_party_text import legible

    try:
        suites = _suites(options, of_suite.profile)
    except (BadTable, UsageError) as error:
        print(f"error: {legible(error)}", file=sys.stderr)
        return 2
    from bnnbench.commands.suite import command

    return command(suites, rest)


def _suites(options: argparse.Namespace, profile: str) -> "dict[str, Suite]":
    """Return the profiles; prints which treatments of the requested one cannot be applied."""
    from bnnbench.commands.running.trained import Trained, applicable, refusals, trained
    from bnnbench.datasets.conditions.other_rows import OtherRows
    from bnnbench.datasets.own.trained import trained_on
    from bnnbench.suites.posthoc import suites_of

    source = trained_on(
        options.train,
        options.test,
        calibration=options.calibration,
        target=options.target,
        task=options.task,
        classes=options.classes,
        seed=options.calibration_seed,
    )
    network: Trained = trained(options.network, options.weights, options.outputs, source)
    other_rows = tuple(OtherRows.of(path, options.target) for path in options.ood)
    suites = suites_of(network.source, network.architecture, network.files, other_rows)
    for reason, labels in refusals(suites[profile], network).items():
        print(f"left out: {'; '.join(labels)}: {reason}", flush=True)
    return applicable(suites, network)


def _parser() -> Lenient:
    parser = Lenient("bnnbench posthoc", description=__doc__, epilog=USAGE)
    add = parser.add_argument
    add(
        "network",
        metavar="FILE.py:NAME",
        help="function or class that returns the torch.nn.Module; its parameters named inputs and "
        "outputs are filled in",
    )
    add(
        "--weights",
        action="append",
        required=True,
        metavar="FILE",
        help="state dictionary by torch.save, or a safetensors file; repeat for an ensemble",
    )
    add("--train", required=True, metavar="FILE", help="rows that the network was trained on: "
        "npz with the arrays inputs and targets, csv or parquet")  # fmt: skip
    add("--test", required=True, metavar="FILE", help="rows that it has not seen")
    add(
        "--calibration",
        default="",
        metavar="FILE|train",
        help="rows that it has not seen, to choose by; train: the training rows, which the report "
        "marks; default: half of the test rows, at most 1,000",
    )
    add("--calibration-seed", type=int, default=0, metavar="N", help="seed of that half")
    add("--ood", action="append", default=[], metavar="FILE",
        help="rows to be told apart from the test rows; repeat for several files")  # fmt: skip
    add(
        "--outputs",
        choices=("mean", "mean,logvar"),
        default="mean",
        help="meaning of a regression's outputs; default: %(default)s",
    )
    add("--target", default="", metavar="COLUMN", help="column to predict in a csv or parquet file")
    add(
        "--task",
        choices=("regression", "classification"),
        help="default: classification for up to 20 distinct whole numbers",
    )
    add("--classes", type=int, metavar="N", help="number of classes, if not all are in the files")
    return parser


if __name__ == "__main__":
    sys.exit(main())
