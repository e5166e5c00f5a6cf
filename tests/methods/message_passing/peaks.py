"""Peak memory of a fit, in a separate process, where memory freed by others has no effect."""

import subprocess
import sys

PROGRAM = """
import torch
from bnnbench.datasets.base import Categorical, Split
from bnnbench.methods.adamw import AdamW
from bnnbench.methods.base import Problem
from bnnbench.methods.message_passing.method import MessagePassing
from bnnbench.methods.message_passing.network import MessageAccuracy
from bnnbench.methods.message_passing.priors import SpectralPrior
from bnnbench.methods.message_passing.schedule import Coupled, GroupSequential, Sequential
from bnnbench.methods.networks.catalogue import cnn_000
from bnnbench.engine.run.measuring import memory

def images(count):
    rng = torch.Generator().manual_seed(0)
    inputs = torch.randn(count, 3, 32, 32, generator=rng)
    targets = torch.randint(10, (count,), generator=rng)
    return Problem(Split(inputs, targets), Categorical(10), NETWORK)

torch.set_num_threads(1)
method, rng = METHOD, torch.Generator().manual_seed(0)
method.fit(images(2), rng)  # libraries take what they need once
batch = images(128)
with memory.growth(torch.device("cpu")) as grown:
    method.fit(batch, rng)
print(grown.bytes)
"""


def growth(method: str, network: str = "cnn_000()") -> float:
    """Return the peak bytes of a fit to a batch of 128 images of CIFAR-10's size."""
    program = PROGRAM.replace("METHOD", method).replace("NETWORK", network)
    words = [sys.executable, "-c", program]
    return float(subprocess.run(words, capture_output=True, text=True, check=True).stdout)
