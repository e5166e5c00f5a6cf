"""Standardised data sets from raw images."""

import dataclasses
from typing import TypeAlias

import numpy as np
import torch
from jaxtyping import Float, Int, UInt8
from torch import Tensor

from bnnbench.datasets.base import Categorical, Dataset, ImageSource, Scaling, Split, check_fold
from bnnbench.datasets.facts import Rows, facts_of
from bnnbench.datasets.origins import Origin
from bnnbench.datasets.reading.scales import is_constant

CHUNK = 100
"""Number of images converted at a time, to bound memory."""

Labelled: TypeAlias = tuple[
    UInt8[np.ndarray, "points height width channels"], Int[np.ndarray, " points"]
]


def load(source: ImageSource, fold: int) -> Dataset:
    """Return the fold of an image source, standardised.

    Raises ValueError if the source has no labels.
    """
    check_fold(source, fold)
    if not source.classes:
        raise ValueError(f"{source.name} has no labels: use it only as test images")
    return standardised(
        source.images("train"), source.images("test"), source.classes, source.origin, source.licence
    )


def standardised(
    train: Rows,
    test: Rows,
    classes: int,
    origin: Origin,
    licence: str,
    scaling: Scaling | None = None,
) -> Dataset:
    """Return images with channels standardised by the training images' mean and std.

    A given scaling replaces them.
    """
    fixed = scaling is not None
    scaling = scaling or channel_scaling(train[0])
    dataset = Dataset(
        train=Split(as_inputs(train[0], scaling), torch.tensor(train[1])),
        test=Split(as_inputs(test[0], scaling), torch.tensor(test[1])),
        likelihood=Categorical(classes),
        origin=origin,
        scaling=scaling,
    )
    rows = (_planes(train[0]), train[1]), (_planes(test[0]), test[1])
    facts = facts_of(dataset, *rows, licence, [_described(scaling, fixed)])
    return dataclasses.replace(dataset, facts=facts)


def channel_scaling(images: UInt8[np.ndarray, "points height width channels"]) -> Scaling:
    """Return each channel's mean and std over all pixels, on the scale of [0, 1].

    The sums are of integers and exact in float64, whatever their order.
    """
    channels = images.shape[-1]
    total, squares = np.zeros(channels), np.zeros(channels)
    for start in range(0, len(images), CHUNK):
        planes = _planes(images[start : start + CHUNK]).astype(np.float64, order="C")
        total += planes.sum((0, 2, 3))
        squares += np.einsum("pchw,pchw->c", planes, planes)
    count = images.size / channels
    mean = total / count
    std = np.sqrt(np.maximum(squares / count - mean**2, 0.0))
    std[is_constant(mean, std, int(count))] = 255.0  # a constant channel keeps its scale
    return Scaling(*(torch.tensor(values / 255).view(-1, 1, 1) for values in (mean, std)))


def as_inputs(
    images: UInt8[np.ndarray, "points height width channels"], scaling: Scaling
) -> Float[Tensor, "points channels height width"]:
    """Return raw images as inputs of a network that was trained under `scaling`."""
    points, height, width, channels = images.shape
    inputs = torch.empty(points, channels, height, width)
    for start in range(0, points, CHUNK):
        planes = _planes(images[start : start + CHUNK]).astype(np.float32, order="C")
        inputs[start : start + CHUNK] = scaling.apply(torch.from_numpy(planes).div_(255))
    return inputs


def _described(scaling: Scaling, fixed: bool) -> str:
    mean, std = (
        ", ".join(f"{value:.4g}" for value in part.flatten()) for part in vars(scaling).values()
    )
    whose = "fixed numbers" if fixed else "the training pixels' mean and deviation"
    return f"inputs: intensities in [0, 1], each channel less {mean}, over {std} ({whose})"


def _planes(images: np.ndarray) -> np.ndarray:
    """Return the view with channels first, the order in most image files."""
    return images.transpose(0, 3, 1, 2)
