"""The fused CUDA kernels, emulated, compared with their definition in plain torch.

That definition consists of operations of other backends (test_units.py, test_weights.py); its new
parts are compared here with the layers' use of these operations.
"""

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from bnnbench.methods.message_passing.factors import argmax
from bnnbench.methods.message_passing.gaussian import Gaussian
from bnnbench.methods.message_passing.kernels import compiled, fused
from bnnbench.methods.message_passing.kernels.patterns import PARTS, parts_of
from bnnbench.methods.message_passing.kernels.table import KERNELS
from bnnbench.methods.message_passing.stacks import LaterWeightSums
from tests.methods.message_passing.factors.messages import DTYPES, random_messages
from tests.methods.message_passing.kernels.test_units import Arguments

both_types = pytest.mark.parametrize("dtype", DTYPES)
SHAPES = {
    "vectors": (2, 2, 35),
    "images": (1, 4, 35, 5, 3),
    "narrow images": (1, 2, 1, 4, 1),
    "large images": (2, 2, 3, 16, 18),
    "a tall image": (1, 1, 3, 256, 1),
}
FILES = ("coupled", "biases", "fused")
LAUNCHES_OF = {"exchange_bias": 2}
"""All other functions are one launch each."""


def results(kernels, shape, dtype, layout="features last") -> dict[str, list[Tensor]]:
    """Return everything that a function returns or fills."""
    a = Arguments(shape, dtype, layout)
    members, examples, features = shape[:3]
    found: dict[str, list[Tensor]] = {}
    of_parts = members, examples * parts_of(a.out()), features

    def by_example(sums: Tensor) -> Tensor:
        return sums.unflatten(1, (examples, -1)).sum(2)

    def bias() -> Gaussian:
        return Gaussian(a.normal(members, features), a.positive(members, features) + 1)

    def of_examples() -> Gaussian:
        return Gaussian(a.normal(*shape[:3]), a.positive(*shape[:3]) / 50)

    g, h, old = a.positive(), a.normal(), a.normal()
    for name, held, lower, rho in (
        ("first round", None, None, bias().rho[:, None]),
        ("later round", old, a.positive(), bias().rho[:, None]),
        ("no bias", old, a.positive(), None),
    ):
        diagonal, scale, scaled, residual, direction, image, u = (a.out() for _ in range(7))
        total = kernels.coupled_begin(
            g, h, held, a.positive(), lower, rho, diagonal, scale, scaled, u
        )
        found[f"begin, {name}"] = [
            t.clone() for t in (diagonal, scale, scaled, u, by_example(total))
        ]
        room = diagonal, scale, scaled, residual, direction
        square, total = kernels.coupled_residual(a.normal(), total, rho, *room)
        sums = by_example(square), by_example(total)
        found[f"residual, {name}"] = [t.clone() for t in (*room[2:], *sums)]
        # Exact sums from here on: quotients of tiny numbers would amplify their rounding.
        square, total = a.positive(*of_parts), a.normal(*of_parts)
        curvature = kernels.coupled_image(direction, a.normal(), total, rho, diagonal, scale, image)
        found[f"image, {name}"] = [image.clone(), by_example(curvature)]
        curvature = a.positive(*of_parts)
        after = kernels.coupled_step(direction, image, square, curvature, u, residual)
        found[f"step, {name}"] = [t.clone() for t in (u, residual, by_example(after))]
        total = kernels.coupled_turn(residual, curvature, square, scale, direction, scaled)
        found[f"turn, {name}"] = [t.clone() for t in (direction, scaled, by_example(total))]
        forces, stored = a.out().copy_(h), a.out()
        kernels.coupled_finish(g, u, held, forces, stored, 0.5)
        found[f"finish, {name}"] = [forces, stored]
    forces = a.out().copy_(h)
    kernels.coupled_finish(g, a.normal(), old, forces, None, 1.0)
    found["finish, last round"] = [forces]

    marginal, earlier = bias(), of_examples()
    for name, whole, own in (
        ("none", None, None),
        ("first", marginal, None),
        ("later", marginal, earlier),
    ):
        out = kernels.biased_outputs(a.normal(), a.positive(), a.positive(), whole, own)
        found[f"outputs, {name}"] = [out.tau, out.rho]
        out = kernels.biased_outputs(a.normal(), a.positive(), None, whole, own)
        found[f"outputs of observed inputs, {name}"] = [out.tau, out.rho]
    gain = a.positive() / 50
    parts = kernels.exchange_bias(gain, h, marginal, None, None, None, 1.0)
    found["bias, first"] = [t for part in parts for t in (part.tau, part.rho)]
    total, old_sum = bias(), bias()
    parts = kernels.exchange_bias(gain, h, marginal, earlier, old_sum, total, 0.5)
    found["bias, later"] = [t for part in (*parts, total) for t in (part.tau, part.rho)]
    return found


def exchanges(kernels, dtype) -> list[Tensor]:
    """Return the marginals, totals and stored products of an exchange by sums."""
    a = Arguments((2, 7, 5), dtype)
    sums = LaterWeightSums.of(torch.cat([a.normal(), a.positive(), a.positive()]))
    marginal, total, old, stored = (a.message() for _ in range(4))
    kernels.exchange_sums(marginal, None, a.normal(), sums, None, None, 1.0)
    kernels.exchange_sums(marginal, total, a.normal(), sums, old, stored, 0.3)
    return [t for part in (marginal, total, stored) for t in (part.tau, part.rho)]


def close(value: Tensor, truth: Tensor, name: str) -> None:
    tolerance = 1e-13 if value.dtype is torch.float64 else 1e-6
    scale = max(1.0, truth.abs().max().item())  # sums of numbers of about 1, which may cancel
    assert_close(value, truth, rtol=tolerance, atol=tolerance * scale, msg=name)


@pytest.mark.long
@both_types
@pytest.mark.parametrize(
    ("shape", "layout"),
    [
        ("vectors", "features last"),
        ("narrow images", "contiguous"),
        ("images", "interleaved"),
        ("large images", "features last"),
        ("large images", "contiguous"),
        ("a tall image", "interleaved"),
    ],
)
def test_emulated_kernels_agree_with_plain_torch(shape, layout, dtype, emulated):
    found = results(emulated, SHAPES[shape], dtype, layout)
    for name, values in results(fused, SHAPES[shape], dtype).items():
        for value, truth in zip(found[name], values, strict=True):
            close(value, truth, name)
    exchanges(emulated, dtype)
    launched = {name for name, _ in emulated.launched}
    assert launched == {name for name, kernel in KERNELS.items() if kernel.file in FILES}


def test_examples_of_many_positions_are_split_and_no_others():
    parts = {name: parts_of(torch.empty(shape)) for name, shape in SHAPES.items()}
    assert parts == dict.fromkeys(SHAPES, 1) | {"large images": PARTS, "a tall image": PARTS}
    assert parts_of(torch.empty(1, 1, 3, 257, 1)) == 1


@both_types
def test_sums_exchange_messages_as_plain_torch_does(dtype, emulated):
    for value, truth in zip(exchanges(emulated, dtype), exchanges(fused, dtype), strict=True):
        close(value, truth, "exchange")


@pytest.mark.long
@both_types
def test_counts_add_up_over_layers_and_messages_have_the_bits_of_the_kernels_in_c(dtype, emulated):
    z, a = (random_messages(2, 300, seed=seed, dtype=dtype) for seed in range(2))
    counts = torch.zeros(2, dtype=torch.int64)
    expected = torch.zeros(2, dtype=torch.int64)
    for _ in range(2):
        for way in ("forward", "backward"):
            found = getattr(emulated, f"counted_{way}")(z, a, 0.1, counts)
            truth, replaced = getattr(compiled, f"leaky_relu_{way}")(z, a, 0.1)
            assert torch.equal(found.tau, truth.tau)
            assert torch.equal(found.rho, truth.rho)
            expected += replaced
    assert counts.equal(expected)
    assert counts.min() > 0
    direct = emulated.counted_forward(z, None, 0.1, counts)
    assert torch.equal(direct.tau, compiled.leaky_relu_forward(z, None, 0.1)[0].tau)
    assert counts.equal(expected)


@both_types
def test_losses_are_log_probabilities_of_labels_far_and_near(dtype, emulated):
    rng = torch.Generator().manual_seed(1)
    mean = torch.randn(2, 40, 10, generator=rng, dtype=torch.float64) * 6
    variance = torch.rand(2, 40, 10, generator=rng, dtype=torch.float64) + 0.01
    z = Gaussian.of(mean.to(dtype), variance.to(dtype))
    labels = torch.randint(10, (2, 40), generator=rng)
    found = emulated.argmax_loss(z, labels, 0.3)
    truth = -argmax.log_probabilities(z.mean.double(), z.variance.double(), 0.3)
    truth = truth.gather(-1, labels.unsqueeze(-1)).squeeze(-1)
    tolerance = 1e-12 if dtype is torch.float64 else 1e-5
    assert truth.max() > 50
    assert_close(found.double(), truth, rtol=tolerance, atol=tolerance)
    assert_close(fused.argmax_loss(z, labels, 0.3).double(), truth, rtol=tolerance, atol=tolerance)
    labels[0, 0] = 10
    assert emulated.argmax_loss(z, labels, 0.3).isnan().nonzero().tolist() == [[0, 0]]


@pytest.mark.long
def test_every_function_is_one_launch_but_for_that_of_biases(emulated):
    names = [name for name in vars(fused) if callable(vars(fused)[name])]
    counts = {}

    class Spy:
        def __getattr__(self, name):
            assert name in names

            def call(*arguments):
                before = len(emulated.launched)
                out = getattr(emulated, name)(*arguments)
                counts[name] = len(emulated.launched) - before
                return out

            return call

    results(Spy(), SHAPES["vectors"], torch.float32)
    exchanges(Spy(), torch.float32)
    assert len(counts) == 9
    assert counts == {name: LAUNCHES_OF.get(name, 1) for name in counts}
