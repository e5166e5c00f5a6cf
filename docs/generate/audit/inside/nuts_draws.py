"""Draws of the No-U-Turn sampler of blackjax or NumPyro: outputs at points, and precisions."""

import importlib

import jax
import numpy as np

DISTRIBUTIONS = ("blackjax", "numpyro")


class Found:
    def __init__(self, arrays):
        self.arrays, self.diagnostics = arrays, {}

    def predict(self, inputs, seed):
        return self.arrays


def fit(task):
    name = f"bnnbench.methods.libraries.inside.{task.settings['sampler']}_nuts"
    draws = importlib.import_module(name).fit(task)
    model, states, points = draws.model, draws.states, task.arrays["points"]
    outputs = jax.vmap(lambda s: model.outputs(model.weights(s), points))(states)
    found = {"outputs": np.asarray(outputs)}
    precisions = jax.vmap(lambda s: np.array(1.0) * model.precisions(s)[0])(states)
    found["prior_precision"] = np.asarray(precisions)
    noise = jax.vmap(lambda s: np.array(1.0) * model.precisions(s)[1])(states)
    found["noise_precision"] = np.asarray(noise)
    at = task.arrays["states"]
    found["log_density"] = np.array([float(model.log_density(state)) for state in at])
    return Found(found)
