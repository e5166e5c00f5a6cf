"""Methods, networks and the search of the league over many tables."""

from bnnbench.methods.gp.exact import GaussianProcess
from bnnbench.methods.gp.leave_one_out import LeaveOneOutGp
from bnnbench.methods.networks.catalogue import mlp
from bnnbench.methods.tuning.method import Tuned
from bnnbench.suites.uci.settings import METHODS as OF_NUMBERS
from bnnbench.suites.uci.tuned import OWN_NOISE
from bnnbench.suites.uci_classification.settings import METHODS as OF_CLASSES

# The method of each label, with the settings that its search does not choose.
REGRESSION = {
    "Training mean": OF_NUMBERS["Training mean"],
    "AdamW": OF_NUMBERS["AdamW"],
    "IVON": OF_NUMBERS["IVON"],
    "MFVI": OF_NUMBERS["MFVI"],
    "Laplace last layer": OF_NUMBERS["Laplace last layer"],
    "SWAG": OF_NUMBERS["SWAG"],
    "SGLD": OF_NUMBERS["SGLD"],
    "MC dropout": OF_NUMBERS["MC dropout"],
    "Ensemble": OF_NUMBERS["Ensemble"],
    "Ensemble heteroscedastic": OF_NUMBERS["Ensemble heteroscedastic"],
    "PBP": OF_NUMBERS["PBP"],
    # Its time grows with the cube of the rows: tables with more are shown as not run.
    "GP (leave-one-out)": LeaveOneOutGp(GaussianProcess(most_rows=1_500)),
}
CLASSIFICATION = {
    "Class frequency": OF_CLASSES["Class frequency"],
    "AdamW": OF_CLASSES["AdamW"],
    "AdamW (tempered)": OF_CLASSES["AdamW"],
    "IVON": OF_CLASSES["IVON"],
    "MFVI": OF_CLASSES["MFVI"],
    "Laplace last layer": OF_CLASSES["Laplace last layer"],
    "SWAG": OF_CLASSES["SWAG"],
    "SGLD": OF_CLASSES["SGLD"],
    "MC dropout": OF_CLASSES["MC dropout"],
    "Ensemble": OF_CLASSES["Ensemble"],
    "Ensemble (tempered)": OF_CLASSES["Ensemble"],
    "PBP": OF_CLASSES["PBP"],
}

# Held-out rows give the noise of a point estimate, as in the league of UCI tables, and, where a
# label says so, the temperature of class probabilities.
TEMPERED = dict.fromkeys(("AdamW (tempered)", "Ensemble (tempered)"), "held_out")
NOISES = {**dict.fromkeys(REGRESSION, "held_out"), **OWN_NOISE}
TEMPERATURES = {**dict.fromkeys(CLASSIFICATION, "own"), **TEMPERED}

# Eight trials at the shortest length, and at longer ones the better half of them, down to one.
TUNED_REGRESSION = {
    label: Tuned(method, 8, updates=8_000, noise=NOISES[label], halving=True)
    for label, method in REGRESSION.items()
}
TUNED_CLASSIFICATION = {
    label: Tuned(method, 8, updates=8_000, noise=TEMPERATURES[label], halving=True)
    for label, method in CLASSIFICATION.items()
}

# One hidden layer, as in the other leagues of tables; for each number of classes.
NETWORK = mlp([50], outputs=1)
NETWORKS = {classes: mlp([50], outputs=classes) for classes in range(2, 27)}
