"""Test conditions and metrics shared by all profiles of the suite."""

from bnnbench.datasets.conditions.corrupted import ALL_19
from bnnbench.datasets.conditions.perturbations import SignNoise
from bnnbench.engine.declare.attacks import Fgsm, Pgd
from bnnbench.engine.declare.grid import Evaluation

TITLE = "CIFAR under corruption and attack: inference in function space and in weight space"

METRICS = (
    "accuracy", "nll", "ece", "brier",
    "log_likelihood", "log_likelihood_smoothed", "entropy", "expected_entropy",
    "mutual_information",
)  # fmt: skip
EPSILONS = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3)
CORRUPTED = tuple(Evaluation(condition, METRICS) for condition in ALL_19)
# Paper 003 states neither the scale of its attack nor whether it clips. Its accuracies match the
# first of these. The others show whether the attack can be trusted: more steps must do more harm,
# no gradient less, size 1 must destroy an image, and an attack on another network of the same kind
# must harm no more than one on the posterior itself.
ATTACKS = (
    *(Fgsm(size) for size in EPSILONS),
    *(Fgsm(size, scale="pixel", clamp=True) for size in EPSILONS),
    *(SignNoise(size) for size in EPSILONS),
    Pgd(1.0, scale="pixel", clamp=True, steps=10, step=0.25),
)
