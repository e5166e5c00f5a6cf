"""Profile depth: networks of 2 to 6 linear layers on the same rows of a noisy sine."""

from bnnbench.datasets.conditions.clean import Clean
from bnnbench.datasets.conditions.parts import Inside
from bnnbench.datasets.generated.curves import Sine
from bnnbench.engine.declare.case import Case
from bnnbench.engine.declare.grid import Evaluation, Suite
from bnnbench.methods.networks.catalogue import LEAKY, mlp
from bnnbench.suites.toy.settings import METRICS, RECTIFIED, SINE_METHODS

# Depths, width, activation, 200 points and the noise, which methods know: paper 000, section 5.1
# and figure 3.
DEPTHS = (2, 3, 4, 5, 6)
DEPTH = Suite(
    name="toy",
    title="Noisy sines: networks of 2 to 6 linear layers on the same rows",
    profile="depth",
    cases=tuple(
        Case(Sine(), mlp([16] * (n - 1), 1, LEAKY), f"sine-{n}", f"sine, {n} linear layers")
        for n in DEPTHS
    ),
    methods=SINE_METHODS,
    own_architectures={
        label: {f"sine-{n}": mlp([16] * (n - 1), 1) for n in DEPTHS} for label in RECTIFIED
    },
    evaluations=(Evaluation(Clean(), METRICS), Evaluation(Inside(), METRICS)),
    reference="HMC",
)
