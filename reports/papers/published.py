"""The source papers' printed scores, in our names and units."""

import csv
import functools
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from bnnbench.metrics import PROBED
from bnnbench.suites.engine.declare.attacks import Fgsm

FOLDER = Path(__file__).parent / "published"

METHODS = {"mp": "message passing"}
"""A paper's name of a method → ours, both in lower case, where they differ."""

SIMPLEX_ECE = ("000", "ece")
"""Marked as doubtful for not being an ECE, which it is not; it is our `ece_paper000`."""

SMOOTHED = ("003", "rotated_mnist", "log_likelihood")
"""Sure models far from the data have printed likelihoods that only smoothed probabilities give."""

PROTOCOL = frozenset(
    {"epochs", "batch", "test_samples", "train_frac", "strategy", "init_train", "test"}
)
"""Parts of a printed condition that say how a model was trained, not what it was tested on."""


CASE = {"activation": "", "input_noise_var": "noise", "dropout": "dropout"}
"""Parts of a printed condition that tell networks apart → what our names put before the value."""

APPROXIMATIONS = {"ap2": "ap2 paper"}
"""A paper's way of propagation → ours by the same formulas, both in lower case."""

ARMS = {"active": "-a", "random": "-r"}
"""A printed strategy of active learning → what our label of a method ends with, in lower case."""


@dataclass(frozen=True)
class Published:
    """One printed score; `value` and `spread` are fractions where the paper prints percent."""

    paper: str
    table: str
    dataset: str
    condition: str | None
    """Our name of the test condition, None where we have no such condition."""
    metric: str
    method: str
    """In lower case, in our words."""
    model: str
    protocol: str
    value: float
    spread: float | None
    spread_kind: str
    repeats: int | None
    decimals: int
    """How many decimals the paper prints, of a value in our units."""
    note: str
    doubtful: bool
    """Whether the number should not be compared, for the reason in `note`."""


@functools.cache
def table(paper: str, number: str) -> tuple[Published, ...]:
    """Return the printed scores of one table of one paper; empty where there is none."""
    number = number.lower().removeprefix("table").strip()
    return tuple(
        _published(row)
        for path in sorted(FOLDER.glob("*.csv"))
        for row in _rows(path)
        if (row["paper"], row["table"].lower()) == (paper, number)
    )


@functools.cache
def _rows(path: Path) -> tuple[dict[str, str], ...]:
    with path.open(newline="", encoding="utf-8") as file:
        return tuple(csv.DictReader(file))


def _published(row: dict[str, str]) -> Published:
    dataset, _, outlier = row["dataset"].partition("_vs_")
    dataset, _, elsewhere = dataset.partition("_to_")
    scale = 0.01 if row["unit"] == "percent" else 1.0
    doubtful = "UNCERTAIN" in row["note"] and (row["paper"], row["metric"]) != SIMPLEX_ECE
    method = row["method"].casefold()
    if row["metric"] in PROBED:
        return _measured(row)
    arm = ARMS.get(_parts(row["condition"]).get("strategy", ""), "")
    return Published(
        paper=row["paper"],
        table=row["table"],
        dataset=dataset,
        condition=f"ood_{outlier}"
        if outlier
        else f"transfer_{elsewhere}"
        if elsewhere
        else _condition(row["condition"]),
        metric=_metric(row),
        method=METHODS.get(method, method) + arm,
        model=row["model"],
        protocol=row["condition"],
        value=scale * float(row["value"]),
        spread=scale * float(row["stderr"]) if row["stderr"] else None,
        spread_kind=row["spread_kind"],
        repeats=int(row["n_repeats"]) if row["n_repeats"] else None,
        decimals=_decimals(row["value"]) + 2 * (row["unit"] == "percent"),
        note=row["note"],
        doubtful=doubtful or row["unit"] == "as_printed_mixed_scale",
    )


def _measured(row: dict[str, str]) -> Published:
    """Return a printed error of moments: its case is a data set of ours, its layer a condition."""
    parts = _parts(row["condition"])
    named = [f"{short}{parts[name]}" for name, short in CASE.items() if name in parts]
    statistics = ["statistics"] if "dataset_statistics" in parts else []
    layer = parts["variant"] if parts["layer"] == "softmax" else f"layer_{parts['layer']}"
    method = APPROXIMATIONS.get(row["method"].casefold(), row["method"].casefold())
    return Published(
        paper=row["paper"],
        table=row["table"],
        dataset="-".join([row["dataset"], *named, *statistics]),
        condition=layer,
        metric=row["metric"],
        method=f"{method}, init {parts['init']}" if statistics else method,
        model=row["model"],
        protocol=row["condition"],
        value=float(row["value"]),
        spread=None,
        spread_kind=row["spread_kind"],
        repeats=None,
        decimals=_decimals(row["value"]),
        note=row["note"],
        doubtful=False,
    )


def _decimals(printed: str) -> int:
    """Return how many decimals a number is printed with: 2 of "0.02", 7 of "1.4e-6"."""
    exponent = Decimal(printed).as_tuple().exponent
    return max(0, -exponent) if isinstance(exponent, int) else 0


def _metric(row: dict[str, str]) -> str:
    if (row["paper"], row["metric"]) == SIMPLEX_ECE:
        return "ece_paper000"
    if (row["paper"], row["suite"], row["metric"]) == SMOOTHED:
        return "log_likelihood_smoothed"
    if row["unit"] == "nats_per_point_normalised_targets":
        return "log_likelihood_standardised"
    return row["metric"]


def _condition(printed: str) -> str | None:
    """Return our name of a printed condition, None where nothing of ours is the same."""
    tested = {name: value for name, value in _parts(printed).items() if name not in PROTOCOL}
    if not tested:
        return "clean"
    if set(tested) == {"acquired"}:
        return f"acquired_{tested['acquired']}"
    if set(tested) <= {"angle", "severity", "epsilon"}:
        if not any(float(value) for value in tested.values()):
            return "clean"
        if set(tested) == {"angle"}:
            return f"rotated_{tested['angle']}"
        if set(tested) == {"severity"}:
            return f"corrupted_{tested['severity']}"
        if set(tested) == {"epsilon"}:
            return Fgsm(float(tested["epsilon"])).name
    return None


def _parts(printed: str) -> dict[str, str]:
    """Return name → value of a printed condition such as "angle=30;epochs=40"."""
    pairs = (part.partition("=") for part in printed.split(";") if part)
    return {name: value for name, _, value in pairs}
