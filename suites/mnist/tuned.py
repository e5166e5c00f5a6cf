"""Profile tuned_quick: settings and length chosen on held-out training digits, by equal budgets."""

from dataclasses import replace

from bnnbench.methods.ensemble import Ensemble
from bnnbench.methods.label_smoothing import LabelSmoothing
from bnnbench.methods.tuning.method import Tuned
from bnnbench.suites.mnist.settings import ADAMW, INFORMED
from bnnbench.suites.mnist.training_sizes import METHODS, QUICK

# Eight settings at a quarter of the longest fit, the best four at half, the best two in full.
HALVED = Tuned(trials=8, blocks=1, lengths=(10, 20, 40), noise="own", halving=True)

# Probabilities of point estimates are also scored with a temperature from held-out digits. The
# ensemble has a quarter of the trials, because each trial is five fits.
TUNED_QUICK = replace(
    QUICK,
    profile="tuned_quick",
    title="MNIST with equal tuning: a perceptron and a LeNet learn from few and from many images",
    methods={label: replace(HALVED, method=method) for label, method in METHODS.items()}
    | {
        "Ensemble": replace(HALVED, method=METHODS["Ensemble"], trials=2),
        "MP informed": replace(HALVED, method=INFORMED),
        "Label smoothing": replace(HALVED, method=LabelSmoothing(training=ADAMW)),
        "AdamW (tempered)": replace(HALVED, method=ADAMW, noise="held_out"),
        "SGD (tempered)": replace(HALVED, method=METHODS["SGD"], noise="held_out"),
        "Ensemble (tempered)": replace(
            HALVED, method=Ensemble(size=5, member=ADAMW), trials=2, noise="held_out"
        ),
    },
    fitted_together=3,
)
