"""Message passing of profile paper in a short GPU session: conditions for its 25 epochs."""

from dataclasses import replace

from bnnbench.engine.declare.gates import FirstPass, Gates
from bnnbench.methods.message_passing.method import MessagePassing
from bnnbench.methods.message_passing.rehearsal import rehearse
from bnnbench.suites.cifar10.paper import PAPER
from bnnbench.suites.cifar10.settings import MP

RENTED = Gates(
    profile=PAPER.profile,
    methods=("MP",),
    tests="tests/methods/message_passing",
    rehearsed=MessagePassing,
    rehearse=rehearse,
    minutes=25,
    # One pass over all images with larger means, in groups of 32, by the kernels in C: mean over
    # three seeds, and three of their standard deviations,
    # docs/bundle/message_passing/message_passing_first_pass.csv.
    first_pass=FirstPass(
        replace(MP, iterations=(1,), backend="fused"),
        accuracy=0.626,
        accuracy_within=0.05,
        log_loss=1.094,
        log_loss_within=0.11,
        test_rows=2000,
    ),
)
