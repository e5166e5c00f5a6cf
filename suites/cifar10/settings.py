"""Settings of the CIFAR-10 suite used by more than one profile or suite."""

from bnnbench.methods.adamw import AdamW
from bnnbench.methods.ivon import Ivon
from bnnbench.methods.message_passing.method import MessagePassing
from bnnbench.methods.message_passing.priors import SpectralPrior
from bnnbench.methods.message_passing.schedule import Coupled, ramp
from bnnbench.methods.networks.catalogue import cnn_000
from bnnbench.methods.trajectory.collector import Descent
from bnnbench.methods.trajectory.schedules import HighThenLow

TITLE = "CIFAR-10: accuracy, calibration and out-of-distribution detection"

# Settings with the best held-out log loss in suites.searches.cifar10; all its scores are in
# suites/searches/cifar10.csv. IVON is 0.09 nats short of its best, the trajectory of SWA and SWAG
# 0.03: the better settings diverge on the stand-in digits in one of a few seeds.
ADAMW = AdamW(learning_rate=6e-3, weight_decay=1e-1, epochs=6, batch_size=50)
IVON = Ivon(learning_rate=0.3, initial_hessian=1.0, epochs=6, batch_size=50, draws=16)
TRAJECTORY = Descent(
    learning_rate=0.03, weight_decay=5e-4, epochs=6, batch_size=50, schedule=HighThenLow(0.5)
)
# Deviations from the paper: prior means larger by half with a quarter of its variances, targets
# with less noise, one iteration in every epoch, another prediction rule. Reasons:
# docs/message_passing_overconfidence.md.
MP = MessagePassing(
    iterations=(1,) * 6,
    schedule=Coupled(32),
    prior=SpectralPrior(scale=0.25, mean_scale=1.5),
    target_variance=0.03,
    class_probabilities="largest",
)
# The paper's prior, prediction rule and rounds of its first four epochs, in groups of 32.
PUBLISHED_MP = MessagePassing(iterations=ramp(4), schedule=Coupled(32))
NARROW = cnn_000(channels=(8, 8, 16, 16), hidden=64)
