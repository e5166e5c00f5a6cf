"""Operations on units, compared with moments of Gaussians and sums over outputs, written out."""

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from bnnbench.methods.message_passing.gaussian import Gaussian
from bnnbench.methods.message_passing.kernels import compiled, reference
from bnnbench.methods.message_passing.kernels.layouts import features_last
from bnnbench.methods.message_passing.kernels.table import KERNELS
from bnnbench.methods.message_passing.maps.convolution import Convolution
from bnnbench.methods.message_passing.stacks import InputSums
from bnnbench.methods.networks.architectures import Conv2d
from tests.methods.message_passing.factors.messages import DTYPES, random_messages

BACKENDS = {"reference": reference, "compiled": compiled}
on_both = pytest.mark.parametrize("kernels", BACKENDS.values(), ids=BACKENDS)
both_types = pytest.mark.parametrize("dtype", DTYPES)
SHAPES = {"vectors": (3, 5, 35), "images": (1, 4, 35, 5, 3), "narrow images": (1, 2, 1, 4, 1)}
VECTORS = (2, 5, 3)


def interleaved(like: Tensor) -> Tensor:
    """Return memory between the channels of two other images, since one product takes all three."""
    if like.dim() == 3:
        return features_last(like)
    sides = tuple(like.shape[2:])
    return Convolution(Conv2d(1, 1), (sides[0], sides[1], sides[2])).values_room(like, 3)[1:2]


LAYOUTS = {
    "features last": features_last,
    "contiguous": lambda like: torch.empty_like(like, memory_format=torch.contiguous_format),
    "interleaved": interleaved,
}


class Arguments:
    """Random numbers of one shape, equal for every type and layout."""

    def __init__(self, shape, dtype, layout="features last"):
        self.shape, self.dtype, self.room = shape, dtype, LAYOUTS[layout]
        self.seed = 0

    def laid(self, values: Tensor) -> Tensor:
        return self.room(values).copy_(values)

    def message(self) -> Gaussian:
        self.seed += 1
        values = random_messages(*self.shape, seed=self.seed, dtype=self.dtype)
        return Gaussian(self.laid(values.tau), self.laid(values.rho))

    def normal(self, *shape: int) -> Tensor:
        self.seed += 1
        rng = torch.Generator().manual_seed(self.seed)
        values = torch.randn(shape or self.shape, generator=rng, dtype=torch.float64)
        values = values.to(self.dtype)
        return values if shape else self.laid(values)

    def positive(self, *shape: int) -> Tensor:
        values = self.normal(*shape)
        return values.copy_(values.square() / 4 + 0.1)

    def out(self) -> Tensor:
        values = torch.full(self.shape, torch.nan, dtype=self.dtype)
        return (interleaved if self.room is interleaved else features_last)(values).copy_(values)


def results(kernels, shape, dtype, layout="features last") -> dict[str, list[Tensor]]:
    """Return everything that a function returns or fills."""
    a = Arguments(shape, dtype, layout)
    shared, own = (shape[0], 1, shape[2]), shape[:3]
    found = {}

    def filled(name, count, *arguments):
        out = [a.out() for _ in range(count)]
        returned = getattr(kernels, name)(*arguments, *out)
        sums = returned if isinstance(returned, tuple) else (returned,)
        found[f"{name} {len(found)}"] = [*out, *(part for part in sums if part is not None)]

    def returned(name, *arguments):
        message = getattr(kernels, name)(*arguments)
        found[f"{name} {len(found)}"] = [message.tau, message.rho]

    z, back = a.message(), a.message()
    z.rho[:, 0], back.rho[:, 1] = 0, 0  # uniform except for their tau
    filled("fill_moments", 3, z, None)
    filled("fill_moments", 3, z, back)
    bias = a.normal(*shared), a.positive(*shared)
    own_bias = a.normal(*own), a.positive(*own) / 100
    returned("output_messages", a.normal(), a.positive(), None, *bias)
    returned("output_messages", a.normal(), a.positive(), a.positive(), *own_bias)
    filled("fill_pulls", 3, Gaussian(z.tau, a.positive()), back)
    pulled = Gaussian(z.tau, a.positive()), back, a.positive(), a.positive(), a.normal()
    filled("fill_pulls_without_own", 3, *pulled)
    forces, gains = a.out(), a.out()
    kernels.fill_pulls_without_own(*pulled, forces, gains, None)
    found["pulls without a copy"] = [forces, gains]
    g, h = a.positive(), a.normal()
    returned("bias_messages", g, h, *own_bias)
    returned("bias_messages", g, h, bias[0], bias[1] / 100)
    sums = InputSums.of(torch.cat([a.normal(), a.positive(), a.positive()]))
    returned("input_messages", a.normal(), sums)
    filled("begin", 3, g, h, None, a.positive(), None, bias[1])
    filled("begin", 3, g, h, a.normal(), a.positive(), a.positive(), bias[1])
    moved, diagonal, scale = a.normal(), a.positive(), a.positive()
    scaled, residual, direction, image, u = (a.out().copy_(a.normal()) for _ in range(5))
    squares = kernels.fill_residual(moved, bias[0], diagonal, scale, scaled, residual, direction)
    found["residual"] = [part.clone() for part in (scaled, residual, direction, *squares)]
    products = kernels.fill_image(direction, moved, bias[0], diagonal, scale, image)
    found["image"] = [products, image]
    found["step"] = [kernels.step(bias[1], direction, image, u, residual), u, residual]
    found["turn"] = [kernels.turn(residual, bias[1], scale, direction, scaled), direction, scaled]
    forces = a.out().copy_(h)
    kernels.finish(g, u, forces)
    found["finish"] = [forces]
    return found


@both_types
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_compiled_kernels_agree_with_the_reference_in_every_layout(shape, layout, dtype):
    expected = results(reference, shape, dtype)
    found = results(compiled, shape, dtype, layout)
    assert found.keys() == expected.keys()
    tolerance = 1e-12 if dtype is torch.float64 else 2e-5
    for name, values in expected.items():
        for value, truth in zip(found[name], values, strict=True):
            scale = truth.abs().max().item()
            assert_close(value, truth, rtol=tolerance, atol=tolerance * scale, msg=name)


@pytest.mark.long
@both_types
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_emulated_kernels_have_the_bits_of_the_kernels_in_c_but_for_sums(shape, dtype, emulated):
    found, expected = (results(kernels, shape, dtype) for kernels in (emulated, compiled))
    tolerance = 1e-13 if dtype is torch.float64 else 2e-6
    for name, values in expected.items():
        for value, truth in zip(found[name], values, strict=True):
            if value.shape == shape:
                assert torch.equal(value, truth), name
            else:  # a sum, which a block of threads shares
                scale = truth.abs().max().item()
                assert_close(value, truth, rtol=tolerance, atol=tolerance * scale, msg=name)
    launched = {name for name, _ in emulated.launched}
    assert launched == {name for name, kernel in KERNELS.items() if kernel.file == "units"}


@both_types
def test_members_have_the_same_bits_separately(dtype):
    a = Arguments(SHAPES["vectors"], dtype)
    z, back = a.message(), a.message()
    z = Gaussian(z.tau, a.positive())
    together, alone = [a.out() for _ in range(3)], []
    compiled.fill_pulls(z, back, *together)
    for k in range(3):
        one = slice(k, k + 1)
        out = [features_last(z.rho[one]) for _ in range(3)]
        compiled.fill_pulls(z[one], back[one], *out)
        alone.append(torch.stack(out))
    assert torch.equal(torch.cat(alone, 1), torch.stack(together))


@on_both
def test_moments_agree_with_the_product_of_both_messages(kernels):
    a = Arguments(VECTORS, torch.float64)
    mean, variance, other_mean, other_variance = a.normal(), a.positive(), a.normal(), a.positive()
    out = [a.out() for _ in range(3)]
    kernels.fill_moments(Gaussian.of(mean, variance), Gaussian.of(other_mean, other_variance), *out)
    both = variance + other_variance
    expected = (mean * other_variance + other_mean * variance) / both
    assert_close(out[0], expected)
    assert_close(out[1], expected.square())
    assert_close(out[2], variance * other_variance / both)
    flat = Gaussian.uniform(*VECTORS, pattern=mean)
    kernels.fill_moments(flat, None, *out)
    assert out[0].eq(0).all()
    assert_close(out[2], torch.full(VECTORS, 1e8, dtype=torch.float64))
    kernels.fill_moments(Gaussian(mean * 1e-9, torch.full_like(mean, 1e-9)), None, *out)
    assert_close(out[0], mean)  # a floor of the precision keeps the mean
    assert_close(out[2], torch.full(VECTORS, 1e8, dtype=torch.float64))


@on_both
def test_messages_to_outputs_have_the_moments_of_a_sum_and_never_none_of_variance(kernels):
    a = Arguments(VECTORS, torch.float64)
    mean, own, lower, bias = a.normal(), a.positive(), a.positive(), a.normal(2, 1, 3)
    variance = a.positive(2, 5, 3)
    found = kernels.output_messages(mean, own, lower, bias, variance)
    assert_close(found.mean, mean + bias)
    assert_close(found.variance, own + lower + variance)
    none = torch.zeros_like(own)
    sure = kernels.output_messages(mean, none, None, bias, none[:, :1])
    assert_close(sure.mean, mean + bias)
    assert_close(sure.variance, torch.full_like(mean, 1e-20))


@on_both
def test_pulls_are_gain_and_force_of_the_message_back(kernels):
    a = Arguments(VECTORS, torch.float64)
    mean, variance, back = a.normal(), a.positive(), a.message()
    back.rho[:, 0] = 0
    h, g, again = (a.out() for _ in range(3))
    kernels.fill_pulls(Gaussian.of(mean, variance), back, h, g, again)
    spread = 1 + back.rho * variance
    assert_close(g, back.rho / spread)
    assert_close(h, (back.tau - back.rho * mean) / spread)
    assert torch.equal(again, g)
    kernels.fill_pulls(Gaussian.of(mean, variance), back, h, again, None)
    assert torch.equal(again, g)


@on_both
def test_messages_to_inputs_are_the_sums_over_outputs(kernels):
    a = Arguments((1, 4, 6), torch.float64)
    mean, w, s_w = a.normal(), a.normal(1, 3, 6), a.positive(1, 3, 6)
    g, h = a.positive(1, 4, 3), a.normal(1, 4, 3)
    g[:, 0] = h[:, 0] = 0
    g[:, 1] *= 1e-10
    sums = InputSums.of(torch.cat([h @ w, g @ s_w, g @ (s_w + w.square())]))
    found = kernels.input_messages(mean, sums)
    rho = sum(g[..., o : o + 1] * (w[:, o] ** 2 + s_w[:, o])[:, None] for o in range(3))
    tau = sum(
        w[:, o, None] * (h[..., o : o + 1] + g[..., o : o + 1] * mean * w[:, o, None])
        for o in range(3)
    )
    expected = Gaussian(torch.as_tensor(tau), torch.as_tensor(rho)).floored()
    assert_close(found.tau, expected.tau)
    assert_close(found.rho, expected.rho)
    assert found.tau[:, 0].eq(0).all()


@on_both
def test_a_bias_times_its_message_is_the_posterior_of_a_term_of_a_sum(kernels):
    # z = b + rest is observed as y with noise: b | y is Gaussian with the moments below.
    a = Arguments(VECTORS, torch.float64)
    mean, variance, rest, rest_variance = a.normal(), a.positive(), a.normal(), a.positive()
    y, noise = a.normal(), a.positive()
    z = Gaussian.of(mean + rest, variance + rest_variance)
    h, g = a.out(), a.out()
    kernels.fill_pulls(z, Gaussian.of(y, noise), h, g, None)
    found = kernels.bias_messages(g, h, mean, variance) * Gaussian.of(mean, variance)
    gain = variance / (variance + rest_variance + noise)
    assert_close(found.mean, mean + gain * (y - mean - rest))
    assert_close(found.variance, variance - gain * variance)


def test_callers_mistakes_are_said():
    a = Arguments(VECTORS, torch.float64)
    z, out = a.message(), [a.out() for _ in range(3)]
    with pytest.raises(ValueError, match=r"shape \(2, 5, 3\); got \(2, 5, 4\)"):
        compiled.fill_moments(z, random_messages(2, 5, 4, seed=1), *out)
    with pytest.raises(ValueError, match=r"float64.*float32"):
        compiled.fill_moments(z, Gaussian(z.tau.float(), z.rho.float()), *out)
    transposed = torch.empty(2, 3, 5, dtype=torch.float64).mT
    with pytest.raises(AssertionError, match="features last"):
        compiled.fill_moments(z, None, transposed, *out[1:])
