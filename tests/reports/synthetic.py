"""Artificial records and predictions for the tests of the reports."""

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import torch

from bnnbench.engine.declare.description import digest
from bnnbench.engine.records.cost import Cost
from bnnbench.engine.records.flat import gathered
from bnnbench.engine.records.record import Record
from bnnbench.engine.records.record_json import to_json
from bnnbench.engine.run.packing import Predictions, pack
from bnnbench.engine.store.store import Store
from bnnbench.methods.predictions.predictive import CategoricalPredictive, GaussianPredictive
from bnnbench.metrics import METRICS, REGRESSION, value
from tests.records import changed
from tests.reports.condition_traits import traits_of

PROVENANCE = {
    "commit": "0123456789abcdef0123456789abcdef01234567",
    "dirty": False,
    "python": "3.11.9",
    "packages": {"torch": "2.13.0", "numpy": "2.1.0"},
    "machine": "Linux x86_64, 2 cores",
    "device": "cpu",
    "torch_threads": 2,
    "finished": "2025-01-02T03:04:05+00:00",
}

SETTINGS = {"epochs": 40, "batch_size": 32, "weight_decay": 1e-4, "hidden": [50]}


def record(
    method: str = "AdamW",
    dataset: str = "cifar10",
    fold: int = 0,
    seed: int = 0,
    scores: Mapping[str, Mapping[str, float]] | None = None,
    settings: Mapping[str, object] | None = None,
    **changes: object,
) -> Record:
    """Return a completed run of the quick profile, with `changes`."""
    run = {
        "suite": changes.get("suite", "cifar10"),
        "profile": changes.get("profile", "quick"),
        "source": {"type": f"datasets.{dataset}:Source", "name": dataset},
        "method": {"type": f"methods.x:{method}", "learning_rate": 0.001, **(settings or {})},
        "architecture": [{"type": "linear", "outputs": 10}],
        "fold": fold,
        "seed": seed,
    }
    run |= changes.pop("run", {})
    scores = {"clean": {"nll": 1.0}} if scores is None else scores
    fields = {
        "key": digest(run),
        "suite": "cifar10",
        "profile": "quick",
        "dataset": dataset,
        "origin": "original",
        "method": method,
        "fold": fold,
        "seed": seed,
        "run": run,
        "status": "completed",
        "error": None,
        "scores": scores,
        "condition_origins": {condition: changes.get("origin", "original") for condition in scores},
        "diagnostics": {},
        "cost": Cost(2.0, 0.1, 2.0**24),
        "facts": {"train_rows": 900, "test_rows": 100},
        "provenance": PROVENANCE,
    }
    return filled(gathered(**fields | changes))


def filled(made: Record) -> Record:
    """Return a record with traits of its conditions and other facts that runs always have."""
    return changed(
        made,
        condition_traits=_traits(made) | dict(made.circumstances.condition_traits),
        reproduces=tuple(
            {"whole": made.profile.startswith("paper"), **claim} for claim in made.reproduces
        ),
        arm=made.strategy
        or (made.method.rpartition("-")[2] if made.run.get("acquisition") else ""),
        diagnostics=_constant(made) | dict(made.outcome.diagnostics),
    )


def _traits(made: Record) -> dict[str, Mapping[str, object]]:
    return {
        name: traits_of(name).as_data()
        for name in {*made.outcome.scores, *made.circumstances.condition_origins}
    }


def _constant(made: Record) -> dict[str, float]:
    """Return the diagnostic of a method whose predictions are the same for every input."""
    method = made.run.get("method")
    name = method.get("type") if isinstance(method, Mapping) else ""
    return {"ignores_inputs": 1.0} if name == "marginal" else {}


def runs_of(scores: Mapping[str, Sequence[float]], metric: str = "nll", **fields) -> list[Record]:
    """Return one run per method and seed, with the given scores."""
    return [
        record(method, seed=seed, scores={"clean": {metric: score}}, **fields)
        for method, values in scores.items()
        for seed, score in enumerate(values)
    ]


def keep(folder, records: Sequence[Record], predictions: Mapping[str, Predictions] | None = None):
    """Write records, and predictions by key, to the store in `folder`."""
    store = Store(folder)
    for kept in records:
        mine = (predictions or {}).get(kept.key)
        store.write(kept, None if mine is None else pack(mine))
    return store


def classified(
    rng: np.random.Generator,
    sharpness: float,
    points: int = 400,
    shift: float = 0.0,
    noise: float = 0.0,
) -> tuple[CategoricalPredictive, torch.Tensor]:
    """Return predictions whose true log odds are the logits divided by `sharpness`.

    `shift` makes the points less clear, `noise` the predictions worse.
    """
    logits = (3.0 - shift) * rng.standard_normal((points, 10))
    odds = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    targets = (odds.cumsum(1) > rng.random((points, 1))).argmax(1)
    logits = logits + noise * rng.standard_normal(logits.shape)
    logits = torch.from_numpy(sharpness * logits).float()
    return CategoricalPredictive(logits.log_softmax(1)[None]), torch.from_numpy(targets)


def detected(
    rng: np.random.Generator, sharpness: float, shift: float, points: int = 400
) -> tuple[CategoricalPredictive, torch.Tensor]:
    """Return predictions on test data and on other data; the targets distinguish them."""
    inside, _ = classified(rng, sharpness, points)
    outside, _ = classified(rng, sharpness, points, shift)
    joined = torch.cat([inside.log_probs, outside.log_probs], 1)
    return CategoricalPredictive(joined), torch.arange(2 * points) // points


def regressed(
    rng: np.random.Generator, error: float, claimed: float, points: int = 60
) -> tuple[GaussianPredictive, torch.Tensor]:
    """Return predictions with the error `error` and the stated deviation `claimed`."""
    targets = torch.from_numpy(rng.standard_normal((points, 1)))
    means = targets + error * torch.from_numpy(rng.standard_normal((points, 1)))
    return GaussianPredictive(means[None], torch.full((1, points, 1), claimed**2).double()), targets


def scored(predictions: Predictions, names: Mapping[str, Sequence[str]]):
    """Return condition → metric → value, from the metrics themselves."""
    return {
        condition: {name: value(METRICS[name], prediction, targets) for name in names[condition]}
        for condition, (prediction, targets) in predictions.items()
    }


def many(folder: Path, count: int = 10_000, predicted: int = 0) -> None:
    """Store `count` runs of one suite: 20 methods on 10 regression sets, 10 folds, the rest seeds.

    The methods differ by known amounts; one percent of the runs diverged. The first `predicted`
    have predictions.
    """
    rng = np.random.default_rng(0)
    methods, sets, folds = 20, 10, 10
    seeds = count // (methods * sets * folds)
    shape = (methods, sets, folds, seeds)
    worse = np.linspace(0, 0.5, methods)[:, None, None, None]
    hardness = rng.normal(0, 0.3, (1, sets, folds, 1))
    score = 1 + worse + hardness + 0.1 * rng.standard_normal(shape)
    diverged = rng.random(shape) < 0.01
    (folder / "runs").mkdir(parents=True)
    for place in np.ndindex(shape):
        m, d, f, s = place
        base = float(score[place])
        found = {name: round(base * (k + 1), 6) for k, name in enumerate(REGRESSION)}
        run = record(
            f"method {m:02d}",
            f"set{d}",
            f,
            s,
            suite=folder.name,
            profile="paper",
            scores={} if diverged[place] else {"clean": found},
            status="diverged" if diverged[place] else "completed",
            error="the loss became NaN in epoch 3" if diverged[place] else None,
            diagnostics={"noise_std": base, "final_loss": base / 3, "converged": 1.0},
            settings=SETTINGS | {"learning_rate": 0.001 * (m + 1)},
            cost=Cost(2.0 + base, 0.01 * base, 1e7 * base, 10),
        )
        place_on_disk = folder / "runs" / run.key
        place_on_disk.mkdir()
        if predicted > 0 and not diverged[place]:
            predicted -= 1
            kept = pack({"clean": regressed(rng, base, base)})
            (place_on_disk / "predictions.npz").write_bytes(kept)
            run = changed(run, predictions_sha256=hashlib.sha256(kept).hexdigest())
        (place_on_disk / "record.json").write_text(to_json(run))
