"""How far the statistic of a single pixel is from the statistics of the training set.

Source: paper 001, section 4 ("Dataset Statistics and Analytic Normalization") and table 4.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from bnnbench.datasets.base import Dataset
from bnnbench.methods.moment_propagation.approximation import ApproximatePosterior
from bnnbench.methods.moments.base import Moments
from bnnbench.methods.moments.layerwise import Layerwise, layer_names
from bnnbench.methods.moments.single_pixel import Pixel, single_pixel_rules
from bnnbench.metrics.moments import RunningMoments, SampledUnits
from bnnbench.suites.probes.moment_accuracy import layer_scores, units

ROWS_AT_ONCE = 500
"""To bound memory."""


@dataclass(frozen=True)
class DatasetStatistics:
    """Errors in each channel's mean and deviation over data and positions, behind every layer.

    The truth are the training inputs that pass through the network without noise.
    """

    def measure(
        self, posterior: ApproximatePosterior, dataset: Dataset, rng: torch.Generator
    ) -> Mapping[str, Mapping[str, float]]:
        """Return "layer_1_C" and the like → metric → value."""
        inputs = dataset.train.inputs.to(rng.device)
        truth, found = self.truth(posterior, inputs), pixels(posterior, inputs)
        return {f"layer_{name}": layer_scores(units(found[name]), truth[name]) for name in truth}

    @torch.no_grad()
    def truth(
        self, posterior: ApproximatePosterior, inputs: Float[Tensor, "points *features"]
    ) -> dict[str, SampledUnits]:
        """Return mean and deviation of every named layer's channels."""
        trained, names = posterior.trained, layer_names(posterior.architecture)
        network = Layerwise(posterior.architecture, trained.network.input_shape)
        running = {name: RunningMoments() for name in names}
        for points in inputs.split(ROWS_AT_ONCE):
            layers = network(trained.weights, points[None], buffers=trained.buffers, noise="off")
            for name, place in names.items():
                channels = layers[place][0].movedim(1, -1)
                running[name].add(channels.reshape(-1, channels.shape[-1]))
        return {name: moments.population() for name, moments in running.items()}


@torch.no_grad()
def pixels(
    posterior: ApproximatePosterior, inputs: Float[Tensor, "points *features"]
) -> dict[str, Moments]:
    """Return the moments of every named layer's channels that follow from those of the inputs."""
    trained = posterior.trained
    rules = single_pixel_rules(posterior.formulas)
    network = Layerwise(posterior.architecture, trained.network.input_shape, rules)
    found = network(trained.weights, Pixel.of_data([inputs]), buffers=trained.buffers)
    layers = [pixel.moments for pixel in found]
    return {
        name: Moments(layers[place].mean[0], _first(layers[place].variance))
        for name, place in layer_names(posterior.architecture).items()
    }


def _first(variance: Tensor | None) -> Tensor | None:
    return None if variance is None else variance[0]
