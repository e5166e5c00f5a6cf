"""Blocks of every CUDA kernel may run in any order; planted races are found."""

from math import prod

import pytest
import torch

from bnnbench.methods.message_passing.kernels import fused, grids
from bnnbench.methods.message_passing.kernels.table import IN_CUDA
from tests.methods.emulated import RaceFound
from tests.methods.message_passing.factors.messages import random_messages
from tests.methods.message_passing.kernels import test_fused, test_units
from tests.methods.message_passing.kernels.agreement import elementwise, sums
from tests.methods.message_passing.kernels.emulation import Emulated
from tests.methods.message_passing.kernels.test_units import Arguments
from tests.methods.message_passing.kernels.test_weights import copied, marginals

SHAPE = (2, 3, 35)
"""Members, examples and features: twelve blocks of sums over positions."""
CUDA = {kernel.name for operation in IN_CUDA.values() for kernel in operation.kernels}


class Planted(Emulated):
    """The kernels with mistakes in their sources: right text → wrong text."""

    def __init__(self, emulator, **mistakes: dict[str, str]) -> None:
        super().__init__(emulator)
        self.mistakes = mistakes

    def source(self, file: str) -> str:
        text = super().source(file)
        for right, wrong in self.mistakes[file].items():
            assert right in text
            text = text.replace(right, wrong)
        return text


def step(kernels) -> list[torch.Tensor]:
    """Return what a step of conjugate gradients returns and changes."""
    a = Arguments(SHAPE, torch.float32)
    direction, image, u, residual = (a.normal() for _ in range(4))
    square, curvature = a.positive(), a.positive()
    after = kernels.coupled_step(direction, image, square, curvature, u, residual)
    return [after, u, residual]


def turn(kernels) -> list[torch.Tensor]:
    """Return what the turn of a direction returns and changes."""
    a = Arguments(SHAPE, torch.float32)
    residual, scale, direction, scaled = (a.normal() for _ in range(4))
    square, before = a.positive(), a.positive()
    total = kernels.coupled_turn(residual, square, before, scale, direction, scaled)
    return [total, direction, scaled]


@pytest.mark.parametrize("call", [step, turn])
def test_steps_and_turns_agree_with_plain_torch_in_any_order_of_blocks(call, emulated):
    for _ in range(3):
        for value, truth in zip(call(emulated), call(fused), strict=True):
            test_fused.close(value, truth, call.__name__)


BLOCK = r"block \(\d+, 0, 0\)"
IN_PLACE = {
    "IN square,\n    IN curvature, OUT u,": "OUT square,\n    IN curvature, OUT u,",
    "PUT_TOTAL(sum, squares);": "PUT_TOTAL(square, squares);",
}
"""A step stores its sums in place of those that other blocks read."""
OF_ANOTHER_EXAMPLE = {"multiply_add(ratio, AT(direction),": "multiply_add(ratio, direction[i],"}
"""A turn reads the direction of the first example, which another block replaces."""


def test_a_race_planted_in_a_step_or_a_turn_is_found(emulator):
    planted = Planted(emulator, coupled=IN_PLACE | OF_ANOTHER_EXAMPLE)
    for call, array in ((step, "square"), (turn, "direction")):
        with pytest.raises(RaceFound, match=rf"^coupled_{call.__name__}_all: {BLOCK}.* {array}\["):
            call(planted)


@pytest.mark.long
def test_races_planted_in_other_kernels_are_found(emulator):
    shared_room = {"const long long p = 0;                ": "const long long p = 0, n = 0;"}
    planted = Planted(
        emulator,
        units=shared_room,
        elementwise={"atomicAdd(counter, (unsigned long long)found)": "*counter += found"},
    )
    a = Arguments(SHAPE, torch.float32)
    with pytest.raises(RaceFound, match=rf"^turn_all: {BLOCK} writes sum\[\d, 0, \d+\], written"):
        planted.turn(a.normal(), a.normal(2, 1, 35), a.normal(), a.normal(), a.normal())
    z, back = (random_messages(2, 700, seed=seed) for seed in range(2))
    with pytest.raises(RaceFound, match=r"^leaky_relu_backward_all: block .* counts\[\d\], w"):
        planted.leaky_relu_backward(z, back, 0.1)


@pytest.mark.long
def test_every_kernel_runs_without_a_race_on_several_blocks(emulated, monkeypatch):
    monkeypatch.setattr(grids, "THREADS", 32)
    monkeypatch.setattr(grids, "LEAST_ROWS", 7)
    for results in (test_units.results, test_fused.results):
        results(emulated, SHAPE, torch.float32)
    test_fused.exchanges(emulated, torch.float32)
    weight, old = (marginals(2, 9, 7, seed=seed, dtype=torch.float32) for seed in range(2))
    emulated.fill_weight_moments(weight, *(torch.empty_like(weight.rho) for _ in range(3)))
    emulated.exchange(weight, copied(weight), old, old, copied(old), 0.3)
    for call in elementwise(torch.float32).values():
        call(emulated)
    for name, arguments in sums(torch.float32).items():
        getattr(emulated, name)(*arguments)
    labels = torch.zeros(2, 40, dtype=torch.int64)
    emulated.argmax_loss(random_messages(2, 40, 10, seed=1, dtype=torch.float32), labels, 0.3)
    blocks = {name: prod(how.grid) for name, how in emulated.launched}
    assert blocks.keys() == CUDA | {"add_parts"}
    assert min(blocks.values()) > 1
