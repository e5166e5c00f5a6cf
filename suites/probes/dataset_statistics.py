"""Errors of single-pixel statistics against the statistics of the training set.

Source: paper 001, section 4 ("Dataset Statistics and Analytic Normalization") and table 4.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from bnnbench.datasets.base import Dataset
from bnnbench.engine.declare.probe import Measured
from bnnbench.methods.moment_propagation.approximation import ApproximatePosterior
from bnnbench.methods.moments.base import Moments
from bnnbench.methods.moments.layerwise import LayerName, Layerwise, layer_names
from bnnbench.methods.moments.single_pixel import Pixel, single_pixel_rules
from bnnbench.metrics.moments import RunningMoments, SampledUnits
from bnnbench.suites.probes.moment_accuracy import measured_layer, units

ROWS_AT_ONCE = 500
"""Maximum number of rows in one pass, to bound memory."""


@dataclass(frozen=True)
class DatasetStatistics:
    """Errors in each channel's mean and deviation over data and positions, after every layer.

    The truth comes from the training inputs, passed through the network without noise.
    """

    def measure(
        self, posterior: ApproximatePosterior, dataset: Dataset, rng: torch.Generator
    ) -> Mapping[str, Measured]:
        """Return names such as "layer_1_C" → errors of that layer."""
        inputs = dataset.train.inputs.to(rng.device)
        truth, estimates = self.truth(posterior, inputs), pixels(posterior, inputs)
        return dict(measured_layer(name, units(estimates[name]), truth[name]) for name in truth)

    @torch.no_grad()
    def truth(
        self, posterior: ApproximatePosterior, inputs: Float[Tensor, "points *features"]
    ) -> dict[LayerName, SampledUnits]:
        """Return mean and standard deviation of every named layer's channels."""
        trained, names = posterior.trained, layer_names(posterior.architecture)
        network = Layerwise(posterior.architecture, trained.network.input_shape)
        running = {name: RunningMoments() for name in names}
        for points in inputs.split(ROWS_AT_ONCE):
            layers = network(trained.weights, points[None], buffers=trained.buffers, noise="off")
            for name, index in names.items():
                channels = layers[index][0].movedim(1, -1)
                running[name].add(channels.reshape(-1, channels.shape[-1]))
        return {name: moments.population() for name, moments in running.items()}


@torch.no_grad()
def pixels(
    posterior: ApproximatePosterior, inputs: Float[Tensor, "points *features"]
) -> dict[LayerName, Moments]:
    """Return the moments of every named layer's channels, propagated from the inputs' moments."""
    trained = posterior.trained
    rules = single_pixel_rules(posterior.formulas)
    network = Layerwise(posterior.architecture, trained.network.input_shape, rules)
    moments = network(trained.weights, Pixel.of_data([inputs]), buffers=trained.buffers)
    layers = [pixel.moments for pixel in moments]
    return {
        name: Moments(layers[index].mean[0], _first(layers[index].variance))
        for name, index in layer_names(posterior.architecture).items()
    }


def _first(variance: Tensor | None) -> Tensor | None:
    return None if variance is None else variance[0]
