"""Image features from a network that is trained once, as a table on which to train small heads.

The network trains on the last training images and never on those whose features are given. The
table is computed when first needed, and cached in the data folder.
"""

import hashlib
import io
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from bnnbench.datasets.base import Dataset, ImageSource, Table, check_fold
from bnnbench.datasets.errors import NothingToLearn
from bnnbench.datasets.official.cifar10 import Cifar10
from bnnbench.datasets.origins import Origin, least_official
from bnnbench.datasets.reading import files, npz, tables
from bnnbench.datasets.reading.cache import cached
from bnnbench.datasets.reading.images import as_inputs, channel_scaling
from bnnbench.datasets.reading.whole_files import write_whole

FOLDER = "features"
CHANNELS, BATCH, RATE = (32, 64), 64, 3e-3
VERSION = 1
"""Version of the network and its training: raise it when they change, to invalidate cached
tables."""


@dataclass(frozen=True)
class Features:
    """Last-layer inputs of a small convolutional network with seed 0.

    The table holds at most `train` and `test` images; the network trains on at most `learned`
    others. For a small source, half of the training images go to the network.
    """

    pictures: ImageSource = field(default_factory=Cifar10)
    train: int = 2000
    test: int = 1000
    learned: int = 6000
    epochs: int = 8
    width: int = 32
    """Number of features."""

    folds = 1

    @property
    def name(self) -> str:
        """The image source's name with "_features"."""
        return f"{self.pictures.name}_features"

    @property
    def classes(self) -> int:
        """The number of labels."""
        return self.pictures.classes

    @property
    def origin(self) -> Origin:
        """The images' origin, but at best "subset", since not all images are used."""
        return least_official(self.pictures.origin, "subset")

    @property
    def licence(self) -> str:
        """The images' licence."""
        return self.pictures.licence

    @property
    def bytes(self) -> int:
        """The size of the images' download."""
        return self.pictures.bytes

    @property
    def target(self) -> tuple[str, str]:
        """The target's name; it has no unit."""
        return "class", ""

    @cached(2)
    def table(self, fold: int) -> Table:
        """Return features and labels, from this machine's cache if they were computed before."""
        check_fold(self, fold)
        inputs, labels = self.pictures.images("train")
        test_inputs, test_labels = self.pictures.images("test")
        rows = min(self.train, len(labels) // 2)
        learned = slice(max(rows, len(labels) - self.learned), None)
        digest = hashlib.sha256(f"{VERSION} {self!r} {torch.__version__}".encode())
        for part in (inputs, labels, test_inputs):
            digest.update(np.ascontiguousarray(part).data)
        place = files.folder() / FOLDER / f"{self.name}-{digest.hexdigest()[:16]}.npz"
        if not (features := _read(place)):
            scaling = channel_scaling(inputs[learned])
            body = _trained(self, as_inputs(inputs[learned], scaling), labels[learned])
            images = {"train": inputs[:rows], "test": test_inputs[: self.test]}
            features = {k: _features(body, as_inputs(v, scaling)) for k, v in images.items()}
            content = io.BytesIO()
            np.savez(content, train=features["train"], test=features["test"])
            write_whole(place, content.getvalue())
        return Table(
            features["train"],
            labels[:rows].astype(np.float64),
            features["test"],
            test_labels[: self.test].astype(np.float64),
            classes=self.classes,
        )

    @cached(2)
    def load(self, fold: int) -> Dataset:
        """Return the features, standardised on the training rows."""
        return tables.standardised(self.table(fold), ("class", ""), self.origin, self.licence)

    def missing(self) -> tuple[str, ...]:
        """Return the images' missing files."""
        return self.pictures.missing()

    def fetch(self) -> None:
        """Download the images' missing files."""
        self.pictures.fetch()

    def fallbacks(self) -> "tuple[Features, ...]":
        """Return the features of the images' fallbacks."""
        return tuple(replace(self, pictures=pictures) for pictures in self.pictures.fallbacks())


def _read(place: Path) -> dict[str, np.ndarray]:
    """Return a file's arrays; empty if it is missing or damaged, so that they are recomputed."""
    try:
        return npz.arrays_of(place)
    except (OSError, ValueError, EOFError):
        return {}


def _trained(features: Features, inputs: Tensor, labels: np.ndarray) -> nn.Module:
    """Return the layers before the last, trained on one thread so that all machines agree."""
    if len(labels) < 2:
        raise NothingToLearn(f"{features.pictures.name} has too few images to learn features from")
    threads, before = torch.get_num_threads(), torch.random.get_rng_state()
    torch.set_num_threads(1)
    torch.default_generator.manual_seed(0)
    try:
        first, second = CHANNELS
        body = nn.Sequential(
            *(nn.Conv2d(inputs.shape[1], first, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
            *(nn.Conv2d(first, second, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
            *(nn.Conv2d(second, second, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(2)),
            *(nn.Flatten(), nn.Linear(4 * second, features.width), nn.ReLU()),
        )
        network = nn.Sequential(body, nn.Linear(features.width, features.classes))
        steps = -(-len(inputs) // BATCH) * features.epochs
        optimiser = torch.optim.AdamW(network.parameters(), RATE)
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, steps)
        targets = torch.from_numpy(labels.astype(np.int64))
        with torch.enable_grad():
            for _ in range(features.epochs):
                for rows in torch.randperm(len(inputs)).split(BATCH):
                    optimiser.zero_grad()
                    functional.cross_entropy(network(inputs[rows]), targets[rows]).backward()
                    optimiser.step()
                    schedule.step()
        return body.eval()
    finally:
        torch.random.set_rng_state(before)
        torch.set_num_threads(threads)


@torch.no_grad()
def _features(body: nn.Module, inputs: Tensor) -> np.ndarray:
    return torch.cat([body(rows) for rows in inputs.split(500)]).double().numpy()
