"""The families with a known data distribution in a folder: make, check and describe them."""

from pathlib import Path

from bnnbench.datasets.oracles import family as families
from bnnbench.datasets.oracles.family import NAME, Family, names
from bnnbench.suites.truth.known.making import made
from bnnbench.suites.truth.known.recipes import RECIPES
from bnnbench.suites.truth.known.verifying import verified

__all__ = ["NAME", "RECIPES", "describe", "make", "names", "rejected", "verify"]


def make(what: str, folder: Path, work: Path) -> str:
    """Draw a family's functions and targets, compute their posteriors, and describe the family.

    Raises `Refused` for one that is not valid.
    """
    path = folder / f"{what}.npz"
    if path.exists():
        raise ValueError(f"{path} exists; a truth is never changed: choose another name")
    family = made(what, RECIPES[what])
    verified(family, RECIPES[what])
    families.write(family, folder)
    return f"{what}: {_summary(family)}"


def verify(name: str, folder: Path, *, again: bool) -> list[str]:
    """Return warnings about parts that could not be checked; raises `Refused`."""
    return verified(families.read(name, folder), RECIPES.get(name))


def describe(name: str, folder: Path) -> str:
    """Return a family's size and worst convergence; raises `Refused`."""
    return _summary(families.read(name, folder))


def rejected(folder: Path) -> dict[str, list[str]]:
    """Return name → reasons of families that failed: none is recorded."""
    return {}


def _summary(family: Family) -> str:
    posterior = family.stated["posterior"]
    posteriors = (
        "posteriors in closed form"
        if posterior == "exact"
        else f"posteriors by MCMC, R-hat at most {max(posterior['r_hat']):.4f}, ESS at least "
        f"{min(min(posterior['ess_bulk']), min(posterior['ess_tail'])):.0f}"
    )
    rows = family.stated["inputs"]
    return f"{len(family)} functions at {rows['rows']} and {rows['test_rows']} rows; {posteriors}"
