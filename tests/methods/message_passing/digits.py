"""Real images without a download: scikit-learn's 8x8 digits."""

import numpy as np
from sklearn.datasets import load_digits


def digits(rng: np.random.Generator, rows: slice = slice(None)):
    """Return training digits (of 1280) and 517 test digits, normalised by two numbers."""
    images, labels = (np.asarray(part) for part in load_digits(return_X_y=True))
    order = rng.permutation(len(images))
    images, labels = images[order], labels[order]
    images = (images - images[:1280].mean()) / images[:1280].std()
    return (images[:1280][rows], labels[:1280][rows]), (images[1280:], labels[1280:])
