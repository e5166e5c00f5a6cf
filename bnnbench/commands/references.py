"""`bnnbench references`: make, verify and list reference posteriors."""

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from bnnbench.commands.terminal.parser import Parser
from bnnbench.datasets.reading.third_party_text import legible
from bnnbench.datasets.reading.whole_files import read_regular, write_whole
from bnnbench.datasets.references import reading
from bnnbench.datasets.references.errors import Refused
from bnnbench.datasets.references.reading import CALIBRATIONS, DRAWS, FOLDER, REJECTED
from bnnbench.engine.store.rebuilding import NotRepeatable, rebuilt
from bnnbench.methods.base import InferenceDiverged
from bnnbench.suites.truth.references.calibrating import Simulation
from bnnbench.suites.truth.references.certifying import certified
from bnnbench.suites.truth.references.models import RECIPES, WIDE
from bnnbench.suites.truth.references.recipe import SEEDS, Recipe
from bnnbench.suites.truth.references.sampling import kept_run
from bnnbench.suites.truth.references.verifying import rerun, verified

SOUND, UNSOUND, MISUSED = 0, 1, 2

ABOUT = """\
make    run the sampler twice on each model; write certificate and draws if all conditions are met
verify  check files, data and draws in seconds; --rerun also runs the sampler again
sbc     simulation-based calibration of the sampler on a family of models
list    print certified references, failed models with reasons, and models not yet made

Exit codes: 0 all references are valid. 1 a reference or calibration fails. 2 usage.
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
        prog="bnnbench references",
        description=ABOUT,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    subcommands = parser.add_subparsers(required=True, metavar="make|verify|sbc|list")

    def add(name: str, act: Callable[[argparse.Namespace], int]) -> Parser:
        parser = subcommands.add_parser(name)
        parser.add_argument(
            "--references", type=Path, default=FOLDER, metavar="DIR", help="folder of references"
        )
        parser.set_defaults(act=act)
        return parser

    make = add("make", _make)
    make.add_argument("names", nargs="+", metavar="NAME|FILE.json", help="models, or recipe files")
    make.add_argument(
        "--work", type=Path, default=Path("results/references"), metavar="DIR",
        help="folder for runs, so that an interrupted command can continue",
    )  # fmt: skip
    verify = add("verify", _verify)
    verify.add_argument("names", nargs="*", metavar="NAME", help="references; default: all")
    verify.add_argument("--rerun", action="store_true", help="also run the sampler again")
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
    for name, recipe in [_recipe(name) for name in options.names]:
        folder = options.references / name
        if folder.exists():
            raise ValueError(f"{folder} exists; a reference is never changed: choose another name")
        runs = options.work / name
        first, second = (kept_run(recipe.model, recipe.sampler, seed, runs) for seed in SEEDS)
        stated, draws = certified(name, recipe, first, second)
        try:
            reading.check_calibration(options.references / stated["sbc"])
        except Refused as reason:
            stated["failed"].append(f"sbc: {reason}")
        if stated["failed"]:
            stated["passes"] = False
            write_whole(runs / REJECTED / DRAWS, draws)
            reading.write_json(options.references / REJECTED / f"{name}.json", stated)
            print(f"{name}: rejected: {'; '.join(stated['failed'])}")
            code = UNSOUND
        else:
            # A model certified on a later attempt records its earlier failures.
            earlier = options.references / REJECTED / f"{name}.json"
            before = reading.rejected(options.references).get(name, [])
            reading.write(folder, stated | {"rejected_before": before}, draws)
            earlier.unlink(missing_ok=True)
            print(f"{name}: certified: {_worst(stated)}")
    return code


def _recipe(name: str) -> tuple[str, Recipe]:
    """Return name and recipe: a declared recipe, or one described in a JSON file."""
    if name in RECIPES:
        return name, RECIPES[name]
    path = Path(name)
    if path.suffix != ".json":
        raise ValueError(f"no model {name!r}; there are {', '.join(RECIPES)}, or FILE.json")
    try:
        recipe = rebuilt(json.loads(read_regular(path)))
    except (NotRepeatable, TypeError) as error:
        raise ValueError(f"{path}: {error}") from error
    if not isinstance(recipe, Recipe):
        raise ValueError(f"{path}: needed the description of a recipe; got {type(recipe).__name__}")
    return path.stem, recipe


def _verify(options: argparse.Namespace) -> int:
    code = SOUND
    for name in options.names or reading.names(options.references):
        try:
            reference, warnings = verified(options.references / name)
        except Refused as reason:
            print(f"refused: {reason}")
            code = UNSOUND
            continue
        for warning in warnings:
            print(f"warning: {warning}")
        if options.rerun:
            sampler = RECIPES[name].sampler if name in RECIPES else WIDE
            if failed := rerun(reference, sampler):
                print(f"refused: {name}: another run differs: {'; '.join(failed)}")
                code = UNSOUND
                continue
        print(f"{name}: valid")
    return code


def _sbc(options: argparse.Namespace) -> int:
    code, families = SOUND, _families()
    for family in options.families:
        if family not in families:
            raise ValueError(f"no family {family!r}; there are {', '.join(families)}")
        simulation = Simulation(families[family].model, told_noise=options.told_noise)
        record = simulation.run()
        if record["passes"] and options.told_noise == 1.0:
            reading.write_json(options.references / CALIBRATIONS / f"{family}.json", record)
        print(f"{family}: {'; '.join(record['failed']) or 'calibrated'}")
        code = code if record["passes"] else UNSOUND
    return code


def _families() -> dict[str, Recipe]:
    """Return each family's first recipe, whose inputs its calibration uses."""
    return {recipe.model.family: recipe for recipe in reversed(list(RECIPES.values()))}


def _list(options: argparse.Namespace) -> int:
    certified_names = reading.names(options.references)
    for name in certified_names:
        try:
            print(f"{name}: {_worst(reading.read(options.references / name).certificate)}")
        except Refused as reason:
            print(f"refused: {reason}")
    failed = reading.rejected(options.references)
    for name, reasons in failed.items():
        print(f"{name}: rejected: {'; '.join(reasons)}")
    for name in RECIPES:
        if name not in (*certified_names, *failed):
            print(f"{name}: not made")
    return SOUND


def _worst(stated: Mapping[str, Any]) -> str:
    """Return the worst numbers of a certificate as text."""
    quantities = stated["quantities"].values()
    return (
        f"{stated['data']['test_rows']} test rows, "
        f"R-hat at most {max(q['r_hat'] for q in quantities):.4f}, "
        f"ESS at least {min(min(q['ess_bulk'], q['ess_tail']) for q in quantities):.0f}, "
        f"two runs within {stated['repeat']['worst_mean_z']:.1f} standard errors in means and "
        f"{stated['repeat']['worst_scale_z']:.1f} in scales"
    )


if __name__ == "__main__":
    sys.exit(main())
