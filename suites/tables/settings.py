"""Methods, networks and the search of the league over many tables."""

from bnnbench.methods.batch_ensemble.method import BatchEnsemble
from bnnbench.methods.batch_ensemble.tabm import TabM
from bnnbench.methods.epinet.method import Epinet
from bnnbench.methods.evidential import Evidential
from bnnbench.methods.gp.cross_validated import CrossValidatedGp
from bnnbench.methods.linear.bayesian import BayesianLinear
from bnnbench.methods.linear.logistic import LogisticRegression
from bnnbench.methods.mile.method import Mile
from bnnbench.methods.networks.catalogue import mlp
from bnnbench.methods.sngp.method import Sngp
from bnnbench.methods.trees.catboost import CatBoost
from bnnbench.methods.trees.forest_density import ForestDensity
from bnnbench.methods.trees.histogram_boosting import HistogramBoosting
from bnnbench.methods.trees.ngboost import NgBoost
from bnnbench.methods.tuning.method import Noise, Tuned
from bnnbench.methods.vbll.method import Vbll
from bnnbench.suites.uci.settings import METHODS as OF_NUMBERS
from bnnbench.suites.uci.tuned import OWN_NOISE
from bnnbench.suites.uci_classification.settings import METHODS as OF_CLASSES

TREES = {
    "Histogram boosting": HistogramBoosting(),
    "CatBoost": CatBoost(),
    "Forest density": ForestDensity(),
}

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
    "VBLL": Vbll(),
    "BatchEnsemble": BatchEnsemble(),
    "TabM": TabM(),
    "Epinet": Epinet(),
    "Evidential": Evidential(),
    "MILE": Mile(),
    "GP (cross-validated)": CrossValidatedGp(),
    "GP (cross-validated, log)": CrossValidatedGp(target="either"),
    **TREES,
    "NGBoost": NgBoost(),
    "Bayesian linear regression": BayesianLinear(),
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
    "VBLL": Vbll(),
    "BatchEnsemble": BatchEnsemble(),
    "TabM": TabM(),
    "Epinet": Epinet(),
    "SNGP": Sngp(),
    "MILE": Mile(),
    **TREES,
    "Logistic regression": LogisticRegression(),
}

# Held-out rows give the noise of a point estimate, as in the league of UCI tables, and, where a
# label says so, the temperature of class probabilities.
TEMPERED: dict[str, Noise] = dict.fromkeys(("AdamW (tempered)", "Ensemble (tempered)"), "held_out")

# Eight trials at the shortest length, and at longer ones the better half of them, down to one.
TUNED_REGRESSION = {
    label: Tuned(
        method, 8, updates=8_000, noise=OWN_NOISE.get(label, "held_out"), halving=True, wide=True
    )
    for label, method in REGRESSION.items()
}
TUNED_CLASSIFICATION = {
    label: Tuned(
        method, 8, updates=8_000, noise=TEMPERED.get(label, "own"), halving=True, wide=True
    )
    for label, method in CLASSIFICATION.items()
}

# One hidden layer, as in the other leagues of tables; for each number of classes.
NETWORK = mlp([50], outputs=1)
NETWORKS = {classes: mlp([50], outputs=classes) for classes in range(2, 27)}
