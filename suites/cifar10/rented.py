"""Message passing of profile paper on a rented GPU: what must hold before its 25 epochs."""

from dataclasses import replace

from bnnbench.methods.message_passing.method import MessagePassing
from bnnbench.methods.message_passing.rehearsal import rehearse
from bnnbench.suites.cifar10.paper import PAPER
from bnnbench.suites.cifar10.settings import MP
from bnnbench.suites.engine.declare.gates import FirstPass, Gates

RENTED = Gates(
    profile=PAPER.profile,
    methods=("MP",),
    tests="tests/methods/message_passing",
    rehearsed=MessagePassing,
    rehearse=rehearse,
    minutes=25,
    # One pass over all images with larger means, in groups of 32, by the kernels in C:
    # docs/bundle/message_passing/message_passing_full_network.csv.
    first_pass=FirstPass(
        replace(MP, iterations=(1,), backend="fused"),
        accuracy=0.535,
        log_loss=1.274,
        within=0.02,
        test_rows=2000,
    ),
)
