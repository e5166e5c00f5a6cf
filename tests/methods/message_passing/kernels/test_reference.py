"""Compared with each single term's message by the weighted-sum equations, one at a time."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from bnnbench.methods.message_passing.factors import leaky_relu
from bnnbench.methods.message_passing.gaussian import Gaussian
from bnnbench.methods.message_passing.kernels import reference
from tests.methods.message_passing.factors.messages import DTYPES, is_bitwise_equal, random_messages


@dataclass(frozen=True)
class Layer:
    """A layer's inputs, weights, and messages from above, some of them uniform, in float64."""

    inputs: Gaussian  # members rows inputs
    weights: Gaussian  # members outputs inputs
    bias: Gaussian  # members outputs
    back: Gaussian  # members rows outputs

    @property
    def x(self) -> Tensor:
        """Observed inputs, some of them 0."""
        return torch.where(self.inputs.mean.abs() < 0.5, 0.0, self.inputs.mean)

    @property
    def sizes(self) -> tuple[int, int, int, int]:
        """Members, rows, inputs, outputs."""
        return (*self.inputs.shape, self.weights.shape[1])

    def pull(self, mean: Tensor, variance: Tensor) -> tuple[Tensor, Tensor]:
        """Return (g, h) at forward moments."""
        divisor = 1 + self.back.rho * variance
        return self.back.rho / divisor, (self.back.tau - self.back.rho * mean) / divisor


def a_layer(members: int, rows: int, inputs: int, outputs: int, seed: int) -> Layer:
    back = random_messages(members, rows, outputs, seed=seed + 3)
    generator = torch.Generator().manual_seed(seed)
    said = torch.rand(back.shape, generator=generator) > 0.2
    return Layer(
        random_messages(members, rows, inputs, seed=seed),
        random_messages(members, outputs, inputs, seed=seed + 1),
        random_messages(members, outputs, seed=seed + 2),
        Gaussian(back.tau * said, back.rho * said),
    )


def later_moments(layer: Layer) -> tuple[Tensor, Tensor]:
    """Return forward mean and variance of a layer of Gaussian inputs, by einsum."""
    a, w = layer.inputs, layer.weights
    mean = torch.einsum("mni,moi->mno", a.mean, w.mean) + layer.bias.mean[:, None]
    second = w.variance + w.mean**2
    variance = torch.einsum("mni,moi->mno", a.variance, second)
    variance = variance + torch.einsum("mni,moi->mno", a.mean**2, w.variance)
    return mean, variance + layer.bias.variance[:, None]


def term_message(
    back: tuple[float, float], whole: tuple[float, float], term: tuple[float, float]
) -> tuple[float, float]:
    """Return (tau, rho) to a term of a sum, from the moments of the sum minus those of the term."""
    (tau, rho), (mean, variance), (own_mean, own_variance) = back, whole, term
    divisor = 1 + rho * (variance - own_variance)
    return (tau - rho * (mean - own_mean)) / divisor, rho / divisor


def later_sums(layer: Layer) -> tuple[Gaussian, Gaussian]:
    """Return the messages to weights and to inputs, summed in plain loops."""
    members, rows, inputs, outputs = layer.sizes
    a_mean, a_variance = layer.inputs.mean, layer.inputs.variance
    w_mean, w_variance = layer.weights.mean, layer.weights.variance
    mean, variance = later_moments(layer)
    to_weights = Gaussian.uniform(*w_mean.shape, pattern=w_mean)
    to_inputs = Gaussian.uniform(*a_mean.shape, pattern=a_mean)
    for m in range(members):
        for n in range(rows):
            for o in range(outputs):
                back = (layer.back.tau[m, n, o].item(), layer.back.rho[m, n, o].item())
                whole = (mean[m, n, o].item(), variance[m, n, o].item())
                for i in range(inputs):
                    a, s = a_mean[m, n, i].item(), a_variance[m, n, i].item()
                    w, v = w_mean[m, o, i].item(), w_variance[m, o, i].item()
                    term = (a * w, s * (v + w * w) + a * a * v)
                    tau, rho = term_message(back, whole, term)
                    to_weights.tau[m, o, i] += a * tau
                    to_weights.rho[m, o, i] += (a * a + s) * rho
                    to_inputs.tau[m, n, i] += w * tau
                    to_inputs.rho[m, n, i] += (w * w + v) * rho
    return to_weights, to_inputs


sizes = st.tuples(st.integers(1, 3), st.integers(1, 5), st.integers(1, 5), st.integers(1, 4))


def assert_close(found: Gaussian, expected: Gaussian, tolerance: float) -> None:
    """Assert closeness relative to the largest number: a sum may cancel."""
    for value, truth in ((found.tau, expected.tau), (found.rho, expected.rho)):
        scale = truth.abs().max().item() + 1e-30
        torch.testing.assert_close(
            value.double(), truth.double(), rtol=tolerance, atol=tolerance * scale
        )


def later_arguments(layer: Layer) -> tuple[Tensor, ...]:
    g, h = layer.pull(*later_moments(layer))
    a, w = layer.inputs, layer.weights
    return a.mean, a.variance, w.mean, w.variance, g, h


@given(sizes=sizes, seed=st.integers(0, 2**16))
@settings(max_examples=40)
def test_later_layer_sums_agree_with_every_single_term(sizes, seed):
    layer = a_layer(*sizes, seed=seed)
    arguments = later_arguments(layer)
    to_weights, to_inputs = later_sums(layer)
    # 1 - g v is the remainder of 1: with one input it loses the digits of v/V.
    assert_close(reference.exact_weight_sums(*arguments), to_weights, 1e-9)
    assert_close(reference.exact_input_sums(*arguments), to_inputs, 1e-9)


def test_the_later_layer_vector_of_one_output():
    def members(*values: float) -> Tensor:
        return torch.tensor([[values]], dtype=torch.float64)

    arguments = (members(1, -2), members(0.5, 1), members(0.3, -0.1), members(0.2, 0.1),
                 members(0.62305296), members(0.87227414))  # fmt: skip
    to_weights = reference.exact_weight_sums(*arguments)
    to_inputs = reference.exact_input_sums(*arguments)
    for found, expected in (
        (to_weights.tau, (1.3492063, -2.9223744)),
        (to_weights.rho, (1.1904762, 4.5662100)),
        (to_inputs.tau, (0.40476190, -0.14611872)),
        (to_inputs.rho, (0.23015873, 0.10045662)),
    ):
        assert found.flatten().tolist() == pytest.approx(expected, rel=1e-7)


def test_the_first_layer_vector_of_one_output():
    x = torch.tensor([[[1.0, -2.0]]], dtype=torch.float64)
    mean = torch.tensor([[[0.3, -0.1]]], dtype=torch.float64)
    variance = torch.tensor([[[0.2, 0.1]]], dtype=torch.float64)
    none = torch.zeros(1, 1, 1, dtype=torch.float64)
    m, v = reference.exact_first_forward(x, mean, variance, none, none)
    assert (m.item() + 0.1, v.item() + 0.5) == pytest.approx((0.6, 1.1))
    g = 4 / (1 + 4 * 1.1)
    h = (8 - 4 * 0.6) / (1 + 4 * 1.1)
    message = reference.exact_first_weight_sums(x, mean, variance, none, none, none + g, none + h)
    assert message.tau.flatten().tolist() == pytest.approx((1.4782609, -3.3684211), rel=1e-7)
    assert message.rho.flatten().tolist() == pytest.approx((0.86956522, 4.2105263), rel=1e-7)


def first_messages(layer: Layer, row: int, weights: Gaussian) -> tuple[Gaussian, Tensor, Tensor]:
    """Return one row's messages to weights that equal its cavities, and its (g, h)."""
    x, bias = layer.x[:, row, None, :], layer.bias
    mean = (x * weights.mean).sum(-1) + bias.mean
    variance = (x**2 * weights.variance).sum(-1) + bias.variance
    back = layer.back[:, row]
    divisor = 1 + back.rho * variance
    g, h = back.rho / divisor, (back.tau - back.rho * mean) / divisor
    to = Gaussian.uniform(*weights.shape, pattern=weights.rho)
    members, _, inputs, outputs = layer.sizes
    for m in range(members):
        for o in range(outputs):
            for i in range(inputs):
                c = x[m, 0, i].item()
                term = (c * weights.mean[m, o, i].item(), c**2 * weights.variance[m, o, i].item())
                tau, rho = term_message(
                    (back.tau[m, o].item(), back.rho[m, o].item()),
                    (mean[m, o].item(), variance[m, o].item()),
                    term,
                )
                to.tau[m, o, i], to.rho[m, o, i] = c * tau, c**2 * rho
    return to, g, h


@given(sizes=sizes, seed=st.integers(0, 2**16))
@settings(max_examples=60)
def test_cavities_rebuilt_from_two_numbers_are_the_marginal_without_the_message(sizes, seed):
    layer = a_layer(*sizes, seed=seed)
    cavity, x, row = layer.weights, layer.x[:, :1], 0
    # A bias with this variance leaves every weight less than half of the output's variance: above
    # a half, two cavities give the same marginal.
    most = (x**2 * cavity.variance).amax(-1) + 0.1
    layer = replace(layer, bias=Gaussian(layer.bias.tau, 0.9 / most))
    message, g_old, h_old = first_messages(layer, row, cavity)
    assert (g_old[..., None] * x**2 * cavity.variance < 0.5).all()
    marginal = cavity * message
    mean, variance = reference.exact_first_forward(
        x, marginal.mean, marginal.variance, g_old[:, None], h_old[:, None]
    )
    exact = torch.einsum("mni,moi->mno", x, cavity.mean)
    torch.testing.assert_close(mean, exact, rtol=1e-9, atol=1e-9 * exact.abs().max().item())
    exact = torch.einsum("mni,moi->mno", x**2, cavity.variance)
    torch.testing.assert_close(variance, exact, rtol=1e-9, atol=1e-9 * exact.abs().max().item())
    # From that cavity, another message of the row is the exact one.
    other = replace(layer, back=random_messages(*layer.back.shape, seed=seed + 9))
    again, g, h = first_messages(other, row, cavity)
    sums = reference.exact_first_weight_sums(
        x,
        marginal.mean,
        marginal.variance,
        *(values[:, None] for values in (g_old, h_old, g, h)),
    )
    assert_close(sums, again, 1e-8)


def test_the_rebuilt_cavity_is_the_one_whose_message_explains_at_most_half():
    # g x² s_c = 3/4 and 1/4 leave the same marginal variance, of 1/4 and of 3/4 of the cavity's.
    one = torch.ones(1, 1, 1, dtype=torch.float64)
    for cavity_variance in (1.0, 3.0):
        explained = min(cavity_variance / 4, 1 - cavity_variance / 4)
        marginal = cavity_variance * (1 - cavity_variance / 4)
        _, rebuilt = reference.exact_first_forward(
            one, 0 * one, marginal * one, 0.25 * one, 0 * one
        )
        assert rebuilt.item() == pytest.approx(4 * explained)


@given(sizes=sizes, seed=st.integers(0, 2**16))
@settings(max_examples=40)
def test_without_old_messages_the_cavity_is_the_marginal_and_rows_add_up(sizes, seed):
    layer = a_layer(*sizes, seed=seed)
    x, w = layer.x, layer.weights
    none = torch.zeros_like(layer.back.rho)
    mean, variance = reference.exact_first_forward(x, w.mean, w.variance, none, none)
    torch.testing.assert_close(mean, torch.einsum("mni,moi->mno", x, w.mean))
    torch.testing.assert_close(variance, torch.einsum("mni,moi->mno", x**2, w.variance))
    expected, pulls = Gaussian.uniform(*w.shape, pattern=w.rho), []
    for row in range(sizes[1]):
        message, *pull = first_messages(layer, row, w)
        expected, pulls = expected * message, [*pulls, pull]
    g, h = (torch.stack([pull[k] for pull in pulls], 1) for k in range(2))
    found = reference.exact_first_weight_sums(x, w.mean, w.variance, none, none, g, h)
    assert_close(found, expected, 1e-9)


def test_uniform_messages_and_zero_inputs_tell_the_weights_nothing():
    layer = a_layer(2, 6, 5, 4, seed=1)
    uniform = Gaussian.uniform(2, 6, 4, pattern=layer.x)
    silent = Layer(layer.inputs, layer.weights, layer.bias, uniform)
    for sums in (reference.exact_weight_sums, reference.exact_input_sums):
        message = sums(*later_arguments(silent))
        assert (message.tau == 0).all()
        assert (message.rho == 0).all()
    x = torch.zeros_like(layer.x)
    g, h = torch.ones(2, 6, 4).double(), torch.ones(2, 6, 4).double()
    w = layer.weights
    message = reference.exact_first_weight_sums(x, w.mean, w.variance, g, h, g, h)
    assert (message.tau == 0).all()
    assert (message.rho == 0).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_rounding_never_makes_a_message_infinite_or_negative(dtype):
    values = torch.logspace(-6, 6, 1001, dtype=dtype).view(1, 1001, 1)
    one = torch.ones(1, 1, 1, dtype=dtype)
    # A precise target, one input and no bias: g v is 1 up to rounding.
    g = 1 / (0.3 * values.square() * (0.2 * one) ** 2)
    for sums in (reference.exact_weight_sums, reference.exact_input_sums):
        message = sums(values, 0.3 * values.square(), 0.2 * one, 0 * one, g, values)
        assert message.is_valid().all()
    # A message that explains half of the variance: 4 g x² s is 1 up to rounding.
    g = (1 + 4 * torch.finfo(dtype).eps) / (4 * 0.7 * values.square())
    mean, variance = reference.exact_first_forward(values, one, 0.7 * one, g, g)
    assert mean.isfinite().all()
    assert (variance > 0).all()
    sums = reference.exact_first_weight_sums(values, one, 0.7 * one, g, g, 2 * g, g)
    assert sums.is_valid().all()


def operations(dtype: torch.dtype) -> list[tuple[Callable[..., object], tuple[Tensor, ...]]]:
    layer = a_layer(3, 37, 11, 6, seed=2)
    a = tuple(argument.to(dtype) for argument in later_arguments(layer))
    x, g, h = layer.x.to(dtype) / 5, a[4] / 9, a[5]
    return [
        (reference.exact_weight_sums, a),
        (reference.exact_input_sums, a),
        (reference.exact_first_forward, (x, a[2], a[3], g, h)),
        (reference.exact_first_weight_sums, (x, a[2], a[3], g, h, g, h)),
    ]


def as_message(out: Gaussian | tuple[Tensor, Tensor]) -> Gaussian:
    return out if isinstance(out, Gaussian) else Gaussian(*out)


@pytest.mark.parametrize("chunk", [1, 500, 2**18])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("operation", range(4))
def test_a_member_has_the_same_bits_separately(operation, dtype, chunk, monkeypatch):
    monkeypatch.setattr(reference, "CHUNK", chunk)
    function, arguments = operations(dtype)[operation]
    together = as_message(function(*arguments))
    assert together.rho.dtype == dtype
    for member in range(3):
        one = slice(member, member + 1)
        alone = as_message(function(*(argument[one].clone() for argument in arguments)))
        assert is_bitwise_equal(alone, together[one])


@pytest.mark.parametrize("operation", range(4))
def test_float32_agrees_with_float64(operation):
    function, arguments = operations(torch.float32)[operation]
    narrow = as_message(function(*arguments))
    wide = as_message(function(*(argument.double() for argument in arguments)))
    # Terms are rounded in float32, in which 1 - g v keeps fewer digits; sums are in float64.
    assert_close(narrow, wide, 1e-4)


class Largest(TorchDispatchMode):
    """Records the largest number of elements in a tensor that an operation returns."""

    elements = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        out = function(*args, **(kwargs or {}))
        for tensor in out if isinstance(out, (tuple, list)) else (out,):
            if isinstance(tensor, Tensor):
                self.elements = max(self.elements, tensor.numel())
        return out


@pytest.mark.parametrize("operation", range(4))
def test_no_temporary_has_rows_times_inputs_times_outputs(operation, monkeypatch):
    monkeypatch.setattr(reference, "CHUNK", 500)
    function, arguments = operations(torch.float64)[operation]
    with Largest() as largest:
        function(*arguments)
    inputs_and_results = max(3 * 37 * 11, 3 * 37 * 6, 3 * 11 * 6)
    assert largest.elements <= max(3 * 500, inputs_and_results)
    assert largest.elements < 3 * 37 * 11 * 6 / 4


@pytest.mark.parametrize("dtype", DTYPES)
def test_events_are_counted_for_each_member(dtype):
    z, a = (
        random_messages(4, 30, 5, seed=1, dtype=dtype),
        random_messages(4, 30, 5, seed=2, dtype=dtype),
    )
    a = Gaussian(a.tau.clone(), a.rho.clone())
    a.tau[2], a.rho[2] = 0, 0  # this member receives no message
    for kernel, factor in (
        (reference.leaky_relu_forward, leaky_relu.forward),
        (reference.leaky_relu_backward, leaky_relu.backward),
    ):
        message, events = kernel(z, a, 0.1)
        expected, where = factor(z, a, 0.1)
        assert is_bitwise_equal(message, expected)
        assert events.dtype == torch.int64
        assert events.tolist() == [int(where[member].sum()) for member in range(4)]
        assert events[2] == 0
        assert events[0] > 0
    message, events = reference.leaky_relu_forward(z, None, 0.1)
    assert is_bitwise_equal(message, leaky_relu.direct(z, 0.1))
    assert events.tolist() == [0] * 4
