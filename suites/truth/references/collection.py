"""The certified posteriors in a folder: make, check and describe them."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bnnbench.datasets.reading.whole_files import read_regular, write_whole
from bnnbench.datasets.references import reading
from bnnbench.datasets.references.certificate import Refused
from bnnbench.datasets.references.reading import DRAWS, NAME, REJECTED, names, rejected
from bnnbench.engine.store.rebuilding import NotRepeatable, rebuilt
from bnnbench.suites.truth.references.certifying import certified
from bnnbench.suites.truth.references.model import SEEDS, Recipe
from bnnbench.suites.truth.references.models import RECIPES, WIDE
from bnnbench.suites.truth.references.sampling import kept_run
from bnnbench.suites.truth.references.verifying import rerun, verified

__all__ = ["NAME", "RECIPES", "describe", "make", "names", "rejected", "verify"]


def make(what: str, folder: Path, work: Path) -> str:
    """Certify a posterior, given by its name or its recipe's file, and return its description.

    Raises `Refused` with the reasons for one that fails. Runs are stored in `work`, so that an
    interrupted command can continue.
    """
    name, recipe = _recipe(what)
    runs, refusals = work / name, folder / REJECTED / f"{name}.json"
    if (folder / name).exists():
        raise ValueError(f"{folder / name} exists; a truth is never changed: choose another name")
    first, second = (kept_run(recipe.model, recipe.sampler, seed, runs) for seed in SEEDS)
    stated, draws = certified(name, recipe, first, second)
    try:
        reading.check_calibration(folder / stated["sbc"])
    except Refused as reason:
        stated["failed"].append(f"sbc: {reason}")
    if stated["failed"]:
        write_whole(runs / REJECTED / DRAWS, draws)
        reading.write_json(refusals, stated | {"passes": False})
        raise Refused(f"{name}: rejected: {'; '.join(stated['failed'])}")
    # A model certified on a later attempt records its earlier failures.
    before = rejected(folder).get(name, [])
    reading.write(folder / name, stated | {"rejected_before": before}, draws)
    refusals.unlink(missing_ok=True)
    return f"{name}: certified: {_worst(stated)}"


def _recipe(what: str) -> tuple[str, Recipe]:
    """Return name and recipe: a declared recipe, or one described in a JSON file."""
    if what in RECIPES:
        return what, RECIPES[what]
    path = Path(what)
    try:
        recipe = rebuilt(json.loads(read_regular(path)))
    except (NotRepeatable, TypeError) as error:
        raise ValueError(f"{path}: {error}") from error
    if not isinstance(recipe, Recipe):
        raise ValueError(f"{path}: needed the description of a recipe; got {type(recipe).__name__}")
    return path.stem, recipe


def verify(name: str, folder: Path, *, again: bool) -> list[str]:
    """Return warnings about parts that could not be compared; sample `again` if asked to.

    Raises `Refused`.
    """
    reference, warnings = verified(folder / name)
    if again:
        sampler = RECIPES[name].sampler if name in RECIPES else WIDE
        if failed := rerun(reference, sampler):
            raise Refused(f"{name}: another run differs: {'; '.join(failed)}")
    return warnings


def describe(name: str, folder: Path) -> str:
    """Return a posterior's size and the worst numbers of its certificate; raises `Refused`."""
    return _worst(reading.read(folder / name).certificate)


def _worst(stated: Mapping[str, Any]) -> str:
    quantities = stated["quantities"].values()
    return (
        f"{stated['data']['test_rows']} test rows, "
        f"R-hat at most {max(q['r_hat'] for q in quantities):.4f}, "
        f"ESS at least {min(min(q['ess_bulk'], q['ess_tail']) for q in quantities):.0f}, "
        f"two runs within {stated['repeat']['worst_mean_z']:.1f} standard errors in means and "
        f"{stated['repeat']['worst_scale_z']:.1f} in scales"
    )
