"""`python -m docs.generate.audit`: compare with all installed libraries and store the results.

Stored comparisons with libraries that have no environment here are left as they are. --check
stores nothing, and exits with 1 if a comparison that should agree does not.
"""

import argparse
import dataclasses
import importlib.util
import json
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from bnnbench.methods import environments
from docs.generate.audit import laplace, others, sampling, steps
from docs.generate.audit.comparison import Comparison

FILE = Path(__file__).parents[3] / "docs" / "bundle" / "audit" / "comparisons.json"
COMPARISONS: Mapping[str, tuple[tuple[str, ...], Callable[[], Iterator[Comparison]]]] = {
    "laplace": (("laplace-torch",), laplace.of_laplace_torch),
    "line": (("laplace-torch",), laplace.of_a_line),
    "curvature": (("posteriors",), laplace.of_posteriors),
    "ivon": (("ivon-opt",), steps.of_ivon),
    "sgld": (("posteriors",), steps.of_sgld),
    "nuts": (("blackjax", "numpyro"), sampling.of_nuts),
    "hamiltorch": (("hamiltorch",), sampling.of_hamiltorch),
    "gaussian_processes": ((), others.of_gaussian_processes),
    "ridge": ((), others.of_ridge),
    "dropout": (("torch-uncertainty",), others.of_dropout),
    "conformal": (("mapie",), others.of_conformal_sets),
}
"""Name → the required environments or packages, and the comparing function."""
ASIDE: Mapping[str, tuple[str, Callable[[], Mapping[str, tuple[float, float]]]]] = {
    "errors_of_kfac": ("laplace-torch", laplace.errors_of_kfac),
    "sets_of_aps": ("mapie", others.sets_of_aps),
}
"""Name → environment and function that returns additional numbers with standard errors."""


def main() -> int:
    """Compare, print and store; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m docs.generate.audit", description=__doc__)
    parser.add_argument("--env", action="append", default=[], type=environments.checked)
    parser.add_argument("--only", action="append", choices=[*COMPARISONS, *ASIDE])
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    environments.add(dict(options.env))
    kept = json.loads(FILE.read_text()) if FILE.exists() else {"comparisons": {}, "aside": {}}
    surprises = 0
    for name, (needed, compare) in COMPARISONS.items():
        if (options.only and name not in options.only) or not all(map(_had, needed)):
            continue
        found = []
        for each in compare():
            found.append(dataclasses.asdict(each))
            surprises += not each.agrees and each.kind in ("rounding", "draws")
            print(each, flush=True)
        kept["comparisons"][name] = found
    for name, (library, measure) in ASIDE.items():
        if _had(library) and not (options.only and name not in options.only):
            kept["aside"][name] = {key: list(value) for key, value in measure().items()}
            print(name, kept["aside"][name], flush=True)
    if not options.check:
        _keep(kept)
    return int(surprises > 0)


def _had(library: str) -> bool:
    if library not in environments.LIBRARIES:
        return importlib.util.find_spec(library) is not None
    return environments.interpreter_of(library) is not None


def _keep(content: dict[str, Any]) -> None:
    ordered = {
        part: {name: content[part][name] for name in names if name in content[part]}
        for part, names in (("comparisons", COMPARISONS), ("aside", ASIDE))
    }
    FILE.parent.mkdir(parents=True, exist_ok=True)
    FILE.write_text(json.dumps(ordered, indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(main())
