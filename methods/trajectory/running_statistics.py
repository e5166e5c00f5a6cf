"""Batch-norm statistics of weights that had no training steps themselves, such as an average."""

import torch
from jaxtyping import Float
from torch import Tensor

from bnnbench.methods.fitting.minibatches import batch_sizes
from bnnbench.methods.networks.least_rows import least_rows
from bnnbench.methods.networks.torch_network import TorchNetwork


@torch.no_grad()
def recomputed(
    network: TorchNetwork,
    weights: Float[Tensor, "draws parameters"],
    inputs: Float[Tensor, "points *features"],
    buffers: Float[Tensor, "#draws buffers"],
    batch_size: int,
) -> Float[Tensor, "draws buffers"]:
    """Return the running statistics after one pass over the inputs, with equally weighted points.

    Other contents of `buffers` stay. A batch's variance has Bessel's correction, as in training.
    """
    fresh = buffers.expand(len(weights), -1).clone()
    if not any(part.name.startswith("running") for part in network.buffers):
        return fresh
    least = least_rows(network.architecture, network.input_shape)
    sizes = batch_sizes(len(inputs), batch_size, least)
    for row, member in zip(fresh, weights, strict=True):
        seen = 0
        for batch in inputs.split(sizes):
            seen += len(batch)
            network(
                member[None],
                batch[None],
                buffers=row[None],
                training=True,
                noise="off",
                momentum=len(batch) / seen,
            )
    return fresh
