"""Checked arrays as predictive classes."""

import torch

from bnnbench.methods.predictions.base import Predictive
from bnnbench.suites.engine.elsewhere.forms import Prediction
from bnnbench.suites.engine.run.packing import kind_of


def predictive_of(prediction: Prediction) -> Predictive:
    """Return the prediction as the class that its kind names."""
    arrays = {name: torch.from_numpy(array) for name, array in prediction.arrays.items()}
    return kind_of(prediction.kind).unpack(arrays)
