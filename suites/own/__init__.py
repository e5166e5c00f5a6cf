"""Profiles for the user's data: every suitable method, tuned by an equal budget."""

from collections.abc import Mapping
from dataclasses import replace
from typing import cast

from bnnbench.datasets.conditions.clean import Clean
from bnnbench.datasets.own.images import OwnImages
from bnnbench.datasets.own.table import OwnTable
from bnnbench.engine.declare.case import Case
from bnnbench.engine.declare.grid import Evaluation, Suite
from bnnbench.methods.base import Method
from bnnbench.methods.networks.architectures import Architecture
from bnnbench.methods.networks.catalogue import lenet_000, mlp
from bnnbench.methods.tuning.method import Tuned
from bnnbench.metrics import IMBALANCED, REGRESSION
from bnnbench.suites.cifar10.tuned import TUNED_QUICK as TUNED_IMAGES
from bnnbench.suites.uci.tuned import TUNED_QUICK
from bnnbench.suites.uci_classification.tuned import TUNED_QUICK as TUNED_CLASSES

FEW = (
    *("Training mean", "GP (leave-one-out)", "AdamW", "Ensemble", "Ensemble heteroscedastic"),
    *("MC dropout", "MFVI", "IVON", "SWAG", "PBP"),
)
FEW_OF_CLASSES = (
    *("Class frequency", "AdamW", "AdamW (tempered)", "SGD (tempered)", "Label smoothing"),
    *("Ensemble", "Ensemble (tempered)", "MC dropout", "MFVI", "IVON", "SWAG"),
    *("Laplace last layer",),
)
FEW_OF_IMAGES = (
    *("Class frequency", "AdamW", "AdamW (tempered)", "Label smoothing", "Ensemble (tempered)"),
    *("MC dropout", "MFVI", "IVON", "SWAG"),
)
"""Methods of the quick profile, the fastest of each family; `all` has the others."""

# Few rows: at most 200 epochs, and the better half of the trials at each longer length.
TABLES = {"updates": 1_500, "halving": True}


def suites_of(source: OwnTable | OwnImages) -> dict[str, Suite]:
    """Return the profiles for the user's data: a few methods with equal tuning, and all of them."""
    if isinstance(source, OwnImages):
        return {
            profile: _suite_of_images(source, profile, methods)
            for profile, methods in (
                ("quick", {name: TUNED_IMAGES.methods[name] for name in FEW_OF_IMAGES}),
                ("all", TUNED_IMAGES.methods),
            )
        }
    if source.task == "classification":
        network = mlp([50], outputs=len(source.labels))
        methods, few, metrics = TUNED_CLASSES.methods, FEW_OF_CLASSES, IMBALANCED
    else:
        network = mlp([50], outputs=1)
        methods, few, metrics = TUNED_QUICK.methods, FEW, REGRESSION
    methods = _shortened(methods)
    return {
        "quick": _suite(source, "quick", network, {name: methods[name] for name in few}, metrics),
        "all": _suite(source, "all", network, methods, metrics),
    }


def _shortened(methods: Mapping[str, Method]) -> dict[str, Method]:
    """Return the methods with short searches."""
    return {label: replace(cast(Tuned, method), **TABLES) for label, method in methods.items()}


def _suite(
    source: OwnTable,
    profile: str,
    network: Architecture,
    methods: Mapping[str, Method],
    metrics: tuple[str, ...],
) -> Suite:
    kind = "classes" if source.task == "classification" else "numbers"
    return Suite(
        name="own",
        title=f"{source.name}: {kind} of {source.target_column!r} by networks of 50 units",
        profile=profile,
        cases=(Case(source, network),),
        methods=methods,
        evaluations=(Evaluation(Clean(), metrics),),
        fitted_together=5,
        folds=source.folds if source.has_few_rows else min(5, source.folds),
    )


def _suite_of_images(source: OwnImages, profile: str, methods: Mapping[str, Method]) -> Suite:
    return Suite(
        name="own",
        title=f"{source.name}: {source.classes} classes of images by LeNets",
        profile=profile,
        cases=(Case(source, lenet_000(source.classes)),),
        methods=methods,
        evaluations=(Evaluation(Clean(), IMBALANCED),),
        fitted_together=3,
        seeds=3,
    )
