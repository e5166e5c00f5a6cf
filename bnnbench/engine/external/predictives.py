"""Checked arrays as predictive classes."""

import torch

from bnnbench.engine.external.forms import Prediction
from bnnbench.engine.run.packing import kind_of
from bnnbench.methods.predictions.base import Predictive


def predictive_of(prediction: Prediction) -> Predictive:
    """Return the prediction as an instance of the class named by its kind."""
    arrays = {name: torch.from_numpy(array) for name, array in prediction.arrays.items()}
    return kind_of(prediction.kind).unpack(arrays)
