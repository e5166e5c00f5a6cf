"""Independent noise on each value: Gaussian, Poisson, impulse, and proportional to the value."""

import numpy as np
from jaxtyping import Float, Int

from bnnbench.datasets.corruptions.levels import Images, intensities, levels

Normal = Float[np.ndarray, "points 32 32 3"]


def gaussian_noise(images: Images, normal: Normal, std: float) -> Images:
    """Return x + std z."""
    return levels(intensities(images) + normal * std)


def speckle_noise(images: Images, normal: Normal, std: float) -> Images:
    """Return x + x std z."""
    x = intensities(images)
    return levels(x + x * (normal * std))


def draw_normal(rng: np.random.Generator, image: np.ndarray, *_: float) -> tuple[np.ndarray]:
    """Return standard normals z for one image."""
    return (rng.standard_normal(image.shape),)


def shot_noise(images: Images, counts: Int[np.ndarray, "points 32 32 3"], photons: float) -> Images:
    """Return the counts divided by the photon count of white."""
    return levels(counts / photons)


def draw_photons(rng: np.random.Generator, image: np.ndarray, photons: float) -> tuple[np.ndarray]:
    """Return Poisson counts with mean x times `photons` for one image."""
    return (rng.poisson(image / 255 * photons),)


def impulse_noise(
    images: Images, uniform: Float[np.ndarray, "points 32 32 3"], share: float
) -> Images:
    """Return the values, a random `share` of them replaced by black or white."""
    noisy = np.where(uniform < share, np.uint8(255), images)
    return np.where(uniform < share / 2, np.uint8(0), noisy)


def draw_uniform(rng: np.random.Generator, image: np.ndarray, *_: float) -> tuple[np.ndarray]:
    """Return a uniform number in [0, 1) for every value of one image."""
    return (rng.random(image.shape),)
