r"""Kronecker factors of the Gauss-Newton matrix, one pair for each dense or convolutional layer.

At N points and R positions, let a be the inputs of a layer's units, with 1 for the bias, and b the
gradients of the network's outputs with respect to the layer's outputs, times the root of the
likelihood's Hessian:

$$ H \approx \frac{1}{N R} \sum_{n,r} a_{nr} a_{nr}^T \otimes \sum_{n,r} b_{nr} b_{nr}^T $$

Positions are treated as separate points (the "expand" convention). This is exact for one point and
position, and whenever b does not depend on the point.

Sources: Martens and Grosse (2015), "Optimizing Neural Networks with Kronecker-factored
Approximate Curvature"; Grosse and Martens (2016) for convolutions; Ritter, Botev and Barber
(2018), "A Scalable Laplace Approximation for Neural Networks"; Eschenhagen et al. (2023) for
the name of the convention.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import torch
from jaxtyping import Float, Float64
from torch import Tensor

from bnnbench.methods.base import Unsupported
from bnnbench.methods.fitting.network_posterior import NetworkPosterior
from bnnbench.methods.laplace.gauss_newton import (
    OfLayers,
    Spectrum,
    eigensystem,
    gauss_newton_entries,
)
from bnnbench.methods.laplace.layer_recorder import Entry, LayerRecorder


@dataclass(frozen=True)
class Kfac(OfLayers):
    """Two small matrices per layer; layers are independent."""

    def spectrum(
        self,
        mode: NetworkPosterior,
        inputs: Float[Tensor, "points *features"],
        scales: Float[Tensor, " parameters"] | None = None,
    ) -> Spectrum:
        """Return the factors' eigenvectors at a point estimate, over training inputs.

        Raises `Unsupported` for scales, which do not factorise.
        """
        if scales is not None:
            raise Unsupported(
                'Kfac has one prior precision for all weights; Laplace(prior="given") takes the '
                "structures Full, Subnetwork and Diagonal"
            )
        recorder = self.recorder(mode.network)
        of_inputs, of_gradients = kronecker_factors(recorder, mode, inputs)
        left = [eigensystem(factor) for factor in of_gradients]
        right = [eigensystem(factor) for factor in of_inputs]
        eigenvalues = torch.cat([
            torch.outer(b, a).flatten() for (b, _), (a, _) in zip(left, right, strict=True)
        ])  # fmt: skip
        return Kronecker(
            recorder, eigenvalues, tuple(v for _, v in left), tuple(v for _, v in right)
        )


@dataclass(frozen=True)
class Kronecker:
    """Eigenvectors of every layer's matrix, as products of its factors' eigenvectors."""

    recorder: LayerRecorder
    eigenvalues: Float64[Tensor, " directions"]
    of_units: tuple[Float64[Tensor, "_ _"], ...]
    of_features: tuple[Float64[Tensor, "_ _"], ...]

    def jacobian(self, entries: Sequence[Entry]) -> Float[Tensor, "points outputs directions"]:
        """Return the derivatives of the outputs along the eigenvectors."""
        return torch.cat([entry.jacobian().flatten(-2) for entry in self._rotated(entries)], -1)

    def output_variances(
        self, variances: Float[Tensor, " directions"]
    ) -> Callable[[Sequence[Entry]], Float[Tensor, "points outputs"]]:
        """Return the function from entries to output variances, given variances of coordinates."""
        return partial(self._output_variances, variances)

    def _output_variances(
        self, variances: Float[Tensor, " directions"], entries: Sequence[Entry]
    ) -> Float[Tensor, "points outputs"]:
        blocks = self.recorder.blocks
        parts = variances.split([block.size for block in blocks])
        return torch.stack([
            entry.weighted_squares(part.unflatten(0, (block.units, block.features)))
            for entry, block, part in zip(self._rotated(entries), blocks, parts, strict=True)
        ]).sum(0)  # fmt: skip

    def _rotated(self, entries: Sequence[Entry]) -> list[Entry]:
        """Return the entries in the basis of their factors' eigenvectors."""
        return [
            Entry(entry.inputs @ right.to(entry.inputs.dtype),
                  entry.gradients @ left.to(entry.inputs.dtype))
            for entry, left, right in zip(entries, self.of_units, self.of_features, strict=True)
        ]  # fmt: skip

    def weights(
        self, coordinates: Float[Tensor, "draws directions"], total: int
    ) -> Float[Tensor, "draws parameters"]:
        """Return coordinates along the eigenvectors as changes of all `total` weights."""
        all_weights = coordinates.new_zeros(len(coordinates), total)
        blocks = self.recorder.blocks
        parts = coordinates.split([block.size for block in blocks], 1)
        for block, part, left, right in zip(
            blocks, parts, self.of_units, self.of_features, strict=True
        ):
            matrices = part.unflatten(1, (block.units, block.features))
            changes = left.to(part.dtype) @ matrices @ right.mT.to(part.dtype)
            all_weights[:, block.start : block.stop] = block.flat(changes)
        return all_weights

    def covered(self, weights: Float[Tensor, " parameters"]) -> Float[Tensor, " directions"]:
        """Return the weights that are not fixed."""
        return weights[self.recorder.indices(weights.device)]


def kronecker_factors(
    recorder: LayerRecorder, mode: NetworkPosterior, inputs: Float[Tensor, "points *features"]
) -> tuple[list[Float64[Tensor, "_ _"]], list[Float64[Tensor, "_ _"]]]:
    """Return each layer's mean outer product of inputs, and summed outer product of gradients."""
    of_inputs = [inputs.new_zeros(b.features, b.features).double() for b in recorder.blocks]
    of_gradients = [inputs.new_zeros(b.units, b.units).double() for b in recorder.blocks]
    for entries in gauss_newton_entries(recorder, mode, inputs):
        for layer, entry in enumerate(entries):
            unit_inputs, gradients = entry.inputs.flatten(0, 1), entry.gradients.flatten(0, 2)
            of_inputs[layer] += (unit_inputs.mT @ unit_inputs).double()
            of_gradients[layer] += (gradients.mT @ gradients).double()
    for block, factor in zip(recorder.blocks, of_inputs, strict=True):
        factor /= len(inputs) * block.positions
    return of_inputs, of_gradients
