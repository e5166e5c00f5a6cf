"""Approximations of the Gauss-Newton matrix, from the coarsest to the matrix itself."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import torch
from jaxtyping import Float, Float64, Int
from torch import Tensor

from bnnbench.methods.fitting.network_posterior import NetworkPosterior
from bnnbench.methods.fitting.settings import require_count
from bnnbench.methods.laplace.dense_layer import (
    dense_layer_matrix,
    dense_layer_variances,
    is_one_dense_layer,
)
from bnnbench.methods.laplace.gauss_newton import (
    OfLayers,
    Spectrum,
    eigensystem,
    gauss_newton_entries,
    require_at_most,
    require_finite,
)
from bnnbench.methods.laplace.layer_recorder import Entry, LayerRecorder
from bnnbench.methods.networks.torch_network import TorchNetwork


@dataclass(frozen=True)
class Diagonal(OfLayers):
    """The diagonal of the matrix: weights are independent."""

    def spectrum(
        self,
        mode: NetworkPosterior,
        inputs: Float[Tensor, "points *features"],
        scales: Float[Tensor, " parameters"] | None = None,
    ) -> Spectrum:
        """Return the diagonal at a point estimate, over training inputs."""
        recorder = self.recorder(mode.network)
        total = torch.zeros(recorder.size, dtype=torch.float64, device=inputs.device)
        for entries in gauss_newton_entries(recorder, mode, inputs):
            total += recorder.flat([entry.squares() for entry in entries]).double()
        require_finite(total)
        places = recorder.indices(inputs.device)
        if scales is not None:
            total *= scales[places].double().square()
        return SomeWeights(recorder, total, places, None, scales=_among_all(scales, places))


@dataclass(frozen=True)
class Full(OfLayers):
    """The matrix itself, for up to `most` weights."""

    most: int = 6000

    def __post_init__(self) -> None:
        super().__post_init__()
        require_count(self, "most")

    def recorder(self, network: TorchNetwork) -> LayerRecorder:
        """Return the recorder of the layers; raises `Unsupported` for a network not covered."""
        recorder = super().recorder(network)
        require_at_most(self.most, recorder.size)
        return recorder

    def spectrum(
        self,
        mode: NetworkPosterior,
        inputs: Float[Tensor, "points *features"],
        scales: Float[Tensor, " parameters"] | None = None,
    ) -> Spectrum:
        """Return the matrix at a point estimate, over training inputs."""
        return _among(self.recorder(mode.network), mode, inputs, None, scales)


@dataclass(frozen=True)
class Subnetwork:
    """The matrix of the `size` weights of largest variance by its diagonal; others are fixed.

    Source: Daxberger et al. (2021), "Bayesian Deep Learning via Subnetwork Inference". One
    difference: weights that affect no output at any training input, such as those of dead units,
    are taken last, although they have the prior's variance, the largest of all. A posterior over
    only such weights is uninformative, and its evidence is maximal for a prior precision of 0.
    """

    size: int = 100

    def __post_init__(self) -> None:
        require_count(self, "size")

    def recorder(self, network: TorchNetwork) -> LayerRecorder:
        """Return the recorder of the layers; raises `Unsupported` for a network not covered."""
        return LayerRecorder(network)

    def spectrum(
        self,
        mode: NetworkPosterior,
        inputs: Float[Tensor, "points *features"],
        scales: Float[Tensor, " parameters"] | None = None,
    ) -> Spectrum:
        """Return the matrix of the weights that the diagonal at a point estimate selects."""
        diagonal = Diagonal().spectrum(mode, inputs, scales)
        curvature = diagonal.eigenvalues
        order = curvature.masked_fill(curvature == 0, torch.inf).sort(stable=True).indices
        return _among(diagonal.recorder, mode, inputs, order[: self.size].sort().values, scales)


@dataclass(frozen=True)
class SomeWeights:
    """A symmetric matrix over some of the recorder's weights."""

    recorder: LayerRecorder
    eigenvalues: Float64[Tensor, " directions"]
    places: Int[Tensor, " directions"]
    """Positions of the weights in flat vectors of all weights."""
    vectors: Float64[Tensor, "directions directions"] | None
    """Eigenvectors in columns; None for a diagonal over all of the recorder's weights."""
    chosen: Int[Tensor, " directions"] | None = None
    """Selection of the recorder's weights; None for all."""
    scales: Float[Tensor, " directions"] | None = None
    """Units in which the matrix measures the weights; None for 1."""

    def jacobian(self, entries: Sequence[Entry]) -> Float[Tensor, "points outputs directions"]:
        """Return the derivatives of the outputs along the eigenvectors."""
        slopes = _jacobian(self.recorder, entries)
        if self.chosen is not None:
            slopes = slopes[..., self.chosen]
        if self.scales is not None:
            slopes = slopes * self.scales
        return slopes if self.vectors is None else slopes @ self.vectors.to(slopes.dtype)

    def output_variances(
        self, variances: Float[Tensor, " directions"]
    ) -> Callable[[Sequence[Entry]], Float[Tensor, "points outputs"]]:
        """Return the function from entries to output variances, given variances of coordinates."""
        scales, vectors = self.scales, self.vectors
        if vectors is None:
            independent = variances if scales is None else variances * scales.square()
            return partial(self._of_independent, independent)
        if self.chosen is None and is_one_dense_layer(self.recorder):
            scaled = vectors if scales is None else vectors * scales[:, None]
            return dense_layer_variances(self.recorder.blocks[0], scaled, variances)
        return lambda entries: (self.jacobian(entries).square() * variances).sum(-1)

    def _of_independent(
        self, variances: Float[Tensor, " directions"], entries: Sequence[Entry]
    ) -> Float[Tensor, "points outputs"]:
        blocks = self.recorder.blocks
        parts = variances.split([block.size for block in blocks])
        return torch.stack([
            entry.weighted_squares(block.matrix(part))
            for entry, block, part in zip(entries, blocks, parts, strict=True)
        ]).sum(0)  # fmt: skip

    def weights(
        self, coordinates: Float[Tensor, "draws directions"], total: int
    ) -> Float[Tensor, "draws parameters"]:
        """Return coordinates along the eigenvectors as changes of all `total` weights."""
        vectors = self.vectors
        changes = coordinates if vectors is None else coordinates @ vectors.mT.to(coordinates.dtype)
        if self.scales is not None:
            changes = changes * self.scales
        all_weights = coordinates.new_zeros(len(coordinates), total)
        all_weights[:, self.places] = changes
        return all_weights

    def covered(self, weights: Float[Tensor, " parameters"]) -> Float[Tensor, " directions"]:
        """Return the weights that are not fixed, in their units."""
        covered = weights[self.places]
        return covered if self.scales is None else covered / self.scales


def _among(
    recorder: LayerRecorder,
    mode: NetworkPosterior,
    inputs: Float[Tensor, "points *features"],
    chosen: Int[Tensor, " directions"] | None,
    scales: Float[Tensor, " parameters"] | None,
) -> SomeWeights:
    """Return the matrix of the chosen weights of the recorder; None means all."""
    places = recorder.indices(inputs.device)
    places = places if chosen is None else places[chosen]
    if chosen is None and is_one_dense_layer(recorder):
        total = dense_layer_matrix(recorder, mode, inputs)
    else:
        total = torch.zeros(len(places), len(places), dtype=torch.float64, device=inputs.device)
        for entries in gauss_newton_entries(recorder, mode, inputs):
            rows = _rows(recorder, entries)
            rows = (rows if chosen is None else rows[:, chosen]).double()
            total += rows.mT @ rows
    units = _among_all(scales, places)
    if units is not None:
        total *= units.double().outer(units.double())
    eigenvalues, vectors = eigensystem(total)
    return SomeWeights(recorder, eigenvalues, places, vectors, chosen, units)


def _among_all(
    scales: Float[Tensor, " parameters"] | None, places: Int[Tensor, " directions"]
) -> Float[Tensor, " directions"] | None:
    return None if scales is None else scales[places]


def _jacobian(
    recorder: LayerRecorder, entries: Sequence[Entry]
) -> Float[Tensor, "points directions weights"]:
    return recorder.flat([entry.jacobian() for entry in entries])


def _rows(recorder: LayerRecorder, entries: Sequence[Entry]) -> Float[Tensor, "rows weights"]:
    return _jacobian(recorder, entries).flatten(0, 1)
