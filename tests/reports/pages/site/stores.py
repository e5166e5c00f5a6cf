"""Artificial results for the board: failures, ties, missing sets and hostile names."""

from pathlib import Path

import numpy as np

from bnnbench.engine.records.cost import Cost
from bnnbench.engine.records.record import Record
from bnnbench.reports.read.benchmarks import Benchmark, benchmarks
from tests.reports.browsing import HOSTILE
from tests.reports.synthetic import keep, record

ERROR = "the loss became NaN\nin <b>epoch</b> 3 of </pre>40"
USUAL = ("AdamW", "SGD", "Ensemble", "IVON", "MFVI", "SWAG", "PBP", "VSD")


def regressions(rng: np.random.Generator) -> list[Record]:
    """Return the profile `quick` of uci on three sets, with every kind of problem."""
    runs = []
    for place, method in enumerate((*USUAL, *HOSTILE)):
        for dataset in ("boston", "energy", "yacht"):
            if (method, dataset) == ("SWAG", "yacht"):
                continue
            for fold in range(5):
                if method == "PBP" and fold > 1:
                    continue
                loss = 1.0 + 0.05 * place + 0.1 * rng.standard_normal()
                scores = {
                    "log_likelihood": -loss,
                    "rmse": float(np.exp(loss)),
                    "calibration_mae": 0.05 + 0.02 * rng.random(),
                }
                diverged = (method, dataset, fold) == ("MFVI", "energy", 3)
                seconds = 0.5 * 1.7**place
                runs.append(
                    record(
                        *(method, dataset, fold),
                        scores={} if diverged else {"clean": scores},
                        suite="uci",
                        status="diverged" if diverged else "completed",
                        error=ERROR if diverged else None,
                        cost=Cost(seconds, 0.1, 1e6, fit_cpu_seconds=seconds),
                        target={"name": "price", "unit": "$", "mean": 0.0, "std": 1.0},
                        diagnostics={"converged": 0.0} if (method, fold) == ("IVON", 1) else {},
                    )
                )
    twins = [r for r in runs if r.method == "AdamW"]
    runs += [
        record(
            *("Laplace", r.dataset, r.fold),
            scores=r.outcome.scores,
            suite="uci",
            cost=r.cost,
            target=r.circumstances.target,
        )
        for r in twins
    ]
    constant = {"type": "marginal"}
    runs += [
        record(
            *("Training mean", dataset, fold),
            scores={"clean": {"log_likelihood": -3.0, "rmse": 20.0, "calibration_mae": 0.01}},
            settings=constant,
            suite="uci",
            diagnostics={"ignores_inputs": 1.0},
        )
        for dataset in ("boston", "energy", "yacht")
        for fold in range(5)
    ]
    return runs


def photographs(rng: np.random.Generator) -> list[Record]:
    """Return the profile `quick` of cifar10: three seeds, two other data sets."""
    runs = []
    for place, method in enumerate(USUAL[:4]):
        for seed in range(3):
            noise = rng.standard_normal(3)
            scores = {
                "log_likelihood": -1.4 - 0.02 * place + 0.01 * noise[0],
                "accuracy": 0.5 + 0.01 * noise[1],
                "ece": 0.05 + 0.01 * rng.random(),
            }
            outside = {"auroc_ood": 0.7 + 0.02 * noise[2]}
            conditions = {"clean": scores, "ood_svhn_first1083": outside, "ood_cifar100": outside}
            settings = {"type": "ivon", "learning_rate": 0.3} if method == "IVON" else None
            runs.append(record(method, seed=seed, scores=conditions, settings=settings))
    return runs


def many_conditions() -> Benchmark:
    """Return runs with more scores than fit on a page."""
    rng = np.random.default_rng(0)
    metrics = ("nll", "accuracy", "ece", "brier", "mce")
    runs = [
        record(
            *(method, "large"),
            seed=seed,
            scores={f"shift {k}": {m: rng.standard_normal() for m in metrics} for k in range(120)},
        )
        for method in ("AdamW", "SGD", "IVON")
        for seed in range(20)
    ]
    (found,) = benchmarks(runs)
    return found


def keep_troubled(results: Path) -> None:
    """Store both suites under `results`."""
    rng = np.random.default_rng(0)
    keep(results / "uci", regressions(rng))
    keep(results / "cifar10", photographs(rng))
