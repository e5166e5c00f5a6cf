r"""The common interface of approximations of the Gauss-Newton matrix.

$H = \sum_n J_n^T \Lambda_n J_n$, where J is the Jacobian of a network's outputs with respect to its
weights and Λ the Hessian of the negative log likelihood with respect to the outputs. For the
likelihoods here it is also the Fisher information matrix.

Source: Martens (2020), "New Insights and Perspectives on the Natural Gradient Method".
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, get_args, runtime_checkable

import torch
from jaxtyping import Float, Float64
from torch import Tensor

from bnnbench.methods.base import InferenceDiverged, Unsupported
from bnnbench.methods.fitting.network_posterior import NetworkPosterior
from bnnbench.methods.fitting.settings import require_choice
from bnnbench.methods.laplace.layer_recorder import Entry, LayerRecorder
from bnnbench.methods.laplace.likelihood import hessian_root
from bnnbench.methods.networks.torch_network import TorchNetwork

Layers = Literal["all", "last"]
POINTS_AT_ONCE = 250
VALUES_AT_ONCE = 2**23
"""Number of values in a chunk, to bound memory; a few times as many are in memory at once."""


@runtime_checkable
class Spectrum(Protocol):
    """Eigenvalues of an approximate Gauss-Newton matrix, and a basis of its eigenvectors.

    The noise of a regression is assumed to have variance 1.
    """

    @property
    def recorder(self) -> LayerRecorder: ...

    @property
    def eigenvalues(self) -> Float64[Tensor, " directions"]: ...

    def jacobian(self, entries: Sequence[Entry]) -> Float[Tensor, "points outputs directions"]:
        """Return the derivatives of the outputs along the eigenvectors."""
        ...

    def output_variances(
        self, variances: Float[Tensor, " directions"]
    ) -> Callable[[Sequence[Entry]], Float[Tensor, "points outputs"]]:
        """Return the function from entries to output variances, given variances of coordinates."""
        ...

    def weights(
        self, coordinates: Float[Tensor, "draws directions"], total: int
    ) -> Float[Tensor, "draws parameters"]:
        """Return coordinates along the eigenvectors as changes of all `total` weights."""
        ...

    def covered(self, weights: Float[Tensor, " parameters"]) -> Float[Tensor, " directions"]:
        """Return the weights that are not fixed, in the matrix's units."""
        ...


@runtime_checkable
class Structure(Protocol):
    """An approximation of the Gauss-Newton matrix: the weights it covers, and their dependence."""

    def recorder(self, network: TorchNetwork) -> LayerRecorder:
        """Return the recorder of the layers; raises `Unsupported` for a network not covered."""
        ...

    def spectrum(
        self,
        mode: NetworkPosterior,
        inputs: Float[Tensor, "points *features"],
        scales: Float[Tensor, " parameters"] | None = None,
    ) -> Spectrum:
        """Return the matrix at a point estimate, over training inputs.

        Its weights are divided by `scales`; no scales means 1. Raises `Unsupported` for scales if
        the structure needs one for all weights.
        """
        ...


@dataclass(frozen=True)
class OfLayers:
    """A structure over the weights of all layers, or of the last."""

    layers: Layers = "all"

    def __post_init__(self) -> None:
        require_choice(self, "layers", get_args(Layers))

    def recorder(self, network: TorchNetwork) -> LayerRecorder:
        """Return the recorder of the layers; raises `Unsupported` for a network not covered."""
        return LayerRecorder(network, self.layers == "last")


def values_per_point(recorder: LayerRecorder, outputs: int) -> int:
    """Return the number of values in the recorder's Jacobian and its factors, per point."""
    return sum(
        b.positions * (b.features + outputs * b.units) + outputs * b.size for b in recorder.blocks
    )


def points_at_once(recorder: LayerRecorder, outputs: int) -> int:
    """Return the number of points in a chunk."""
    return min(POINTS_AT_ONCE, max(1, VALUES_AT_ONCE // values_per_point(recorder, outputs)))


def gauss_newton_entries(
    recorder: LayerRecorder, mode: NetworkPosterior, inputs: Float[Tensor, "points *features"]
) -> Iterator[list[Entry]]:
    r"""Yield entries for some points at a time; their Jacobians G give $H = \sum G^T G$."""
    for points in inputs.split(points_at_once(recorder, mode.network.output_shape[0])):
        outputs = recorder.outputs(mode.weights, mode.buffers, points)
        directions = hessian_root(mode.likelihood, outputs.detach())
        yield recorder.entries(outputs, directions)


def eigensystem(
    matrix: Float64[Tensor, "size size"],
) -> tuple[Float64[Tensor, " size"], Float64[Tensor, "size size"]]:
    """Return nonnegative eigenvalues and, in columns, eigenvectors.

    Raises `InferenceDiverged` for a matrix that is not finite.
    """
    require_finite(matrix)
    values, vectors = torch.linalg.eigh(matrix)
    return values.clamp_min(0), vectors


def require_finite(curvature: Tensor) -> None:
    """Raise `InferenceDiverged` unless all numbers are finite."""
    if not curvature.isfinite().all():
        raise InferenceDiverged("the curvature is not finite")


def require_at_most(most: int, size: int) -> None:
    """Raise `Unsupported` for a square matrix with too many rows."""
    if size > most:
        raise Unsupported(
            f"needed at most {most} weights for a matrix with a row for each; got {size}: use "
            'only the last layer (layers="last"), a Subnetwork, Kfac or Diagonal'
        )
