r"""The Gauss-Newton matrix of one dense layer. Its Jacobian is a product that is never formed.

For a gradient g with respect to the layer's outputs and an input x, the Jacobian is g xᵀ. The
matrix therefore has a block for every pair of units, and an output's variance is
$\sum_{uv} g_u g_v \, x^T S_{uv} x$.
"""

from collections.abc import Callable, Sequence
from functools import partial

import torch
from jaxtyping import Float, Float64
from torch import Tensor

from bnnbench.methods.fitting.network_posterior import NetworkPosterior
from bnnbench.methods.laplace.gauss_newton import gauss_newton_entries
from bnnbench.methods.laplace.layer_recorder import Block, Entry, LayerRecorder


def is_one_dense_layer(recorder: LayerRecorder) -> bool:
    """Return whether the recorder covers a single layer that is dense."""
    return len(recorder.blocks) == 1 and recorder.blocks[0].positions == 1


def dense_layer_matrix(
    recorder: LayerRecorder, mode: NetworkPosterior, inputs: Float[Tensor, "points *features"]
) -> Float64[Tensor, "weights weights"]:
    """Return the matrix over training inputs, with weights in the order of flat vectors."""
    (block,) = recorder.blocks
    shape = (block.units, block.features, block.units, block.features)
    total = torch.zeros(shape, dtype=torch.float64, device=inputs.device)
    for (entry,) in gauss_newton_entries(recorder, mode, inputs):
        features, gradients = entry.inputs[:, 0].double(), entry.gradients[:, :, 0].double()
        products = gradients.mT @ gradients  # of pairs of units, at every point
        for unit in range(block.units):
            for other in range(unit, block.units):
                total[unit, :, other] += (features * products[:, unit, other, None]).mT @ features
    for unit in range(block.units):
        for other in range(unit):
            total[unit, :, other] = total[other, :, unit]
    order = _order(block, inputs.device).argsort()
    return total.flatten(2).flatten(0, 1)[order[:, None], order]


def dense_layer_variances(
    block: Block,
    vectors: Float64[Tensor, "weights directions"],
    variances: Float[Tensor, " directions"],
) -> Callable[[Sequence[Entry]], Float[Tensor, "points outputs"]]:
    """Return the function from entries to output variances, given variances along vectors.

    The vectors are in the order of flat vectors of the layer's weights.
    """
    roots = (vectors * variances.double().sqrt())[_order(block, vectors.device)]
    shape = (block.units, block.features, block.units, block.features)
    of_pairs = (roots @ roots.mT).view(shape).transpose(1, 2)
    return partial(_output_variances, of_pairs.to(variances.dtype))


def _output_variances(
    covariances: Float[Tensor, "units units features features"], entries: Sequence[Entry]
) -> Float[Tensor, "points outputs"]:
    (entry,) = entries
    features, gradients = entry.inputs[:, 0], entry.gradients[:, :, 0]
    slopes = gradients.detach().flatten(0, 1).ne(0).double()
    together = (
        (slopes.mT @ slopes).triu().nonzero().tolist()
    )  # in a last layer, only each unit with itself
    variances = gradients.new_zeros(gradients.shape[:2])
    for unit, other in together:
        form = ((features @ covariances[unit, other]) * features).sum(-1)
        product = gradients[..., unit] * gradients[..., other]
        variances = variances + (1 + (other > unit)) * product * form[:, None]
    return variances


def _order(block: Block, device: torch.device) -> Tensor:
    """Return the positions of the layer's weights in a flat vector, unit by unit."""
    places = torch.arange(block.size, dtype=torch.float64, device=device)
    return block.matrix(places).flatten().long()
