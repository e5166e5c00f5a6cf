"""Profile ablation: assumptions of message passing, one at a time, on 4096 images.

Results: docs/message_passing_overconfidence.md.
"""

from dataclasses import replace

from bnnbench.datasets.conditions.clean import Clean
from bnnbench.datasets.cuts.limited import Limited
from bnnbench.datasets.official.cifar10 import Cifar10
from bnnbench.engine.declare.case import Case
from bnnbench.engine.declare.grid import Evaluation
from bnnbench.methods.message_passing.network import MessageAccuracy
from bnnbench.methods.message_passing.priors import SpectralPrior
from bnnbench.methods.message_passing.schedule import Coupled, GroupSequential, ramp
from bnnbench.metrics import CLASSIFICATION
from bnnbench.suites.cifar10.quick import QUICK
from bnnbench.suites.cifar10.settings import MP, NARROW, PUBLISHED_MP

ROUNDS = replace(MP, iterations=ramp(4))
ABLATION = replace(
    QUICK,
    title="CIFAR-10: assumptions of message passing",
    profile="ablation",
    own_settings={},
    cases=(Case(Limited(Cifar10(), train=4096, test=2000), NARROW),),
    methods={
        "MP": MP,
        "MP (published)": replace(PUBLISHED_MP, iterations=(1,) * 6),
        "MP maxima by moments": replace(MP, max_pool="clark"),
        "MP published prior": replace(MP, prior=SpectralPrior()),
        "MP corrected prior": replace(MP, prior=SpectralPrior("corrected", mean_scale=1.5)),
        "MP target variance 0.1": replace(MP, target_variance=0.1),
        "MP no targets": replace(MP, target_variance=None),
        "MP pairs": replace(MP, class_probabilities="pairs"),
        "MP sampled": replace(MP, predictive_draws=16),
        "MP softmax": replace(MP, head="softmax"),
        # Visits with several iterations, the first ones in which an example receives its own force.
        "MP published rounds": ROUNDS,
        "MP own force": replace(ROUNDS, schedule=Coupled(32, without_own_force=False)),
        "MP joint precisions": replace(MP, schedule=Coupled(32, joint_precisions=True)),
        "MP plain 4": replace(MP, schedule=GroupSequential(4)),
        "MP coupled 16": replace(MP, schedule=Coupled(16)),
        "MP coupled 64": replace(MP, schedule=Coupled(64)),
        "MP exact sums": replace(MP, accuracy=MessageAccuracy("exact", "example")),
        "MP first order": replace(MP, accuracy=MessageAccuracy("first")),
        "MP cavities of rows": replace(MP, accuracy=MessageAccuracy(cavity="row")),
        "MP batch 512": replace(MP, batch_size=512),
    },
    evaluations=(Evaluation(Clean(), CLASSIFICATION),),
    seeds=2,
)
