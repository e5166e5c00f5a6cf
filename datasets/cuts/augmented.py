"""Images whose training part is changed at random each time a network trains on it."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Generator, Tensor

from bnnbench.datasets.base import Scaling
from bnnbench.datasets.cuts.derived import Derived, require_images

Images = Float[Tensor, "points channels height width"]


@dataclass(frozen=True)
class CropsAndMirrors:
    """Random crops of images padded by `padding` pixels, half of them mirrored left to right.

    The border has the value `fill`: one per channel, or one for all.
    """

    padding: int = 4
    fill: tuple[float, ...] = (0.0,)

    def __post_init__(self) -> None:
        if self.padding < 0:
            raise ValueError(f"a border needs 0 pixels or more; got {self.padding}")

    def __call__(self, inputs: Images, rng: Generator) -> Images:
        """Return the inputs, each cropped at random; equal streams give equal crops."""
        points, channels, height, width = inputs.shape
        device, pad = inputs.device, self.padding
        corners = torch.randint(2 * pad + 1, (2, points, 1), generator=rng, device=device)
        mirrored = torch.rand(points, 1, generator=rng, device=device) < 0.5
        fill = inputs.new_tensor(self.fill).expand(channels)[:, None, None]
        padded = torch.empty(
            *(points, channels, height + 2 * pad, width + 2 * pad),
            dtype=inputs.dtype,
            device=device,
        )
        padded[:] = fill
        padded[:, :, pad : pad + height, pad : pad + width] = inputs
        rows = corners[0] + torch.arange(height, device=device)
        columns = torch.arange(width, device=device).expand(points, -1)
        columns = corners[1] + torch.where(mirrored, width - 1 - columns, columns)
        point = torch.arange(points, device=device)[:, None, None]
        # Indexed dimensions come first: points, height, width, then channels.
        return padded[point, :, rows[:, :, None], columns[:, None, :]].movedim(-1, 1)


@dataclass(frozen=True)
class Augmented(Derived):
    """All images of `source`; training images are padded with black and randomly cropped, mirrored.

    Test images are unchanged.
    """

    padding: int = 4

    def __post_init__(self) -> None:
        require_images(self.source)

    def augmentation(self, scaling: Scaling) -> CropsAndMirrors:
        """Return the augmentation; its border is black under `scaling`."""
        black = scaling.apply(scaling.mean.new_zeros(()))
        return CropsAndMirrors(self.padding, tuple(black.flatten().tolist()))
