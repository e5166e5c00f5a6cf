"""Random numbers of a module: from its dropout layers, and from anything else that draws."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Generator, Tensor, nn

from bnnbench.methods.networks.modules.building import built, parts
from bnnbench.methods.networks.passes import Noise
from bnnbench.methods.networks.torch_module import TorchModule

DROPOUTS = {nn.Dropout: 0, nn.Dropout1d: 1, nn.Dropout2d: 2, nn.Dropout3d: 3}
"""Kind of dropout → number of trailing axes that share one draw."""


@dataclass
class Drawing:
    """The draws of a module's dropout layers in its current call."""

    noise: Noise = "off"
    rng: Generator | None = None


class StreamDropout(nn.Module):
    """A dropout layer that draws from a member's stream; if shared, one mask for all points."""

    def __init__(self, rate: float, axes: int, drawing: Drawing) -> None:
        super().__init__()
        self.rate, self.axes, self.drawing = rate, axes, drawing

    def forward(self, x: Tensor) -> Tensor:
        """Return x times a mask of 0 and 1/(1 - rate), or x itself if noise is off."""
        noise = self.drawing.noise
        if noise == "off" or self.rate == 0:
            return x
        if self.drawing.rng is None:
            raise ValueError("needed rngs, one for each member, for the module's dropout")
        shape = [*x.shape[: x.dim() - self.axes], *[1] * self.axes]
        shape[0] = 1 if noise == "shared" else shape[0]
        keep = 1 - self.rate
        return x * x.new_empty(shape).bernoulli_(keep, generator=self.drawing.rng).div_(keep)


def with_own_streams(module: nn.Module, drawing: Drawing) -> list[StreamDropout]:
    """Replace the dropout layers of a module, and return the new ones."""
    replaced = []
    for parent in [*module.modules()]:
        for name, child in parent.named_children():
            if isinstance(child, nn.modules.dropout._DropoutNd) and type(child) in DROPOUTS:
                dropout = StreamDropout(child.p, DROPOUTS[type(child)], drawing)
                setattr(parent, name, dropout)
                replaced.append(dropout)
    return replaced


def drops(layer: TorchModule) -> bool:
    """Return whether a dropout layer outside the module's frozen parts drops units."""
    module = built(layer, 0)
    replaced = with_own_streams(module, Drawing())
    for path in parts(layer).still:
        module.get_submodule(path).eval()
    return any(dropout.training and dropout.rate > 0 for dropout in replaced)


@contextmanager
def global_streams(rng: Generator | None, device: torch.device) -> Iterator[None]:
    """Seed torch's global generators from a stream inside the block, and restore them afterwards.

    Without a stream, the seed is 0.
    """
    seed = 0
    if rng is not None:
        (seed,) = torch.randint(2**62, (1,), generator=rng, device=rng.device).tolist()
    generators = [torch.default_generator]
    if device.type == "cuda":
        generators.append(torch.cuda.default_generators[device.index or 0])
    before = [generator.get_state() for generator in generators]
    for generator in generators:
        generator.manual_seed(seed)
    try:
        yield
    finally:
        for generator, state in zip(generators, before, strict=True):
            generator.set_state(state)
