"""The plan of a command with a time limit, kept so that the same command continues with it."""

import dataclasses
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypedDict

from bnnbench.commands.planning.cuts import Cut, Fixed
from bnnbench.commands.planning.pace import Pace
from bnnbench.commands.planning.pilot import Pilot, Rates
from bnnbench.commands.planning.search_work import COMPONENTS
from bnnbench.datasets.base import Likelihood
from bnnbench.datasets.reading.shape import conforms
from bnnbench.datasets.reading.whole_files import read_regular, write_whole
from bnnbench.engine.declare.description import describe, digest
from bnnbench.engine.declare.grid import Suite

FOLDER = ".plans"
"""Folder in a store."""


@dataclass(frozen=True)
class KeptPlan:
    """The cut, and the pilot on which it was decided."""

    cut: Cut
    pilot: Pilot


class _Content(TypedDict):
    """The content of a plan's file."""

    cut: Annotated[Mapping[str, Any], Cut]
    rates: Mapping[str, Annotated[Mapping[str, Any], Rates]]


def place(folder: Path, suite: Suite, pace: Pace, fixed: Fixed, device: str) -> Path:
    """Return the file of the plan of a suite in a store, whatever was finished since.

    Another device or number of workers needs another plan, since fits take another time.
    """
    asked = {
        "runs": sorted(run.key for run in suite.runs()),
        "labels": list(suite.methods),
        "minutes": pace.minutes,
        "workers": pace.workers,
        "device": device,
        "fixed": describe(dataclasses.asdict(fixed) | {"trials": sorted(fixed.trials)}),
    }
    return folder / FOLDER / f"{digest(asked)}.json"


def keep(path: Path, plan: KeptPlan) -> None:
    """Write a plan atomically."""
    rates = {label: dataclasses.asdict(one) for label, one in plan.pilot.rates.items()}
    content = {"cut": dataclasses.asdict(plan.cut), "rates": rates}
    write_whole(path, json.dumps(content, indent=1).encode())


def plan_in(path: Path, likelihood: Callable[[], Likelihood]) -> KeptPlan | None:
    """Return the plan in a file; None without one. Raises ValueError for any other content.

    `likelihood` returns the likelihood of the data, if there is a plan.
    """
    try:
        content = json.loads(read_regular(path))
    except FileNotFoundError:
        return None
    if not conforms(content, _Content):
        raise ValueError("not a plan")
    rates = {
        label: Rates(tuple(one["seconds"]), one["bytes"]) for label, one in content["rates"].items()
    }
    cut = content["cut"]
    left_out = tuple(cut.get("left_out", ()))
    plan = Cut(cut.get("trials"), cut.get("splits"), left_out)
    if not (all(map(_is_possible, rates.values())) and plan.is_possible):
        raise ValueError("not a plan: a number in it is impossible")
    return KeptPlan(plan, Pilot(rates, likelihood()))


def _is_possible(rates: Rates) -> bool:
    numbers = (*rates.seconds, rates.bytes)
    return len(rates.seconds) == COMPONENTS and all(0 <= n < math.inf for n in numbers)
