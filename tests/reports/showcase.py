"""A store that looks like a real one: `python -m tests.reports.showcase FOLDER`."""

import sys
from pathlib import Path

import numpy as np

from bnnbench.engine.records.cost import Cost
from bnnbench.metrics import CLASSIFICATION, OUT_OF_DISTRIBUTION, REGRESSION
from tests.reports.synthetic import classified, detected, keep, record, regressed, scored

METHODS = {
    # sharpness of the logits, seconds, multiple of the error
    "AdamW": (2.2, 21, 1.0),
    "SGD": (1.8, 18, 1.05),
    "IVON": (1.1, 31, 0.97),
    "IVON@mean": (1.6, 31, 1.0),
    "MC dropout": (1.3, 26, 0.96),
    "Ensemble": (1.15, 104, 0.92),
    "MFVI": (0.7, 44, 1.15),
}
TYPES = {
    "AdamW": "adamw",
    "SGD": "sgd",
    "IVON": "ivon",
    "IVON@mean": "ivon",
    "MC dropout": "mc_dropout",
    "Ensemble": "ensemble",
    "MFVI": "mfvi",
}
SETS = {"boston": 2.9, "concrete": 5.6, "energy": 1.1, "kin8nm": 0.09, "naval": 0.0041,
        "power": 4.1, "protein": 4.6, "wine_red": 0.63, "yacht": 0.9}  # fmt: skip
UNITS = {"boston": "1000 USD", "concrete": "MPa", "power": "MW", "protein": "Å"}
FACTS = {
    "features": 8,
    "test_twins_in_train": 0.0123,
    "constant_columns": [],
    "largest_input_deviation": 7.31,
    "licence": "CC BY 4.0, UCI Machine Learning Repository",
    "sha256": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
}
IMAGE_FACTS = {"train_rows": 50_000, "test_rows": 10_000, "classes": 10, **FACTS}
SETTINGS = {"epochs": 25, "batch_size": 128, "weight_decay": 1e-4}


def cifar10(folder: Path, seeds: int = 5, points: int = 1500) -> None:
    """Store seven methods on CIFAR-10 and two other data sets; one of the runs diverged."""
    names = {
        "clean": CLASSIFICATION,
        "ood_svhn": OUT_OF_DISTRIBUTION,
        "ood_cifar100": OUT_OF_DISTRIBUTION,
    }
    for method, (sharpness, seconds, worse) in METHODS.items():
        for seed in range(seeds):
            rng = np.random.default_rng(seed)
            sharp = sharpness * (1 + 0.05 * rng.standard_normal())
            predictions = {
                "clean": classified(rng, sharp, points, noise=worse - 0.6),
                "ood_svhn": detected(rng, sharp, 1.3, points),
                "ood_cifar100": detected(rng, sharp, 0.7, points),
            }
            run = record(
                method,
                seed=seed,
                profile="paper",
                scores=scored(predictions, names),
                settings=SETTINGS
                | {"type": TYPES[method], "predict_at_mean": method == "IVON@mean"},
                cost=Cost(seconds * rng.uniform(0.95, 1.1), seconds / 40, 3e8),
                facts=IMAGE_FACTS,
                reproduces=(
                    {"paper": "000", "table": "1", "departures": ["one mean and std per channel"]},
                ),
            )
            keep(folder, [run], {run.key: predictions})
    failure = record("MFVI", seed=seeds, profile="paper", scores={}, status="diverged",
                     error="the loss became NaN in epoch 3",
                     settings=SETTINGS | {"type": TYPES["MFVI"], "predict_at_mean": False},
                     facts=IMAGE_FACTS)  # fmt: skip
    keep(folder, [failure])


def uci(folder: Path, folds: int = 20) -> None:
    """Store seven methods on nine regression sets."""
    for dataset, size in SETS.items():
        for method, (_, seconds, worse) in METHODS.items():
            for fold in range(folds):
                rng = np.random.default_rng([fold, len(dataset)])
                error = 0.3 * worse * (1 + 0.12 * rng.standard_normal())
                predictions = {"clean": regressed(rng, error, 0.3 * worse**2)}
                scores = scored(predictions, {"clean": REGRESSION})
                scores["clean"]["rmse"] *= size / 0.3
                run = record(
                    method,
                    dataset,
                    fold,
                    suite="uci",
                    profile="paper",
                    scores=scores,
                    diagnostics={"noise_std": error, "final_loss": 0.4},
                    cost=Cost(seconds / 60 * rng.uniform(0.9, 1.1), 0.002, 1e7, 20),
                    facts={"train_rows": 456, "test_rows": 50, **FACTS},
                    target={"name": "y", "unit": UNITS.get(dataset, ""), "mean": 0.0, "std": size},
                    reproduces=({"paper": "004", "table": "1", "departures": []},),
                )
                keep(folder, [run], {run.key: predictions})


if __name__ == "__main__":
    cifar10(Path(sys.argv[1]) / "cifar10")
    uci(Path(sys.argv[1]) / "uci")
