"""Profiles without_norms, otherwise and ranks: what table 2 of paper 001 depends on."""

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
    title="Moments propagated through trained networks without norms, beside samples",
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

# What the paper leaves open: the kind of norm, how long networks were trained, and on what inputs.
OTHERWISE = replace(
    PAPER,
    title="Moments propagated through networks trained otherwise, beside samples",
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

# How many directions of the covariances are needed, where 64 leave errors: with noisy inputs.
RANKS = replace(
    PAPER,
    title="Moments propagated with covariances along few and many directions, beside samples",
    profile="ranks",
    cases=(*RECTIFIERS_WITH_NOISE, SIGMOIDS_WITH_NOISE),
    methods={"AP2": AP2}
    | {
        f"AP2 rank {rank}": replace(AP2, covariances=Covariances(rank)) for rank in (4, 16, 64, 256)
    },
    seeds=3,
    reproduces=(),
)
