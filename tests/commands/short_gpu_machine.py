"""`python -m tests.commands.short_gpu_machine`: `bnnbench` with artificial images for CIFAR-10.

Its profile paper has a narrow network and few epochs, which take a while.
"""

import os
import pickle
import sys
import time
from dataclasses import replace
from functools import cache
from hashlib import md5
from pathlib import Path

import numpy as np

from bnnbench.commands import short_gpu
from bnnbench.datasets.official import cifar10
from bnnbench.datasets.reading.files import DataFile
from bnnbench.engine.declare.case import Case
from bnnbench.methods.message_passing.method import MessagePassing
from bnnbench.methods.message_passing.trainer import Trainer
from bnnbench.methods.networks.catalogue import cnn_000
from bnnbench.suites import cifar10 as suite

SLOW = "SECONDS_OF_AN_EPOCH"
EPOCHS = 4
FOLDER = "cifar-10-batches-py"
IMAGES = 8
"""Images in each of the six files."""


@cache
def contents() -> dict[str, bytes]:
    """Return the artificial files by path, equal in every process."""
    rng = np.random.default_rng(0)
    return {f"{FOLDER}/{name}": _batch(rng) for name in cifar10.CHECKSUMS}


def _batch(rng: np.random.Generator) -> bytes:
    labels = rng.integers(10, size=IMAGES)
    pixels = (25 * labels[:, None] + rng.integers(20, size=(IMAGES, 3072))).astype(np.uint8)
    return pickle.dumps({"data": pixels, "labels": labels.tolist()}, protocol=3)


def files() -> dict[str, tuple[DataFile, ...]]:
    """Return the artificial files as the source lists its own."""
    made = [
        DataFile("cifar10", path, f"md5:{md5(content).hexdigest()}", len(content))
        for path, content in contents().items()
    ]
    return {"train": tuple(made[:5]), "test": tuple(made[5:])}


def write(folder: Path) -> None:
    """Write the artificial files into a data folder."""
    for path, content in contents().items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)


def _slowed(seconds: float) -> None:
    epoch = Trainer.epoch

    def slow(self, number, iterations, rngs):
        time.sleep(seconds)
        return epoch(self, number, iterations, rngs)

    Trainer.epoch = slow


def main() -> None:
    """Change this process's suite and data, and run its command line."""
    from bnnbench.__main__ import main as bnnbench

    cifar10.FILES.update(files())  # pyright: ignore[reportArgumentType, reportCallIssue]
    paper = suite.SUITES["paper"]
    mp = paper.methods["MP"]
    assert isinstance(mp, MessagePassing)
    few = {**paper.methods, "MP": replace(mp, iterations=(1,) * EPOCHS, batch_size=16)}
    (case,) = paper.cases
    network = cnn_000(channels=(2, 2, 2, 2), hidden=4)
    suite.SUITES["paper"] = replace(paper, methods=few, cases=(Case(case.source, network),))
    short_gpu.LAUNCH = (sys.executable, "-m", "tests.commands.short_gpu_machine")
    _slowed(float(os.environ.get(SLOW, 0)))
    bnnbench()


if __name__ == "__main__":
    main()
