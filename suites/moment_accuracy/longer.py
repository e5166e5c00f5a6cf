"""Profiles fifty_epochs, bernoulli_training and cifar10_five_epochs: tables 2 and 3 of paper 001,
with longer training, and with Bernoulli units trained as sigmoids."""

from dataclasses import replace

from bnnbench.engine.declare.grid import Reproduces
from bnnbench.methods.moment_propagation.sigmoids_as_bernoulli import SigmoidsAsBernoulli
from bnnbench.suites.moment_accuracy.allconvs import ALLCONVS, CIFAR10
from bnnbench.suites.moment_accuracy.lenets import FIVE_EPOCHS, LENETS, PAPER
from bnnbench.suites.moment_accuracy.settings import METHODS, SHARED_DEPARTURES, TRAINING

FIFTY_EPOCHS_LONG = replace(TRAINING, epochs=50)
*RECTIFIERS, BERNOULLI_LENET, SIGMOIDS = LENETS

# In 50 epochs the paper's learning rate falls to 0.13 of its peak. A network takes six minutes of
# an idle core, with dropout nine: three core-hours and a half for all.
FIFTY_EPOCHS = replace(
    PAPER,
    profile="fifty_epochs",
    cases=(BERNOULLI_LENET, *RECTIFIERS, SIGMOIDS),
    methods={
        label: replace(method, training=FIFTY_EPOCHS_LONG) for label, method in METHODS.items()
    },
    own_settings={
        BERNOULLI_LENET.name: {
            label: SigmoidsAsBernoulli(
                method.propagation, method.formulas, method.covariances, FIFTY_EPOCHS_LONG
            )
            for label, method in METHODS.items()
        }
    },
    seeds=5,
    fitted_together=1,
    reproduces=(
        Reproduces(
            "001",
            "2",
            (*SHARED_DEPARTURES, "50 epochs; the paper does not state the number"),
        ),
    ),
)

# The length of training and its units, apart: five epochs of sigmoids, 50 epochs through moments.
PRINTED = {label: METHODS[label] for label in ("AP1", "AP2 paper")}
BERNOULLI_TRAINING = replace(
    PAPER,
    title="Moments propagated through differently trained Bernoulli units, compared with samples",
    profile="bernoulli_training",
    cases=(BERNOULLI_LENET,),
    methods={
        f"{label} (sigmoids for 5 epochs)": SigmoidsAsBernoulli(
            method.propagation, method.formulas, training=FIVE_EPOCHS
        )
        for label, method in PRINTED.items()
    }
    | {
        f"{label} (trained through AP2 for 50 epochs)": replace(method, training=FIFTY_EPOCHS_LONG)
        for label, method in PRINTED.items()
    },
    seeds=5,
    fitted_together=1,
    reproduces=(),
)

# Two networks of each kind in six core-hours: seven minutes per epoch of an idle core, with dropout
# nine.
*OTHER_ALLCONVS, BERNOULLI_ALLCONV, SIGMOID_ALLCONV = ALLCONVS
CIFAR10_METHODS = {label: METHODS[label] for label in ("AP1", "AP2", "AP2 paper")}
CIFAR10_FIVE_EPOCHS = replace(
    CIFAR10,
    profile="cifar10_five_epochs",
    cases=(BERNOULLI_ALLCONV, *OTHER_ALLCONVS, SIGMOID_ALLCONV),
    methods={
        label: replace(method, training=FIVE_EPOCHS) for label, method in CIFAR10_METHODS.items()
    },
    own_settings={
        BERNOULLI_ALLCONV.name: {
            label: SigmoidsAsBernoulli(method.propagation, method.formulas, training=FIVE_EPOCHS)
            for label, method in CIFAR10_METHODS.items()
        }
    },
    seeds=2,
    fitted_together=1,
    reproduces=(
        Reproduces(
            "001",
            "3",
            (
                *SHARED_DEPARTURES,
                "five epochs, as many as six core-hours allow; the paper does not state the number",
            ),
        ),
    ),
)
