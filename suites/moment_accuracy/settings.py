"""Settings shared by the suite's LeNets and all-convolutional networks."""

from dataclasses import replace

from bnnbench.methods.moment_propagation.approximation import Approximation
from bnnbench.methods.moment_propagation.method import MomentPropagation
from bnnbench.methods.moments.covariances.covariance import Covariances
from bnnbench.methods.moments.rules import Formulas

TITLE = "Moments propagated through trained networks, compared with samples"

# Rate, schedule and batch are the paper's; it does not state the number of epochs.
TRAINING = MomentPropagation(
    learning_rate=1e-3, schedule="exponential", batch_size=128, epochs=20, dropout=0.0
)
PAPER_FORMULAS = Formulas(variance="paper", bernoulli="ap2b", sigmoid="paper")
METHODS = {
    "AP1": Approximation("ap1", training=TRAINING),
    "AP2": Approximation("ap2", training=TRAINING),
    "AP2 paper": Approximation("ap2", PAPER_FORMULAS, training=TRAINING),
    "AP2 rank 64": Approximation("ap2", covariances=Covariances(rank=64), training=TRAINING),
}
BRIEFLY = replace(TRAINING, epochs=3)

EXACT_FORMULAS = (
    "exact moments of rectifiers and sigmoids in AP2; those of AP2 paper are the paper's"
)
SHARED_DEPARTURES = (
    EXACT_FORMULAS,
    "inputs are intensities in [0, 1], and noise is in their units; the paper does not state its "
    "scaling",
    "every norm is a batch norm; the paper does not say of which of its norms the table is",
    "networks are trained on all training images, not on 90 % of them, and measured on test images",
    "networks with noisy inputs are trained without that noise",
)
DEPARTURES = (*SHARED_DEPARTURES, "the number of epochs is ours; the paper does not state it")
