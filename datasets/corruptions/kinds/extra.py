"""Two of the four corruptions for validation: spatter of water or mud, and saturation."""

import numpy as np

from bnnbench.datasets.corruptions.levels import SIDE, Images, Planes, intensities, levels
from bnnbench.datasets.corruptions.operations import filters, water
from bnnbench.datasets.corruptions.operations.colour import from_hsv, hue_saturation_value

WATER = np.array([175, 238, 238]) / 255
MUD = np.array([63, 42, 20]) / 255


def spatter(
    images: Images,
    normal: Planes,
    mean: float,
    std: float,
    smoothing: float,
    threshold: float,
    strength: float,
    mud: float,
) -> Images:
    """Return the images under a thin film of water or behind spots of mud."""
    x = intensities(images, np.float32)
    liquid = filters.gaussian(mean + std * normal, smoothing)
    liquid = np.where(liquid < threshold, 0.0, liquid)
    if mud:
        mask = filters.gaussian((liquid > threshold).astype(np.float32), strength)
        mask = np.where(mask < 0.8, np.float32(0), mask)[..., None]
        return levels(x * (1 - mask) + mask * MUD)
    film = water.film(levels(liquid), strength)[..., None]
    return levels(x + film * WATER)


def draw_liquid(rng: np.random.Generator, image: np.ndarray, *_: float) -> tuple[np.ndarray]:
    """Return standard normals for the liquid over one image."""
    return (rng.standard_normal((SIDE, SIDE)),)


def saturate(images: Images, factor: float, added: float) -> Images:
    """Return the images with their saturations (of hue, saturation and value) changed."""
    hue, saturation, value = hue_saturation_value(intensities(images))
    return levels(from_hsv(hue, (factor * saturation + added).clip(0, 1), value))
