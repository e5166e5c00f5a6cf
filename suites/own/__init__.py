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
from bnnbench.methods.networks.architectures import Linear
from bnnbench.methods.networks.catalogue import lenet_000, mlp
from bnnbench.methods.tuning.method import Tuned
from bnnbench.metrics import IMBALANCED, REGRESSION
from bnnbench.suites.cifar10.tuned import TUNED_QUICK as TUNED_IMAGES
from bnnbench.suites.uci.settings import CROSS_VALIDATED
from bnnbench.suites.uci.tuned import TUNED_QUICK
from bnnbench.suites.uci_classification.tuned import TUNED_QUICK as TUNED_CLASSES

FEW = (
    *("Training mean", "GP (cross-validated)", "AdamW", "Ensemble", "Ensemble heteroscedastic"),
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

REPLACED = ("GP (leave-one-out)",)
NUMBERS: Mapping[str, Method] = {
    label: method for label, method in TUNED_QUICK.methods.items() if label not in REPLACED
} | {label: Tuned(method, 1) for label, method in CROSS_VALIDATED.items()}
"""Methods for real targets: those of the UCI suite, with other Gaussian processes."""

# Few rows: at most 200 epochs, and the better half of the trials at each longer length. A limit of
# time may leave 8 or 4 trials.
TRIALS = 16
TABLES = {"updates": 1_500, "halving": True}


NEED_HIDDEN_UNITS = ("Radial",)
"""Methods that are left out if networks have no hidden layer."""

HIDDEN_UNITS = 50


def suites_of(source: OwnTable | OwnImages, hidden: int = HIDDEN_UNITS) -> dict[str, Suite]:
    """Return the profiles for the user's data: a few methods with equal tuning, and all of them.

    Networks for tables have one layer of `hidden` units; with 0, only a linear layer.
    """
    if isinstance(source, OwnImages):
        return {
            profile: _suite_of_images(source, profile, methods)
            for profile, methods in (
                ("quick", {name: TUNED_IMAGES.methods[name] for name in FEW_OF_IMAGES}),
                ("all", TUNED_IMAGES.methods),
            )
        }
    if source.task == "classification":
        outputs = len(source.labels)
        methods, few, metrics = TUNED_CLASSES.methods, FEW_OF_CLASSES, IMBALANCED
    else:
        outputs = 1
        methods, few, metrics = NUMBERS, FEW, REGRESSION
    methods = {
        label: method
        for label, method in _shortened(methods).items()
        if hidden or label not in NEED_HIDDEN_UNITS
    }
    case = Case(source, mlp([hidden] if hidden else [], outputs), _name(source, hidden))
    return {
        "quick": _suite(source, "quick", case, {name: methods[name] for name in few}, metrics),
        "all": _suite(source, "all", case, methods, metrics),
    }


def _shortened(methods: Mapping[str, Method]) -> dict[str, Method]:
    """Return the methods with short searches."""
    tuned = {label: cast(Tuned, method) for label, method in methods.items()}
    return {
        # A fit of message passing takes long: its search has few trials and one block.
        label: replace(method, trials=method.trials if method.blocks else TRIALS, **TABLES)
        for label, method in tuned.items()
    }


def _suite(
    source: OwnTable,
    profile: str,
    case: Case,
    methods: Mapping[str, Method],
    metrics: tuple[str, ...],
) -> Suite:
    kind = "classes" if source.task == "classification" else "numbers"
    return Suite(
        name="own",
        title=f"{source.name}: {kind} of {source.target_column!r} by {_networks(case)}",
        profile=profile,
        cases=(case,),
        methods=methods,
        evaluations=(Evaluation(Clean(), metrics),),
        fitted_together=5,
        folds=source.folds if source.has_few_rows else min(5, source.folds),
    )


def _name(source: OwnTable, hidden: int) -> str:
    """Return the name of a case, with its network unless that is the usual one."""
    if hidden == HIDDEN_UNITS:
        return source.name
    return f"{source.name}, {f'{hidden} hidden units' if hidden else 'linear head'}"


def _networks(case: Case) -> str:
    first, *others = case.network
    assert isinstance(first, Linear)
    return f"networks of {first.outputs} units" if others else "linear networks"


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
