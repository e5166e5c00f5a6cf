"""The source papers' printed scores, in our names and units."""

import csv
import functools
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path

from bnnbench.datasets.conditions import condition_names
from bnnbench.metrics import PROBED
from bnnbench.reports.papers.scales import UNSTATED, is_known

FOLDER = Path(__file__).parent / "published"

SIMPLEX_ECE = ("000", "ece")
"""A number marked as doubtful because it is not an ECE; it corresponds to our `ece_paper000`."""

SMOOTHED = ("003", "rotated_mnist", "log_likelihood")
"""Printed likelihoods of confident models far from the data, which require smoothing."""

NOT_NORMALISED = ("000", "mp", "auroc_ood")
"""A number marked as doubtful because the paper's script does not normalise the out-of-distribution
images for this method; we have such a condition."""

PROTOCOL = frozenset(
    {
        *("epochs", "batch", "test_samples", "train_frac", "strategy", "init_train", "test"),
        *("x", "interval", "networks"),
    }
)
"""Parts of a printed condition that describe training, or how predictions are scored, rather than
the test data."""

FAR_OUTSIDE = {"sine_coverage": "sine_far"}
"""Suite in the published files → our data set with its test inputs, if the names differ."""


CASE = {"activation": "", "input_noise_var": "noise", "dropout": "dropout"}
"""Parts of a printed condition that distinguish networks → their values' prefix in our names."""

APPROXIMATIONS = {"ap2": "ap2 paper"}
"""A paper's approximation → our method with the same formulas, both in lower case."""

MODELS_OF_FITS = {"Ensemble fVI, M=10": "ensemble fvi"}
"""A printed model whose draws are fitted → our method, in lower case."""

TIMED = "mnist-training_time"
"""Our case for the times of training steps, whose network the paper does not name."""

BY_THE_PAPER = {("004", "1", "vi"): "vi (plain steps)"}
"""Paper, table, printed method → our row that follows the paper, in lower case, if its name differs
from the printed one."""

ARMS = {"active": "-a", "random": "-r"}
"""A printed strategy of active learning → the ending of our method's label, in lower case."""


@dataclass(frozen=True)
class Published:
    """One printed score; `value` and `spread` are fractions if the paper prints percent."""

    paper: str
    table: str
    dataset: str
    condition: str | None
    """Our name of the test condition; None if we have no such condition."""
    metric: str
    method: str
    """Our name of the method, in lower case."""
    model: str
    protocol: Mapping[str, str] = field(hash=False)
    """Printed circumstances of training and testing, by name."""
    value: float
    spread: float | None
    spread_kind: str
    repeats: int | None
    decimals: int
    """The number of printed decimals, converted to our units."""
    note: str
    doubtful: bool
    """True if the number should not be compared, for the reason in `note`."""
    printed_method: str = ""
    """The method's name as written in the paper."""


@functools.cache
def every() -> tuple[Published, ...]:
    """Return all printed scores."""
    return tuple(_published(row) for path in sorted(FOLDER.glob("*.csv")) for row in _rows(path))


@functools.cache
def table(paper: str, number: str) -> tuple[Published, ...]:
    """Return the printed scores of one table of one paper; empty if there is none."""
    claim = paper, table_number(number)
    return tuple(row for row in every() if (row.paper, table_number(row.table)) == claim)


def table_number(text: str) -> str:
    """Return the number of a table: "3" for "Table 3"."""
    return text.lower().removeprefix("table").strip()


@functools.cache
def _rows(path: Path) -> tuple[dict[str, str], ...]:
    with path.open(newline="", encoding="utf-8") as file:
        return tuple(csv.DictReader(file))


def _published(row: dict[str, str]) -> Published:
    dataset, _, outlier = row["dataset"].partition("_vs_")
    dataset, _, elsewhere = dataset.partition("_to_")
    scale = 0.01 if row["unit"] == "percent" else 1.0
    method = row["method"].casefold()
    normalised = (row["paper"], method, row["metric"]) != NOT_NORMALISED
    explained = not normalised or (row["paper"], row["metric"]) == SIMPLEX_ECE
    doubtful = "UNCERTAIN" in row["note"] and not explained
    if row["metric"] == "iterations":
        return _counted(row)
    if row["metric"] == "relative_train_time":
        return _timed(row)
    if row["metric"] in PROBED:
        return _measured(row)
    parts = _parts(row["condition"])
    arm = ARMS.get(parts.get("strategy", ""), "")
    return Published(
        paper=row["paper"],
        table=row["table"],
        dataset=FAR_OUTSIDE.get(row["suite"], dataset),
        condition=condition_names.out_of_distribution(outlier, normalised)
        if outlier
        else condition_names.transfer(elsewhere)
        if elsewhere
        else _condition(parts),
        metric=_metric(row),
        method=BY_THE_PAPER.get((row["paper"], row["table"], method), method) + arm,
        model=row["model"],
        protocol=parts,
        value=scale * float(row["value"]),
        spread=scale * float(row["stderr"]) if row["stderr"] else None,
        spread_kind=row["spread_kind"],
        repeats=int(row["n_repeats"]) if row["n_repeats"] else None,
        decimals=_decimals(row["value"]) + 2 * (row["unit"] == "percent"),
        note=row["note"],
        doubtful=doubtful or _scale_is_unknown(row),
        printed_method=row["method"] + arm,
    )


def _scale_is_unknown(row: Mapping[str, str]) -> bool:
    known = is_known(row["paper"], row["table"], row["dataset"])
    return row["unit"] == UNSTATED and not known


def _measured(row: dict[str, str]) -> Published:
    """Return a printed error of moments; its layer is a condition of one of our data sets."""
    parts = _parts(row["condition"])
    named = [f"{short}{parts[name]}" for name, short in CASE.items() if name in parts]
    statistics = ["statistics"] if "dataset_statistics" in parts else []
    softmax = parts["layer"] == "softmax"
    layer = parts["variant"] if softmax else condition_names.layer(parts["layer"])
    method = APPROXIMATIONS.get(row["method"].casefold(), row["method"].casefold())
    return _probed(
        row,
        "-".join([row["dataset"], *named, *statistics]),
        layer,
        f"{method}, init {parts['init']}" if statistics else method,
    )


def _counted(row: dict[str, str]) -> Published:
    """Return a printed statistic of the steps of fits, in float64, by the model of its draws."""
    condition = condition_names.steps("float64", _parts(row["condition"])["statistic"])
    return _probed(row, row["dataset"], condition, MODELS_OF_FITS[row["model"]])


def _timed(row: dict[str, str]) -> Published:
    """Return the relative time of a training step, implemented as in the paper."""
    condition = condition_names.training_step(in_torch=True)
    return _probed(row, TIMED, condition, row["method"].casefold())


def _probed(row: dict[str, str], dataset: str, condition: str, method: str) -> Published:
    """Return a printed number that one of our probes measures."""
    return Published(
        paper=row["paper"],
        table=row["table"],
        dataset=dataset,
        condition=condition,
        metric=row["metric"],
        method=method,
        model=row["model"],
        protocol=_parts(row["condition"]),
        value=float(row["value"]),
        spread=None,
        spread_kind=row["spread_kind"],
        repeats=None,
        decimals=_decimals(row["value"]),
        note=row["note"],
        doubtful=False,
        printed_method=row["method"],
    )


def _decimals(printed: str) -> int:
    """Return the number of printed decimals: 2 for "0.02", 7 for "1.4e-6"."""
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


def _condition(parts: Mapping[str, str]) -> str | None:
    """Return our name of a printed condition; None if we have no such condition."""
    tested = {name: value for name, value in parts.items() if name not in PROTOCOL}
    if not tested:
        return condition_names.CLEAN
    if set(tested) == {"acquired"}:
        return condition_names.acquired(tested["acquired"])
    if set(tested) <= {"angle", "severity", "epsilon"}:
        if not any(float(value) for value in tested.values()):
            return condition_names.CLEAN
        if set(tested) == {"angle"}:
            return condition_names.rotated_to_nearest(float(tested["angle"]))
        if set(tested) == {"severity"}:
            return condition_names.mean_over_corruptions(tested["severity"])
        if set(tested) == {"epsilon"}:
            return condition_names.perturbed("fgsm", float(tested["epsilon"]))
    return None


def _parts(printed: str) -> dict[str, str]:
    """Return name → value for a printed condition such as "angle=30;epochs=40"."""
    pairs = (part.partition("=") for part in printed.split(";") if part)
    return {name: value for name, _, value in pairs}
