"""Treatments of the user's trained network.

Calibration rows choose among four settings of further training, or among eight precisions of
Laplace's prior, all around one fit. Treatments by evidence and draws choose nothing by them.
"""

from collections.abc import Mapping

from bnnbench.datasets.conditions.clean import Clean
from bnnbench.datasets.conditions.other_rows import OtherRows
from bnnbench.datasets.own.trained import TrainedOn
from bnnbench.engine.declare.case import Case
from bnnbench.engine.declare.grid import Evaluation, Suite
from bnnbench.methods.base import Method
from bnnbench.methods.networks.architectures import Architecture
from bnnbench.metrics import CLASSIFICATION, INTERVALS, OUT_OF_DISTRIBUTION, REGRESSION, SETS
from bnnbench.suites.posthoc.treatments import QUICK, ensembles, treatments

OF_CLASSES = ("nll", *(name for name in CLASSIFICATION if name != "nll"), *SETS)
OF_NUMBERS = (*REGRESSION, *INTERVALS)


def suites_of(
    source: TrainedOn,
    network: Architecture,
    checkpoints: tuple[str, ...] = (),
    other_rows: tuple[OtherRows, ...] = (),
) -> dict[str, Suite]:
    """Return the profiles for a trained network: a few treatments, or all that can be applied.

    `checkpoints` are the files of an ensemble, the network's own first.
    """
    methods = dict(treatments(source.task, network)) | ensembles(source.task, checkpoints)
    quick = {label: methods[label] for label in methods if label in QUICK}
    return {
        profile: _suite(source, profile, network, chosen, other_rows)
        for profile, chosen in (("quick", quick), ("all", methods))
    }


def _suite(
    source: TrainedOn,
    profile: str,
    network: Architecture,
    methods: Mapping[str, Method],
    other_rows: tuple[OtherRows, ...],
) -> Suite:
    metrics = OF_CLASSES if source.classes else OF_NUMBERS
    return Suite(
        name="posthoc",
        title=f"{source.name}: treatments of a trained network",
        profile=profile,
        cases=(Case(source, network),),
        methods=methods,
        evaluations=(
            Evaluation(Clean(), metrics),
            *(Evaluation(rows, OUT_OF_DISTRIBUTION) for rows in other_rows),
        ),
        fitted_together=1,
    )
