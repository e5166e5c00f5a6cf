"""`bnnbench truth make|verify|sbc|list`: the posteriors and distributions of the suite `truth`."""

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol, runtime_checkable

from bnnbench.commands.terminal.parser import Parser
from bnnbench.datasets.oracles import family
from bnnbench.datasets.reading.third_party_text import legible
from bnnbench.datasets.references import certificate
from bnnbench.datasets.references.reading import CALIBRATIONS, home, write_json
from bnnbench.methods.base import InferenceDiverged
from bnnbench.suites.truth.known import collection as families
from bnnbench.suites.truth.references import collection as posteriors
from bnnbench.suites.truth.references.calibrating import Simulation
from bnnbench.suites.truth.references.model import Recipe

SOUND, UNSOUND, MISUSED = 0, 1, 2
REFUSED = (certificate.Refused, family.Refused)

ABOUT = """\
References are certified posteriors of real data; oracles are families of functions with a known
data distribution. Without one of these words, `bnnbench truth` runs the suite.

make    references: run the sampler twice on each model, and write certificate and draws if all
        conditions are met; oracles: draw functions and targets, compute their posteriors, and write
        the family if it is valid
verify  check files, data, draws and closed forms in seconds; --rerun also runs samplers again
sbc     simulation-based calibration of the references' sampler on a family of models
list    print all of them, failed models with reasons, and those not yet made

Exit codes: 0 all are valid. 1 a reference, family or calibration fails. 2 usage.
"""


@runtime_checkable
class Truths(Protocol):
    """References or oracles: how they are made, checked and described."""

    @property
    def NAME(self) -> str: ...

    @property
    def RECIPES(self) -> Mapping[str, object]: ...

    def names(self, folder: Path) -> list[str]: ...

    def rejected(self, folder: Path) -> dict[str, list[str]]: ...

    def make(self, what: str, folder: Path, work: Path) -> str: ...

    def verify(self, name: str, folder: Path, *, again: bool) -> list[str]: ...

    def describe(self, name: str, folder: Path) -> str: ...


KINDS: tuple[Truths, ...] = (posteriors, families)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line, and return the exit code."""
    options = _parser().parse_args(arguments)
    try:
        return options.act(options)
    except (ValueError, OSError, InferenceDiverged) as error:
        print(f"error: {legible(error)}", file=sys.stderr)
        return UNSOUND if isinstance(error, (*REFUSED, InferenceDiverged)) else MISUSED


def _parser() -> Parser:
    raw = argparse.RawDescriptionHelpFormatter
    parser = Parser(prog="bnnbench truth", description=ABOUT, formatter_class=raw)
    subcommands = parser.add_subparsers(required=True, metavar="make|verify|sbc|list")

    def add(name: str, act: Callable[[argparse.Namespace], int]) -> Parser:
        parser = subcommands.add_parser(name)
        parser.add_argument(
            "--folder", type=Path, default=home().parent, metavar="DIR",
            help="folder with the folders references and oracles",
        )  # fmt: skip
        parser.set_defaults(act=act)
        return parser

    make = add("make", _make)
    make.add_argument("names", nargs="+", metavar="NAME|FILE.json", help="names, or recipe files")
    make.add_argument(
        "--work", type=Path, default=Path("results/references"), metavar="DIR",
        help="folder for runs, so that an interrupted command can continue",
    )  # fmt: skip
    verify = add("verify", _verify)
    verify.add_argument("names", nargs="*", metavar="NAME", help="references, oracles; default all")
    verify.add_argument("--rerun", action="store_true", help="also run the samplers again")
    sbc = add("sbc", _sbc)
    sbc.add_argument("families", nargs="+", metavar="FAMILY", help=", ".join(_families()))
    sbc.add_argument(
        "--told-noise", type=float, default=1.0, metavar="RATIO",
        help="noise given to the sampler, relative to the true noise; other than 1 must fail",
    )  # fmt: skip
    add("list", _list)
    return parser


def _make(options: argparse.Namespace) -> int:
    code = SOUND
    for name, kind in [(name, _kind_to_make(name)) for name in options.names]:
        try:
            print(kind.make(name, _folder(kind, options), options.work))
        except REFUSED as reason:
            print(reason)
            code = UNSOUND
    return code


def _kind_to_make(name: str) -> Truths:
    if name.endswith(".json"):
        return posteriors
    for kind in KINDS:
        if name in kind.RECIPES:
            return kind
    declared = ", ".join(name for kind in KINDS for name in kind.RECIPES)
    raise ValueError(f"no recipe {name!r}; there are {declared}, or FILE.json")


def _folder(kind: Truths, options: argparse.Namespace) -> Path:
    return options.folder / kind.NAME


def _verify(options: argparse.Namespace) -> int:
    code = SOUND
    kinds = {name: kind for kind in KINDS for name in kind.names(_folder(kind, options))}
    if not kinds:
        raise ValueError(f"{options.folder} has neither references nor oracles: nothing to verify")
    for name in options.names or kinds:
        try:
            if name not in kinds:
                raise certificate.Refused(f"{name} is neither in references nor in oracles")
            kind = kinds[name]
            warnings = kind.verify(name, _folder(kind, options), again=options.rerun)
        except REFUSED as reason:
            print(f"refused: {reason}")
            code = UNSOUND
            continue
        for warning in warnings:
            print(f"warning: {warning}")
        print(f"{name}: valid")
    return code


def _sbc(options: argparse.Namespace) -> int:
    code, families = SOUND, _families()
    for name in options.families:
        if name not in families:
            raise ValueError(f"no family {name!r}; there are {', '.join(families)}")
        simulation = Simulation(families[name].model, told_noise=options.told_noise)
        record = simulation.run()
        if record["passes"] and options.told_noise == 1.0:
            folder = _folder(posteriors, options)
            write_json(folder / CALIBRATIONS / f"{name}.json", record)
        print(f"{name}: {'; '.join(record['failed']) or 'calibrated'}")
        code = code if record["passes"] else UNSOUND
    return code


def _families() -> dict[str, Recipe]:
    """Return each family's first recipe, whose inputs its calibration uses."""
    return {recipe.model.family: recipe for recipe in reversed(list(posteriors.RECIPES.values()))}


def _list(options: argparse.Namespace) -> int:
    for kind in KINDS:
        folder = _folder(kind, options)
        valid, failed = kind.names(folder), kind.rejected(folder)
        for name in valid:
            try:
                print(f"{name}: {kind.describe(name, folder)}")
            except REFUSED as reason:
                print(f"refused: {reason}")
        for name, reasons in failed.items():
            print(f"{name}: rejected: {'; '.join(reasons)}")
        for name in kind.RECIPES:
            if name not in (*valid, *failed):
                print(f"{name}: not made")
    return SOUND
