"""The nineteen corruptions of CIFAR-10-C at five severities, for any 32x32 colour images.

Source: Hendrycks and Dietterich (2019), "Benchmarking Neural Network Robustness to Common
Corruptions and Perturbations".
"""

import difflib
import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from bnnbench.datasets.corruptions.constants import CONSTANTS, SEVERITIES
from bnnbench.datasets.corruptions.kinds import blur, digital, extra, noise, weather
from bnnbench.datasets.corruptions.levels import SIDE, Images

CHUNK = 100
"""Number of images corrupted at a time; they fit in the processor's cache."""

Draw = Callable[..., tuple[np.ndarray | float, ...]]


@dataclass(frozen=True)
class Corruption:
    """A corruption: a function of images and random draws for each of them.

    `apply(images, *draws, *constants)` returns images. `draw(rng, image, *constants)` returns the
    draws for one image; it is None for a deterministic corruption.
    """

    apply: Callable[..., Images]
    draw: Draw | None = None


CORRUPTIONS: Mapping[str, Corruption] = {
    "gaussian_noise": Corruption(noise.gaussian_noise, noise.draw_normal),
    "shot_noise": Corruption(noise.shot_noise, noise.draw_photons),
    "impulse_noise": Corruption(noise.impulse_noise, noise.draw_uniform),
    "defocus_blur": Corruption(blur.defocus_blur),
    "glass_blur": Corruption(blur.glass_blur, blur.draw_shifts),
    "motion_blur": Corruption(blur.motion_blur, blur.draw_degrees),
    "zoom_blur": Corruption(blur.zoom_blur),
    "snow": Corruption(weather.snow, weather.draw_snow),
    "frost": Corruption(weather.frost, weather.draw_place),
    "fog": Corruption(weather.fog, weather.draw_fractal),
    "brightness": Corruption(weather.brightness),
    "contrast": Corruption(digital.contrast),
    "elastic_transform": Corruption(digital.elastic_transform, digital.draw_warp),
    "pixelate": Corruption(digital.pixelate),
    "jpeg_compression": Corruption(digital.jpeg_compression),
    "speckle_noise": Corruption(noise.speckle_noise, noise.draw_normal),
    "gaussian_blur": Corruption(blur.gaussian_blur),
    "spatter": Corruption(extra.spatter, extra.draw_liquid),
    "saturate": Corruption(extra.saturate),
}
"""Corruptions in the customary order: noise, blur, weather, digital, extra."""

EXTRA = ("speckle_noise", "gaussian_blur", "spatter", "saturate")
"""Corruptions for choosing settings; scores are means over the other fifteen, or over all."""

TEST = tuple(name for name in CORRUPTIONS if name not in EXTRA)


def check(name: str, severity: int) -> None:
    """Raise ValueError unless the corruption and the severity exist."""
    if name not in CORRUPTIONS:
        near = difflib.get_close_matches(name, CORRUPTIONS, 1)
        hint = f"do you mean {near[0]}?" if near else f"there are {', '.join(CORRUPTIONS)}"
        raise ValueError(f"no corruption {name!r}: {hint}")
    if severity not in SEVERITIES:
        raise ValueError(f"a severity must be an integer from 1 to 5; got {severity!r}")


def corrupt(images: np.ndarray, name: str, severity: int, seed: int = 0, first: int = 0) -> Images:
    """Return corrupted copies of 32x32 colour images with 8-bit levels.

    The draws for an image depend only on `seed`, `name`, `severity` and its number, counted from
    `first`, so images can be corrupted in batches. Raises ValueError for images of another kind,
    and DataUnavailable if the textures for frost are missing.
    """
    check(name, severity)
    if images.shape[1:] != (SIDE, SIDE, 3) or images.dtype != np.uint8:
        raise ValueError(
            f"corruptions need {SIDE}x{SIDE} colour images in 8 bits, of shape "
            f"(points, {SIDE}, {SIDE}, 3); got {images.dtype} of shape {images.shape}"
        )
    corrupted = np.empty(images.shape, np.uint8)
    for start in range(0, len(images), CHUNK):
        chunk = slice(start, start + CHUNK)
        rngs = _streams(seed, name, severity, first + start)
        corrupted[chunk] = _corrupted(np.ascontiguousarray(images[chunk]), name, severity, rngs)
    return corrupted


def _corrupted(
    images: Images, name: str, severity: int, rngs: Iterator[np.random.Generator]
) -> Images:
    corruption, constants = CORRUPTIONS[name], CONSTANTS[name][severity - 1]
    if corruption.draw is None:
        return corruption.apply(images, *constants)
    draws_by_image = [
        corruption.draw(rng, image, *constants) for image, rng in zip(images, rngs, strict=False)
    ]
    draws = (np.stack(one_argument) for one_argument in zip(*draws_by_image, strict=True))
    return corruption.apply(images, *draws, *constants)


def _streams(seed: int, name: str, severity: int, first: int) -> Iterator[np.random.Generator]:
    """Yield a generator for each image from number `first` on, without end.

    Their streams lie far apart in one sequence of 2**256 numbers, which the other arguments
    determine.
    """
    names = f"{seed}/{name}/{severity}".encode()
    key = int.from_bytes(hashlib.sha256(names).digest()[:16], "big")
    while True:
        yield np.random.Generator(np.random.Philox(key=key, counter=[0, 0, 0, first]))
        first += 1
