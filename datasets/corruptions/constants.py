"""Constants of each corruption on CIFAR-10-C, for severities 1 to 5.

They are for 32x32 images; the constants of ImageNet-C, found in most packages, are far too severe.
Source: Hendrycks and Dietterich (2019), "Benchmarking Neural Network Robustness to Common
Corruptions and Perturbations", and the program that made its files.
"""

from collections.abc import Mapping

SEVERITIES = range(1, 6)

CONSTANTS: Mapping[str, tuple[tuple[float, ...], ...]] = {
    # std
    "gaussian_noise": ((0.04,), (0.06,), (0.08,), (0.09,), (0.10,)),
    # photon count of white
    "shot_noise": ((500,), (250,), (100,), (75,), (50,)),
    # fraction of the values
    "impulse_noise": ((0.01,), (0.02,), (0.03,), (0.05,), (0.07,)),
    # std of the factor
    "speckle_noise": ((0.06,), (0.1,), (0.12,), (0.16,), (0.2,)),
    # std in pixels
    "gaussian_blur": ((0.4,), (0.6,), (0.7,), (0.8,), (1,)),
    # std of the blur before and after, number of times that neighbours are exchanged
    "glass_blur": ((0.05, 1), (0.25, 1), (0.4, 1), (0.25, 2), (0.4, 2)),
    # radius of the disk, std of its smoothing
    "defocus_blur": ((0.3, 0.4), (0.4, 0.5), (0.5, 0.6), (1, 0.2), (1.5, 0.1)),
    # radius, std
    "motion_blur": ((6, 1), (6, 1.5), (6, 2), (8, 2), (9, 2.5)),
    # upper end of the zoom factors
    "zoom_blur": ((1.06,), (1.11,), (1.16,), (1.21,), (1.26,)),
    # flakes: mean, std, size, threshold; motion: radius, std; share of the unwhitened image
    "snow": (
        (0.1, 0.2, 1, 0.6, 8, 3, 0.95),
        (0.1, 0.2, 1, 0.5, 10, 4, 0.9),
        (0.15, 0.3, 1.75, 0.55, 10, 4, 0.9),
        (0.25, 0.3, 2.25, 0.6, 12, 6, 0.85),
        (0.3, 0.3, 1.25, 0.65, 14, 12, 0.8),
    ),
    # weights of image and texture
    "frost": ((1, 0.2), (1, 0.3), (0.9, 0.4), (0.85, 0.4), (0.75, 0.45)),
    # amount, decay of the fractal from one scale to the next
    "fog": ((0.2, 3), (0.5, 3), (0.75, 2.5), (1, 2), (1.5, 1.75)),
    # added to the value
    "brightness": ((0.05,), (0.1,), (0.15,), (0.2,), (0.3,)),
    # factor
    "contrast": ((0.75,), (0.5,), (0.4,), (0.3,), (0.15,)),
    # in pixels: displacement, std of its smoothing, maximum shift of the three corners
    "elastic_transform": (
        (0, 0, 32 * 0.08),
        (32 * 0.05, 32 * 0.2, 32 * 0.07),
        (32 * 0.08, 32 * 0.06, 32 * 0.06),
        (32 * 0.1, 32 * 0.04, 32 * 0.05),
        (32 * 0.1, 32 * 0.03, 32 * 0.03),
    ),
    # factor of the resolution
    "pixelate": ((0.95,), (0.9,), (0.85,), (0.75,), (0.65,)),
    # quality
    "jpeg_compression": ((80,), (65,), (58,), (50,), (40,)),
    # factor and summand of the saturation
    "saturate": ((0.3, 0), (0.1, 0), (1.5, 0), (2, 0.1), (2.5, 0.2)),
    # liquid: mean, std, smoothing, threshold; strength or mask smoothing; mud (1) or water (0)
    "spatter": (
        (0.62, 0.1, 0.7, 0.7, 0.5, 0),
        (0.65, 0.1, 0.8, 0.7, 0.5, 0),
        (0.65, 0.3, 1, 0.69, 0.5, 0),
        (0.65, 0.1, 0.7, 0.69, 0.6, 1),
        (0.65, 0.1, 0.5, 0.68, 0.6, 1),
    ),
}
