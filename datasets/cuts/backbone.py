"""A convolutional network trained on CIFAR-10, whose features are inputs of other networks.

Its weights are in `backbone.npz` beside this file, in half precision. `docs/generate/backbone.py`
trained it on all training images except for the first 2,000.
"""

import functools
import hashlib
import io
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float, UInt8
from torch import nn

from bnnbench.datasets.base import Scaling
from bnnbench.datasets.reading import files, npz
from bnnbench.datasets.reading.images import as_inputs
from bnnbench.datasets.reading.whole_files import write_whole

WIDTHS = (32, 128, 128)
"""Channels of the three blocks; the last is the number of features."""

UNSEEN = 2000
"""The first training images, on which the network was not trained."""

SCALING = Scaling(
    torch.tensor([0.4914, 0.4822, 0.4465]).view(3, 1, 1),
    torch.tensor([0.2470, 0.2435, 0.2616]).view(3, 1, 1),
)
"""Mean and standard deviation of the channels of the training images, on the scale of [0, 1]."""

SHAPE = (32, 32, 3)
WEIGHTS = Path(__file__).with_name("backbone.npz")
FOLDER = "features"
BATCH = 500


def layers() -> nn.Sequential:
    """Return the layers up to the features, with random weights."""
    first, second, third = WIDTHS
    return nn.Sequential(
        *(nn.Conv2d(3, 24, 2), nn.BatchNorm2d(24), nn.GELU()),
        *(_block(24, first), _block(first, second), _block(second, third)),
        *(nn.AdaptiveMaxPool2d(1), nn.Flatten()),
    )


def features_of(
    images: UInt8[np.ndarray, "points height width channels"],
) -> Float[np.ndarray, "points 128"]:
    """Return the features of colour images of 32 x 32 pixels.

    They are kept in the data folder. Raises ValueError for images of another shape.
    """
    if images.shape[1:] != SHAPE:
        got = " x ".join(map(str, images.shape[1:]))
        raise ValueError(f"needed colour images of 32 x 32 pixels for the network; got {got}")
    digest = hashlib.sha256(_digest().encode())
    digest.update(np.ascontiguousarray(images).data)
    place = files.folder() / FOLDER / f"{digest.hexdigest()[:24]}.npz"
    try:
        return npz.arrays_of(place)["features"]
    except (OSError, ValueError, EOFError, KeyError):  # missing or damaged: computed anew
        features = computed(_trained(), images)
        content = io.BytesIO()
        np.savez(content, features=features)
        write_whole(place, content.getvalue())
        return features


@torch.no_grad()
def computed(
    network: nn.Module, images: UInt8[np.ndarray, "points 32 32 3"]
) -> Float[np.ndarray, "points outputs"]:
    """Return a network's outputs for images."""
    parts = [images[start : start + BATCH] for start in range(0, len(images), BATCH)]
    return torch.cat([network(as_inputs(part, SCALING)) for part in parts]).double().numpy()


def _block(inputs: int, outputs: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, 3, padding=1, bias=False),
        *(nn.MaxPool2d(2), nn.BatchNorm2d(outputs), nn.GELU()),
        nn.Conv2d(outputs, outputs, 3, padding=1, bias=False),
        *(nn.BatchNorm2d(outputs), nn.GELU()),
    )


@functools.cache
def _digest() -> str:
    return hashlib.sha256(WEIGHTS.read_bytes()).hexdigest()


@functools.cache
def _trained() -> nn.Sequential:
    network, arrays = layers(), npz.arrays_of(WEIGHTS)
    network.load_state_dict({name: torch.from_numpy(array) for name, array in arrays.items()})
    return network.eval()
