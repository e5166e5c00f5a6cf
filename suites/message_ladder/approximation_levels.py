"""Profile quick: two units and six rows, one approximation after another.

A fold is a draw of the noise and of the prior's means. Level 0 is the posterior by importance
sampling. Levels 1 keep its moments and lose its shape; levels 2 to 5 are the fixed points of ever
coarser messages: the last is the package itself, and the level before it recomputes the package's
messages. Levels 6 use no messages: they are the Gaussians nearest to the posterior by KL(q || p),
with more and more covariances.
"""

from bnnbench.datasets.conditions.clean import Clean
from bnnbench.datasets.generated.bend import Bend
from bnnbench.engine.declare.case import cases_of
from bnnbench.engine.declare.grid import Evaluation, Suite
from bnnbench.methods.approximation_levels.levels import (
    ExactForm,
    Nearest,
    Package,
    RowMessages,
    RowSites,
)
from bnnbench.methods.message_passing.method import MessagePassing
from bnnbench.methods.message_passing.network import MessageAccuracy
from bnnbench.methods.message_passing.schedule import Sequential
from bnnbench.methods.networks.architectures import LeakyReLU, Linear
from bnnbench.suites.probes.approximation_levels import RungScores

PUBLISHED = MessagePassing(
    iterations=(200,), schedule=Sequential(), accuracy=MessageAccuracy("exact", "example")
)

QUICK = Suite(
    name="message_ladder",
    title="The error of each approximation in message passing, given the exact posterior",
    profile="quick",
    cases=cases_of((Bend(),), (Linear(2), LeakyReLU(0.1), Linear(1))),
    methods={
        "0 exact": ExactForm("draws"),
        "1a marginals": ExactForm("marginals"),
        "1b marginals (propagated)": ExactForm("propagated_marginals"),
        "1c Gaussian": ExactForm("gaussian"),
        "1d Gaussian by unit": ExactForm("gaussian_by_unit"),
        "1e Gaussian of one mode": ExactForm("mode"),
        "1f marginals of one mode": ExactForm("mode_marginals"),
        "1g Gaussians of eight modes": ExactForm("modes"),
        "2 exact rows": RowSites(),
        "3 Gaussian sums": RowMessages("cavity", floors=False),
        "4 floors": RowMessages("cavity", floors=True),
        "5 published products": RowMessages("marginal", floors=True),
        "5 package": Package(PUBLISHED),
        "6a nearest independent": Nearest("none"),
        "6b nearest (last layer)": Nearest("last_layer"),
        "6c nearest (units)": Nearest("units"),
        "6d nearest Gaussian": Nearest("all"),
    },
    evaluations=(Evaluation(Clean(), ("log_likelihood", "rmse")),),
    folds=12,
    probes=(RungScores(),),
)
