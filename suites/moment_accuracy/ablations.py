"""Profiles without_norms, otherwise and ranks: factors on which table 2 of paper 001 depends."""

from dataclasses import replace

from bnnbench.methods.moments.covariances.covariance import Covariances
from bnnbench.suites.moment_accuracy.lenets import (
    FIVE_EPOCHS,
    LENETS,
    LENETS_WITH_ANALYTIC_NORMS,
    LENETS_WITHOUT_NORMS,
    PAPER,
    QUICK,
)
from bnnbench.suites.moment_accuracy.settings import METHODS

WITHOUT_NORMS = replace(
    QUICK,
    title="Moments propagated through trained networks without norms, compared with samples",
    profile="without_norms",
    cases=tuple(
        replace(case, network=normless.network)
        for case, normless in zip(QUICK.cases, LENETS_WITHOUT_NORMS, strict=True)
    ),
    methods={"AP2 paper": QUICK.methods["AP2 paper"]},
    seeds=3,
    reproduces=(),
)

BY_THE_PAPER = {
    label: replace(METHODS[label], training=FIVE_EPOCHS) for label in ("AP1", "AP2 paper")
}
ANALYTIC = {f"{label} (analytic norms)": method for label, method in BY_THE_PAPER.items()}
LONGER = {
    f"{label} (20 epochs)": replace(method, training=replace(FIVE_EPOCHS, epochs=20))
    for label, method in BY_THE_PAPER.items()
}
WITH_NOISE = {
    f"{label} (noisy inputs)": replace(method, train_with_input_noise=True)
    for label, method in BY_THE_PAPER.items()
}

# Not stated in the paper: the kind of norm, the length of training, and the training inputs.
OTHERWISE = replace(
    PAPER,
    title="Moments propagated through differently trained networks, compared with samples",
    profile="otherwise",
    methods=ANALYTIC | LONGER | WITH_NOISE,
    own_architectures={
        label: {case.name: case.network for case in LENETS_WITH_ANALYTIC_NORMS}
        for label in ANALYTIC
    },
    seeds=3,
    reproduces=(),
)

AP2 = replace(METHODS["AP2"], training=FIVE_EPOCHS)
*RECTIFIERS_WITH_NOISE, _, _, SIGMOIDS_WITH_NOISE = LENETS

# Number of covariance directions needed with noisy inputs, for which 64 leave errors.
RANKS = replace(
    PAPER,
    title="Moments propagated with covariances of few and many directions, compared with samples",
    profile="ranks",
    cases=(*RECTIFIERS_WITH_NOISE, SIGMOIDS_WITH_NOISE),
    methods={"AP2": AP2}
    | {
        f"AP2 rank {rank}": replace(AP2, covariances=Covariances(rank)) for rank in (4, 16, 64, 256)
    },
    seeds=3,
    reproduces=(),
)
