"""Digits under noise and attack: is a network that expects noise more robust to it?

One hidden layer of 100 units. The network's inputs are standardised; sizes are in its units.
Paper 001 shows figures and prints no numbers.
"""

from dataclasses import replace

from bnnbench.datasets.conditions.clean import Clean
from bnnbench.datasets.conditions.perturbations import GaussianNoise, SignNoise
from bnnbench.datasets.cuts.limited import Limited
from bnnbench.datasets.official.mnist import Mnist
from bnnbench.engine.declare.attacks import Fgsm, Pgd
from bnnbench.engine.declare.case import Case
from bnnbench.engine.declare.grid import Evaluation, Suite
from bnnbench.methods.adamw import AdamW
from bnnbench.methods.moment_propagation.method import MomentPropagation
from bnnbench.methods.networks.architectures import BatchNorm, Flatten, LogisticBernoulli, Sigmoid
from bnnbench.methods.networks.catalogue import mlp
from bnnbench.metrics import CLASSIFICATION, ROBUSTNESS

TITLE = "MNIST under noise and attack: sigmoid, batch norm, Bernoulli units by moments"

SIGMOID = (Flatten(), *mlp([100], 10, Sigmoid()))
BATCH_NORM = (Flatten(), *mlp([100], 10, Sigmoid(), BatchNorm()))
BERNOULLI = (Flatten(), *mlp([100], 10, LogisticBernoulli()))

# Adam, batches of 128, learning rate 0.001 · 0.96^k in epoch k: paper 001, appendix D.2. It
# does not state the number of epochs, only that the rate falls by about 10 in 50.
EPOCHS = 50
ADAM = AdamW(weight_decay=0.0, epochs=EPOCHS, schedule="exponential")
MOMENTS = MomentPropagation(dropout=0.0, epochs=EPOCHS)
# 0.1 if the network's inputs are intensities in [0, 1], which have standard deviation 0.3081: the
# paper does not say how it scales inputs.
RAW_VARIANCE = 0.1 / 0.3081**2
METHODS = {
    "Sigmoid": ADAM,
    "Sigmoid, batch norm": ADAM,
    # Trained and tested with an assumed input variance of 0.1, attacked through the same pass.
    "Bernoulli AP2": replace(MOMENTS, input_variance=0.1),
    # To separate the effects of units, moments and noise. None of these is in the paper.
    "Bernoulli AP2, no input noise": MOMENTS,
    "Sigmoid AP2": replace(MOMENTS, input_variance=0.1),
    "Sigmoid, noisy inputs": replace(
        MOMENTS, training="sample", prediction="ap1", input_variance=0.1
    ),
    "Bernoulli AP2, variance 1.05": replace(MOMENTS, input_variance=RAW_VARIANCE),
    "Sigmoid, noisy inputs, variance 1.05": replace(
        MOMENTS, training="sample", prediction="ap1", input_variance=RAW_VARIANCE
    ),
}
NETWORKS = {
    "Sigmoid, batch norm": BATCH_NORM,
    "Bernoulli AP2": BERNOULLI,
    "Bernoulli AP2, no input noise": BERNOULLI,
    "Bernoulli AP2, variance 1.05": BERNOULLI,
}

NOISE = (0.25, 0.5, 0.75, 1.0, 1.5, 2.0)
EPSILONS = (0.05, 0.1, 0.15, 0.2, 0.3)
# The paper's attack is the second, on unclipped inputs. The others show whether it can be
# trusted: no gradient must do less harm, more steps more.
EVALUATIONS = (
    Evaluation(Clean(), (*CLASSIFICATION, "log_odds_of_errors", "log_odds_of_errors_median")),
    *(Evaluation(GaussianNoise(size), ROBUSTNESS) for size in NOISE),
    *(Evaluation(Fgsm(size), ROBUSTNESS) for size in EPSILONS),
    *(Evaluation(Pgd(size, steps=20, step=0.25), ROBUSTNESS) for size in EPSILONS),
    *(Evaluation(SignNoise(size), ROBUSTNESS) for size in EPSILONS),
)

PAPER = Suite(
    name="stability",
    title=TITLE,
    profile="paper",
    cases=(Case(Mnist(), SIGMOID),),
    methods=METHODS,
    own_architectures=NETWORKS,
    evaluations=EVALUATIONS,
    seeds=5,
)

QUICK = replace(
    PAPER,
    profile="quick",
    cases=(Case(Limited(Mnist(), train=10240, test=2000), SIGMOID),),
    methods={label: replace(method, epochs=15) for label, method in METHODS.items()},
    seeds=5,
)

SUITES = {"quick": QUICK, "paper": PAPER}
