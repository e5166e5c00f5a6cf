"""Errors of propagated moments against samples, layer by layer.

Source: paper 001, section 4 and tables 2 and 3.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from bnnbench.datasets.base import Dataset
from bnnbench.datasets.conditions import condition_names
from bnnbench.datasets.conditions.traits import Traits
from bnnbench.engine.declare.probe import Measured
from bnnbench.methods.fitting.memo import Memo, content
from bnnbench.methods.moment_propagation.approximation import ApproximatePosterior
from bnnbench.methods.moments.base import Moments
from bnnbench.methods.moments.layerwise import LayerName, layer_names
from bnnbench.methods.moments.units.softmax import Softmax, log_probabilities
from bnnbench.methods.networks.shapes import output_shapes
from bnnbench.metrics import PROBED
from bnnbench.metrics.moments import RunningMoments, SampledUnits, Units

ROWS_AT_ONCE, NUMBERS_AT_ONCE = 512, 2**27
"""Maximum number of rows (samples times images) in one pass through the network, and of outputs of
all its layers for them, to bound memory."""

SOFTMAX = "softmax"
"""Name for the class probabilities among the layer names."""


@dataclass(frozen=True)
class MomentAccuracy:
    """Errors in mean and deviation after every layer, and of the class probabilities.

    The truth comes from `samples` runs through the network with its noise, for each of the first
    `images` of the test set. A layer without randomness has no errors and is omitted.
    """

    images: int = 100
    samples: int = 1000
    merge_first: bool = True
    """True if the first layer and its activation count as one, as in table 2."""

    def __post_init__(self) -> None:
        if self.images < 1 or self.samples < 2:
            raise ValueError(
                f"needed at least 1 image and 2 samples; got {self.images} and {self.samples}"
            )

    def measure(
        self, posterior: ApproximatePosterior, dataset: Dataset, rng: torch.Generator
    ) -> Mapping[str, Measured]:
        """Return names such as "layer_1_CA" and "softmax_full" → errors there."""
        images = dataset.test.inputs[: self.images].to(rng.device)
        truth = self.truth(posterior, images, rng)
        moments = posterior.layers(images)
        measured: dict[str, Measured] = {}
        for name, index in layer_names(posterior.architecture, self.merge_first).items():
            if truth[name].std.any():
                measured |= [measured_layer(name, units(moments[index]), truth[name])]
        return measured | dict(measured_softmax(moments[-1], truth[SOFTMAX]))

    def truth(
        self,
        posterior: ApproximatePosterior,
        images: Float[Tensor, "images *features"],
        rng: torch.Generator,
    ) -> dict[LayerName | str, SampledUnits]:
        """Return the sampled moments of every named layer, and of the class probabilities.

        Posteriors with equal weights and streams are sampled once per process.
        """
        trained = posterior.trained
        state = content(trained.weights, trained.buffers, images, rng.get_state())
        of = (self, posterior.architecture, state)
        return _last.get(of, lambda: self._sampled(posterior, images, rng))

    def _sampled(
        self, posterior: ApproximatePosterior, images: Tensor, rng: torch.Generator
    ) -> dict[LayerName | str, SampledUnits]:
        names = layer_names(posterior.architecture, self.merge_first)
        running = {name: RunningMoments() for name in (*names, SOFTMAX)}
        shapes = output_shapes(posterior.architecture, tuple(images.shape[1:]))
        rows_at_once = min(ROWS_AT_ONCE, NUMBERS_AT_ONCE // sum(map(math.prod, shapes)))
        for count in in_parts(self.samples, max(1, rows_at_once // len(images))):
            rows = images.repeat(count, *[1] * (images.dim() - 1))
            outputs_of_layers = posterior.samples(rows, rng)
            for name, index in names.items():
                running[name].add(outputs_of_layers[index].unflatten(0, (count, len(images))))
            probabilities = outputs_of_layers[-1].double().softmax(-1)
            running[SOFTMAX].add(probabilities.unflatten(0, (count, len(images))))
        return {name: moments.units() for name, moments in running.items()}


_last: Memo[dict[LayerName | str, SampledUnits]] = Memo(keep=20)
"""Sampled units of as many seeds as are fitted together; several methods share a seed's units."""


def in_parts(total: int, most: int) -> Iterator[int]:
    """Yield numbers of at most `most` that sum to `total`."""
    while total > 0:
        yield min(total, most)
        total -= most


def units(moments: Moments) -> Units:
    """Return means and standard deviations; the latter None if the variance is unknown."""
    return Units(moments.mean, None if moments.variance is None else moments.variance.sqrt())


def measured_layer(name: LayerName, estimate: Units, truth: SampledUnits) -> tuple[str, Measured]:
    """Return the errors of one layer; errors of deviations only if these are propagated."""
    metrics = ["eps_mu", "eps_mu_floor"]
    metrics += ["eps_sigma", "excluded_share"] if estimate.std is not None else []
    scores = {metric: float(PROBED[metric].score(estimate, truth)) for metric in metrics}
    traits = Traits(f"layer {name.number}", layer=name.number, layer_kind=name.kind)
    return condition_names.layer(*name), Measured(scores, traits)


def measured_softmax(logits: Moments, truth: SampledUnits) -> Iterator[tuple[str, Measured]]:
    """Yield the divergence of class probabilities, for both formulas of the paper."""
    rules: dict[str, Softmax] = {SOFTMAX: "simplified"}
    if logits.variance is not None:
        rules = {f"{SOFTMAX}_simplified": "simplified", f"{SOFTMAX}_full": "logistic"}
    for name, rule in rules.items():
        log_probs = log_probabilities(logits, rule)
        scores = {n: PROBED[n].score(log_probs, truth) for n in ("kl_class_posterior", "kl_floor")}
        traits = Traits(name.replace("_", " "))
        yield name, Measured({n: float(score) for n, score in scores.items()}, traits)
