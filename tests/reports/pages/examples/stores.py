"""Artificial predictions for real rows: digits and patients that ship inside scikit-learn."""

import dataclasses
from collections.abc import Mapping

import numpy as np
import torch

from bnnbench.datasets.base import DataSource
from bnnbench.datasets.conditions.base import Condition
from bnnbench.datasets.conditions.clean import Clean
from bnnbench.datasets.conditions.rotated import Rotated
from bnnbench.datasets.cuts.limited import Limited
from bnnbench.datasets.stand_ins import DiabetesAsUci, DigitsAsCifar10, DigitsAsMnist
from bnnbench.engine.declare.description import describe
from bnnbench.engine.declare.grid import Evaluation
from bnnbench.engine.records.record import Record
from bnnbench.engine.run.measuring.fingerprint import fingerprint, fingerprint_of_data
from bnnbench.methods.predictions.predictive import CategoricalPredictive, GaussianPredictive
from tests.reports.synthetic import keep, record

CLEAN, TURNED = Clean(), Rotated(90)
DIGITS = Limited(DigitsAsMnist(), train=80, test=60)
COLOURS = Limited(DigitsAsCifar10(), train=80, test=300)
PATIENTS = DiabetesAsUci()
NAMES = {"AdamW": 1.5, "SGD": 1.0, "IVON": 2.0}
"""Method → sharpness of its predictions."""


def run_on(
    source: DataSource,
    conditions: tuple[Condition, ...],
    method: str,
    fold: int = 0,
    seed: int = 0,
    **changes: object,
) -> Record:
    """Return a record of a run on a source, with the data that it was scored on."""
    data = source.load(fold)
    scores = {"log_likelihood": -1.0, "accuracy": 0.5} if data.target is None else {
        "log_likelihood": -5.0, "rmse": 50.0
    }  # fmt: skip
    fields = {
        "scores": {condition.name: scores for condition in conditions},
        "origin": source.origin,
        "run": {"source": describe(source), "method": {"type": "adamw", "label": method}},
        "facts": data.facts,
        "target": data.target and dataclasses.asdict(data.target),
        "evaluations": tuple(describe(Evaluation(c, ("log_likelihood",))) for c in conditions),
        "condition_traits": {c.name: c.traits.as_data() for c in conditions},
        "condition_data": {c.name: fingerprint(c.select(data)) for c in conditions},
        "data_sha256": fingerprint_of_data(data),
    }
    return record(*(method, source.name, fold, seed), **fields | changes)


def of_digits(
    folder,
    source: DataSource = DIGITS,
    conditions: tuple[Condition, ...] = (CLEAN,),
    names: Mapping[str, float] = NAMES,
    seeds: int = 2,
    **changes: object,
):
    """Store runs on images: predictions lean to the target, to a different degree per method."""
    rng = np.random.default_rng(3)
    runs, predictions = [], {}
    for name, sharpness in names.items():
        for seed in range(seeds):
            run = run_on(source, conditions, name, seed=seed, suite=folder.name, **changes)
            runs.append(run)
            predictions[run.key] = {
                condition.name: _leaning(rng, source, condition, sharpness)
                for condition in conditions
            }
    return keep(folder, runs, predictions)


def _leaning(rng: np.random.Generator, source: DataSource, condition: Condition, sharpness: float):
    targets = condition.select(source.load(0)).targets
    logits = torch.from_numpy(rng.standard_normal((len(targets), 10)))
    logits[torch.arange(len(targets)), targets] += 1.5
    return CategoricalPredictive((sharpness * logits).log_softmax(1)[None].float()), targets


def of_patients(folder, folds: int = 2, seeds: int = 2, **changes: object):
    """Store runs on rows: means with errors, and deviations of different sizes."""
    rng = np.random.default_rng(4)
    runs, predictions = [], {}
    for name, deviation in NAMES.items():
        for fold in range(folds):
            for seed in range(seeds):
                run = run_on(PATIENTS, (CLEAN,), name, fold, seed, suite=folder.name, **changes)
                runs.append(run)
                targets = PATIENTS.load(fold).test.targets
                means = targets + 0.7 * torch.from_numpy(rng.standard_normal(targets.shape)).float()
                spread = torch.full_like(means, (0.5 * deviation) ** 2)
                predictive = GaussianPredictive(means[None], spread[None])
                predictions[run.key] = {"clean": (predictive, targets)}
    return keep(folder, runs, predictions)
