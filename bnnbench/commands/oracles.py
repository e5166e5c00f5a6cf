"""`bnnbench oracles`: make, verify and list families with a known data distribution."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from bnnbench.commands.terminal.parser import Parser
from bnnbench.datasets.oracles import family as families
from bnnbench.datasets.oracles.errors import Refused
from bnnbench.datasets.oracles.family import FOLDER
from bnnbench.datasets.reading.third_party_text import legible
from bnnbench.methods.base import InferenceDiverged
from bnnbench.suites.truth.known.making import made
from bnnbench.suites.truth.known.recipes import RECIPES
from bnnbench.suites.truth.known.verifying import verified

SOUND, UNSOUND, MISUSED = 0, 1, 2

ABOUT = """\
make    draw functions and targets, compute their posteriors, and write the family if it is valid
verify  check files, inputs, functions and closed forms in seconds
list    print existing families, and those not yet made

Exit codes: 0 all families are valid. 1 a family is refused. 2 usage.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line, and return the exit code."""
    options = _parser().parse_args(arguments)
    try:
        return options.act(options)
    except (ValueError, OSError, InferenceDiverged) as error:
        print(f"error: {legible(error)}", file=sys.stderr)
        return UNSOUND if isinstance(error, (Refused, InferenceDiverged)) else MISUSED


def _parser() -> Parser:
    parser = Parser(
        prog="bnnbench oracles",
        description=ABOUT,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    subcommands = parser.add_subparsers(required=True, metavar="make|verify|list")
    for name, act, count in (("make", _make, "+"), ("verify", _verify, "*"), ("list", _list, "")):
        one = subcommands.add_parser(name)
        one.add_argument(
            "--families", type=Path, default=FOLDER, metavar="DIR", help="folder of families"
        )
        if count:
            one.add_argument("names", nargs=count, metavar="NAME", help=", ".join(RECIPES))
        one.set_defaults(act=act)
    return parser


def _make(options: argparse.Namespace) -> int:
    for name in options.names:
        if name not in RECIPES:
            raise ValueError(f"no family {name!r}; there are {', '.join(RECIPES)}")
        path = options.families / f"{name}.npz"
        if path.exists():
            raise ValueError(f"{path} exists; a family is never changed: choose another name")
        family = made(name, RECIPES[name])
        verified(family, RECIPES[name])
        families.write(family, options.families)
        print(f"{name}: {_summary(family)}")
    return SOUND


def _verify(options: argparse.Namespace) -> int:
    code = SOUND
    for name in options.names or families.names(options.families):
        try:
            warnings = verified(families.read(name, options.families), RECIPES.get(name))
        except Refused as reason:
            print(f"refused: {reason}")
            code = UNSOUND
            continue
        for warning in warnings:
            print(f"warning: {warning}")
        print(f"{name}: valid")
    return code


def _list(options: argparse.Namespace) -> int:
    for name in families.names(options.families):
        try:
            print(f"{name}: {_summary(families.read(name, options.families))}")
        except Refused as reason:
            print(f"refused: {reason}")
    for name in RECIPES:
        if name not in families.names(options.families):
            print(f"{name}: not made")
    return SOUND


def _summary(family: families.Family) -> str:
    """Return size and worst convergence as text."""
    posterior = family.stated["posterior"]
    posteriors = (
        "posteriors in closed form"
        if posterior == "exact"
        else f"posteriors by MCMC, R-hat at most {max(posterior['r_hat']):.4f}, ESS at least "
        f"{min(min(posterior['ess_bulk']), min(posterior['ess_tail'])):.0f}"
    )
    rows = family.stated["inputs"]
    return f"{len(family)} functions at {rows['rows']} and {rows['test_rows']} rows; {posteriors}"


if __name__ == "__main__":
    sys.exit(main())
