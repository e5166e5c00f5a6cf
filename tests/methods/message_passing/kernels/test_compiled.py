"""The kernels in C, compared with vectors by 40-digit quadrature and with the reference."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr

from bnnbench.methods.message_passing.factors import leaky_relu as factor
from bnnbench.methods.message_passing.gaussian import Gaussian
from bnnbench.methods.message_passing.kernels import compiled, reference
from bnnbench.methods.message_passing.kernels.layouts import contiguous
from tests.methods.message_passing.factors import test_argmax as argmax
from tests.methods.message_passing.factors import test_leaky_relu as leaky_relu
from tests.methods.message_passing.factors import test_relu as relu
from tests.methods.message_passing.factors.messages import (
    DTYPES,
    assert_position_does_not_matter,
    dtypes,
    extreme,
    gaussian,
    integral,
    is_bitwise_equal,
    normal_pdf,
    of_extremes,
    random_messages,
)
from tests.methods.message_passing.kernels.agreement import (
    SLOPES,
    as_message,
    difference,
    elementwise,
    sums,
    unequal_guards,
)

TOLERANCE = {torch.float64: 1e-11, torch.float32: 2e-5}
"""The reference widens float32 arguments; here everything is in single precision."""
both_types = pytest.mark.parametrize("dtype", DTYPES)


def relative(dtype: torch.dtype) -> float:
    """The vectors have eight digits; float32 sums of a few terms cost some of them."""
    return 2e-7 if dtype is torch.float64 else 2e-4


@both_types
@pytest.mark.parametrize(
    ("mean", "variance", "slope", "out_mean", "out_variance"), leaky_relu.DIRECT
)
def test_direct_has_the_moments_found_by_quadrature(
    mean, variance, slope, out_mean, out_variance, dtype
):
    out, counts = compiled.leaky_relu_forward(gaussian([mean], [variance], dtype), None, slope)
    assert counts.tolist() == [0]
    assert out.mean.item() == pytest.approx(out_mean, rel=relative(dtype))
    assert out.variance.item() == pytest.approx(out_variance, rel=relative(dtype))


@both_types
@pytest.mark.parametrize(("moments", "to_a", "is_direct", "to_z", "_"), leaky_relu.MARGINAL)
def test_both_directions_are_the_quotients_found_by_quadrature(
    moments, to_a, is_direct, to_z, _, dtype
):
    z, a = gaussian([moments[0]], [moments[1]], dtype), gaussian([moments[2]], [moments[3]], dtype)
    up, fell_back = compiled.leaky_relu_forward(z, a, 0.1)
    down, replaced = compiled.leaky_relu_backward(z, a, 0.1)
    assert fell_back.item() == is_direct
    assert replaced.item() == factor.backward(z, a, 0.1)[1].item()
    assert (down.rho.item() < 1.01e-8) == (to_z[1] == 1e-8)
    assert (up.tau.item(), up.rho.item()) == pytest.approx(to_a, rel=relative(dtype))
    # A floored message has no accuracy below a millionth of its floor.
    nothing = 1e-9 if dtype is torch.float64 else 1e-6
    assert down.tau.item() == pytest.approx(to_z[0], rel=relative(dtype), abs=nothing)
    assert down.rho.item() == pytest.approx(to_z[1], rel=relative(dtype))


@both_types
@pytest.mark.parametrize(("moments", "to_a", "to_z"), relu.VECTORS)
def test_relu_is_what_quadrature_found(moments, to_a, to_z, dtype):
    z, a = gaussian([moments[0]], [moments[1]], dtype), gaussian([moments[2]], [moments[3]], dtype)
    up, fell_back = compiled.leaky_relu_forward(z, a, 0.0)
    down, replaced = compiled.leaky_relu_backward(z, a, 0.0)
    direct, _ = compiled.leaky_relu_forward(z, None, 0.0)
    expected = to_a or (direct.tau.item(), direct.rho.item())
    assert (fell_back.item(), replaced.item()) == (to_a is None, 0)
    assert (up.tau.item(), up.rho.item()) == pytest.approx(expected, rel=relative(dtype))
    assert (down.tau.item(), down.rho.item()) == pytest.approx(to_z, rel=relative(dtype))


@both_types
@pytest.mark.parametrize(
    ("mean", "variance", "label", "target_variance", "expected"), argmax.BACKWARD
)
def test_argmax_is_what_quadrature_found(mean, variance, label, target_variance, expected, dtype):
    z, labels = gaussian([[mean]], [[variance]], dtype), torch.tensor([[label]])
    out = compiled.argmax_backward(z, labels, 0.3, target_variance)[0, 0]
    for k, (tau, rho) in enumerate(expected):
        # The fourth vector has three digits of a message of 1e-25.
        tolerance = relative(dtype) if abs(tau) > 1e-20 else 1e-2
        nothing = 1e-22 if dtype is torch.float64 else 1e-21
        assert out.tau[k].item() == pytest.approx(tau, rel=tolerance, abs=0 if tau else nothing)
        assert out.rho[k].item() == pytest.approx(rho, rel=tolerance, abs=0 if rho else nothing)


@both_types
@pytest.mark.parametrize(("mean", "variance", "weights"), argmax.PROBABILITIES[1::2])
def test_pooling_weighs_by_the_probabilities_of_the_vectors(mean, variance, weights, dtype):
    # A window has four inputs; the fourth never wins if the vector has three.
    mean, variance = (np.array([*v, *([w] * (4 - len(v)))], float) for v, w in
                      ((mean, -1e3), (variance, 1e-3)))  # fmt: skip
    weights = np.array([*weights, *([0.0] * (4 - len(weights)))])
    z = gaussian(mean.reshape(1, 2, 2), variance.reshape(1, 2, 2), dtype)
    out = compiled.max_pool_forward(z, 2)
    assert out.mean.item() == pytest.approx(weights @ mean, rel=relative(dtype))
    assert out.variance.item() == pytest.approx(weights**2 @ variance, rel=relative(dtype))


def test_pooling_sends_each_input_what_the_joint_gaussian_of_its_window_says():
    generator = np.random.default_rng(1)
    mean, variance = generator.normal(size=9), generator.gamma(2.0, size=9)
    m, s = generator.normal(), 0.4
    wins = np.array([
        np.prod([ndtr((mean[j] - mean[i]) / np.sqrt(variance[i] + variance[j] + 0.3))
                 for i in range(9) if i != j]) for j in range(9)
    ])  # fmt: skip
    c = wins / wins.sum()
    z = gaussian(mean.reshape(1, 3, 3), variance.reshape(1, 3, 3))
    down = compiled.max_pool_backward(z, gaussian([[[m]]], [[[s]]]), 3)
    gain = np.diag(variance) @ c / (c**2 @ variance + s)
    posterior_mean = mean + gain * (m - c @ mean)
    posterior_variance = variance - gain * (c * variance)
    product = down * z
    assert product.mean.flatten().tolist() == pytest.approx(posterior_mean, rel=1e-10)
    assert product.variance.flatten().tolist() == pytest.approx(posterior_variance, rel=1e-10)


@pytest.mark.parametrize("slope", SLOPES)
def test_where_no_guard_acts_message_times_message_is_the_exact_marginal(slope):
    z, a = random_messages(60, seed=1), random_messages(60, seed=2)  # each a member
    up, fell_back = compiled.leaky_relu_forward(z, a, slope)
    down, replaced = compiled.leaky_relu_backward(z, a, slope)
    of_a, of_z = up * a, down * z
    assert (fell_back == 0).sum() > 20
    assert (replaced == 0).sum() > 20
    for i in range(60):
        (z_mean, z_variance), (a_mean, a_variance) = leaky_relu.exact_marginals(z[i], a[i], slope)
        if not replaced[i]:
            assert of_z.mean[i].item() == pytest.approx(z_mean, rel=1e-8, abs=1e-9)
            assert of_z.variance[i].item() == pytest.approx(z_variance, rel=1e-8)
        if not fell_back[i] and up.rho[i] < 1e7:  # beyond, a variance represents a point
            assert of_a.mean[i].item() == pytest.approx(a_mean, rel=1e-8, abs=1e-9)
            assert of_a.variance[i].item() == pytest.approx(a_variance, rel=1e-8)


@pytest.mark.parametrize("variance", [0.01, 1.0, 30.0])
def test_the_pair_messages_agree_with_the_probit_factor(variance):
    z = gaussian([[[0.7, -0.4]]], [[[variance, 0.8]]])
    out = compiled.argmax_backward(z, torch.zeros(1, 1, dtype=torch.int64), 0.3, None) * z

    def moment(power: int) -> float:
        def integrand(x):
            return normal_pdf(x, 0.7, variance) * ndtr((x + 0.4) / np.sqrt(1.1)) * x**power

        return integral(integrand, 0.7 - 14 * variance**0.5, 0.7 + 14 * variance**0.5)

    mean = moment(1) / moment(0)
    assert out.mean[0, 0, 0].item() == pytest.approx(mean, rel=1e-9)
    exact = moment(2) / moment(0) - mean**2
    assert out.variance[0, 0, 0].item() == pytest.approx(exact, rel=1e-8)


@both_types
@pytest.mark.parametrize("name", elementwise(torch.float64))
def test_elementwise_kernels_agree_with_the_reference(name, dtype):
    call = elementwise(dtype)[name]
    found, expected = call(compiled), call(reference)
    z, a = (random_messages(3, 29, 11, seed=seed, dtype=dtype) for seed in range(2))
    images = random_messages(3, 4, 5, 7, 9, seed=4, dtype=dtype)
    others = {"forward": [z, a], "backward": [z, a], "argmax": [z]}.get(name.split(" ")[0], [])
    others = [images] if name == "pool backward" else others
    assert found.rho.dtype == dtype
    covered = expected.rho > 0  # pooling sends nothing to a border
    assert torch.equal(found.rho > 0, covered)
    others = [other[covered] for other in others]
    assert difference(found[covered], expected[covered], *others) < TOLERANCE[dtype]


@both_types
@pytest.mark.parametrize("name", sums(torch.float64))
def test_exact_sums_agree_with_the_reference(name, dtype):
    arguments = sums(dtype)[name]
    found = as_message(getattr(compiled, name)(*arguments))
    expected = as_message(getattr(reference, name)(*arguments))
    assert found.rho.dtype == dtype
    tolerance = 1e-11 if dtype is torch.float64 else 1e-4
    for value, truth in ((found.tau, expected.tau), (found.rho, expected.rho)):
        scale = truth.abs().max().item()
        torch.testing.assert_close(value, truth, rtol=tolerance, atol=tolerance * scale)


@pytest.mark.parametrize("spread", [1.0, 5.0, 50.0])
@pytest.mark.parametrize("slope", SLOPES)
def test_float32_decides_as_float64_does_but_at_the_guards(slope, spread):
    z, a = (random_messages(1, 100_000, seed=seed, spread=spread, dtype=torch.float32)
            for seed in (5, 6))  # fmt: skip
    # At a slope of 1 the precision is that of z up to rounding, which is close to a guard.
    assert unequal_guards(z, a, slope, compiled) <= (20 if slope < 1 else 200)


@pytest.mark.parametrize("spread", [1.0, 5.0])
@pytest.mark.parametrize("slope", SLOPES)
@pytest.mark.parametrize("name", ["leaky_relu_forward", "leaky_relu_backward"])
def test_float32_is_float64_to_a_thousandth(name, slope, spread):
    z, a = (random_messages(1, 100_000, seed=seed, spread=spread, dtype=torch.float32)
            for seed in (5, 6))  # fmt: skip
    narrow = getattr(compiled, name)(z, a, slope)[0].rho.double()
    wide = [Gaussian(m.tau.double(), m.rho.double()) for m in (z, a)]
    truth = getattr(compiled, name)(*wide, slope)[0].rho
    apart = (narrow / truth - 1).abs() > 1e-3
    # The remaining ones are precisions close to 0, or at a guard.
    assert apart.double().mean() < 1e-3
    assert ((narrow - truth).abs() > 1e-4 * (truth + z.rho)).sum() <= 20


layouts = {
    "contiguous": lambda t: t,
    "channels last": lambda t: t.contiguous(memory_format=torch.channels_last),
    "transposed": lambda t: t.mT.contiguous().mT,
    "members last": lambda t: t.movedim(0, -1).contiguous().movedim(-1, 0),
    "every other": lambda t: t.repeat_interleave(2, 1)[:, ::2],
}


@pytest.mark.parametrize("other", layouts)
@pytest.mark.parametrize("layout", layouts)
def test_no_layout_changes_a_bit(layout, other):
    z, a, new = (random_messages(3, 5, 9, 7, seed=seed, dtype=torch.float32) for seed in range(3))
    back = random_messages(3, 5, 4, 3, seed=9, dtype=torch.float32)

    def laid(message, name):
        return Gaussian(layouts[name](message.tau), layouts[name](message.rho))

    def results(z, a, new, back):
        yield from compiled.leaky_relu_forward(z, a, 0.1)
        yield from compiled.leaky_relu_backward(z, a, 0.1)
        yield compiled.leaky_relu_forward(z, None, 0.1)[0]
        yield compiled.max_pool_forward(z, 2)
        yield compiled.max_pool_backward(z, back, 2)

    plain = list(results(z, a, new, back))
    changed = results(laid(z, layout), laid(a, other), laid(new, layout), laid(back, other))
    for expected, found in zip(plain, changed, strict=True):
        if isinstance(expected, Gaussian):
            assert is_bitwise_equal(found, expected)
        else:
            assert torch.equal(found, expected)


@pytest.mark.parametrize("layout", ["contiguous", "channels last"])
def test_images_keep_their_layout_and_dense_ones_are_not_copied(layout, monkeypatch):
    z, a = (random_messages(1, 4, 6, 8, seed=seed) for seed in range(2))
    z, a = (Gaussian(layouts[layout](m.tau)[None], layouts[layout](m.rho)[None]) for m in (z, a))
    z, a = (Gaussian(m.tau.view(1, 1, 4, 6, 8), m.rho.view(1, 1, 4, 6, 8)) for m in (z, a))
    monkeypatch.setattr(torch.Tensor, "copy_", lambda *_: pytest.fail("copied"))
    for out in (
        compiled.leaky_relu_forward(z, a, 0.1)[0],
        compiled.leaky_relu_backward(z, a, 0.1)[0],
        compiled.max_pool_backward(z, compiled.max_pool_forward(a, 2), 2),
    ):
        assert out.rho.stride() == z.rho.stride()
    pooled = compiled.max_pool_forward(z, 2).rho[0]
    wanted = torch.channels_last if layout == "channels last" else torch.contiguous_format
    assert pooled.is_contiguous(memory_format=wanted)


@both_types
@pytest.mark.parametrize("size", [2, 3])
def test_windows_of_any_number_of_axes(size, dtype):
    for lead in ((), (2,), (2, 3), (2, 3, 2), (2, 1, 3, 2)):
        z = random_messages(*lead, 7, 6, seed=1, dtype=dtype)
        back = random_messages(*lead, 7 // size, 6 // size, seed=2, dtype=dtype)
        for found, expected in (
            (compiled.max_pool_forward(z, size), reference.max_pool_forward(z, size)),
            (compiled.max_pool_backward(z, back, size), reference.max_pool_backward(z, back, size)),
        ):
            assert found.shape == expected.shape
            torch.testing.assert_close(found.rho, expected.rho)
            torch.testing.assert_close(found.tau, expected.tau)


@both_types
@pytest.mark.parametrize("name", elementwise(torch.float64))
def test_members_have_the_same_bits_separately_and_in_any_order(name, dtype):
    z, a = (random_messages(3, 29, 11, seed=seed, dtype=dtype) for seed in range(2))
    z.rho[:, 5] = a.rho[:, 7] = a.tau[:, 7] = 0
    labels = torch.randint(0, 11, (3, 29), generator=torch.Generator().manual_seed(1))
    images, back = random_messages(3, 4, 7, 9, seed=4, dtype=dtype), random_messages(
        3, 4, 3, 4, seed=5, dtype=dtype)  # fmt: skip
    functions = {
        "forward": (lambda z, a: compiled.leaky_relu_forward(z, a, 0.1)[0], z, a),
        "backward": (lambda z, a: compiled.leaky_relu_backward(z, a, 0.1)[0], z, a),
        "direct": (lambda z: compiled.leaky_relu_forward(z, None, 0.1)[0], z),
        "pool": (lambda z, b: compiled.max_pool_backward(z, b, 2), images, back),
        "argmax": (lambda z, y: compiled.argmax_backward(z, y, 0.3, 0.1), z, labels),
        "argmax,": (lambda z, y: compiled.argmax_backward(z, y, 0.3, None), z, labels),
    }
    function, *arguments = functions[name.split(" ")[0]]
    assert_position_does_not_matter(function, *arguments)


@both_types
def test_no_bit_depends_on_where_in_a_vector_an_element_stands(dtype):
    z, a = (random_messages(1, 203, seed=seed, dtype=dtype) for seed in range(2))
    whole = compiled.leaky_relu_forward(z, a, 0.1)[0], compiled.leaky_relu_backward(z, a, 0.1)[0]
    for start, stop in ((0, 1), (1, 17), (3, 203), (7, 8), (100, 131)):
        part = (slice(None), slice(start, stop))
        up, _ = compiled.leaky_relu_forward(z[part], a[part], 0.1)
        down, _ = compiled.leaky_relu_backward(z[part], a[part], 0.1)
        assert is_bitwise_equal(up, whole[0][part])
        assert is_bitwise_equal(down, whole[1][part])


@both_types
@pytest.mark.parametrize("name", sums(torch.float64))
def test_sums_of_a_member_have_the_same_bits_separately(name, dtype):
    function, arguments = getattr(compiled, name), sums(dtype)[name]
    together = as_message(function(*arguments))
    for member in range(3):
        one = slice(member, member + 1)
        alone = as_message(function(*(argument[one] for argument in arguments)))
        assert is_bitwise_equal(alone, together[one])


@both_types
@pytest.mark.parametrize("kernels", [compiled, reference], ids=["compiled", "reference"])
def test_inputs_that_are_observed_have_no_variance(kernels, dtype):
    mean, variance, *others = sums(dtype)["exact_weight_sums"]
    found = kernels.exact_weight_sums(mean, None, *others)
    expected = kernels.exact_weight_sums(mean, torch.zeros_like(variance), *others)
    assert is_bitwise_equal(found, expected)


@both_types
def test_sums_over_more_than_a_tile_run_in_the_same_order(dtype):
    a = random_messages(1, 150, 140, seed=1, dtype=dtype)
    w = random_messages(1, 135, 140, seed=2, dtype=dtype)
    g = torch.rand(1, 150, 135, generator=torch.Generator().manual_seed(1)).to(dtype) * 1e-4
    arguments = (a.mean, a.variance, w.mean, w.variance, g, g - 5e-5)
    for name in ("exact_weight_sums", "exact_input_sums"):
        found, expected = (getattr(m, name)(*arguments) for m in (compiled, reference))
        scale = expected.tau.abs().max().item()
        tolerance = 1e-12 if dtype is torch.float64 else 1e-5
        torch.testing.assert_close(found.rho, expected.rho, rtol=tolerance, atol=0)
        torch.testing.assert_close(found.tau, expected.tau, rtol=tolerance, atol=tolerance * scale)
    few = compiled.exact_weight_sums(*(t[:, :, :13] for t in arguments[:4]), *arguments[4:])
    assert is_bitwise_equal(few, compiled.exact_weight_sums(*arguments)[:, :, :13])


pairs = st.lists(st.tuples(extreme, extreme), min_size=1, max_size=20)


@given(pairs=pairs, slope=st.sampled_from([*SLOPES, 0.01]), dtype=dtypes)
@settings(max_examples=300)
def test_extremes_give_valid_messages_and_no_counts_of_uniform_ones(pairs, slope, dtype):
    z, a = (of_extremes(list(side), dtype) for side in zip(*pairs, strict=True))
    z, a = (Gaussian(m.tau[None], m.rho[None]) for m in (z, a))
    up, fell_back = compiled.leaky_relu_forward(z, a, slope)
    down, replaced = compiled.leaky_relu_backward(z, a, slope)
    direct, none = compiled.leaky_relu_forward(z, None, slope)
    assert up.is_valid().all()
    assert down.is_valid().all()
    assert direct.is_valid().all()
    assert none.sum() == 0
    uniform = a.rho == 0
    assert is_bitwise_equal(up[uniform], direct[uniform])
    assert fell_back.item() <= (~uniform).sum()
    assert replaced.item() <= (~uniform).sum()
    assert (down.rho >= 0.99e-8).all()


@given(
    rows=st.lists(st.lists(extreme, min_size=4, max_size=4), min_size=1, max_size=8), dtype=dtypes
)
@settings(max_examples=200)
def test_extreme_labels_and_windows_give_valid_messages(rows, dtype):
    z = of_extremes([pair for row in rows for pair in row], dtype)
    z = Gaussian(z.tau.view(1, len(rows), 4), z.rho.view(1, len(rows), 4))
    labels = torch.arange(len(rows))[None] % 4
    for target_variance in (None, 0.1):
        out = compiled.argmax_backward(z, labels, 0.3, target_variance)
        assert out.is_valid().all()
    images = Gaussian(*(t.view(1, len(rows), 2, 2) for t in (z.tau, z.rho)))
    pooled = compiled.max_pool_forward(images, 2)
    assert pooled.is_valid().all()
    assert compiled.max_pool_backward(images, pooled, 2).is_valid().all()


def test_callers_mistakes_are_said():
    z, a = random_messages(2, 3, 4, seed=1), random_messages(2, 3, 5, seed=2)
    with pytest.raises(ValueError, match=r"shape \(2, 3, 4\).*got \(2, 3, 5\)"):
        compiled.leaky_relu_forward(z, a, 0.1)
    with pytest.raises(ValueError, match=r"float64.*float32"):
        compiled.leaky_relu_backward(z, Gaussian(z.tau.float(), z.rho.float()), 0.1)
    with pytest.raises(ValueError, match="from 0 to 3"):
        compiled.argmax_backward(z, torch.full((2, 3), 4), 0.3, None)
    with pytest.raises(ValueError, match="from 0 to 3"):
        compiled.argmax_backward(z, torch.full((2, 3), -1), 0.3, None)
    for size in (0, 4, 12):
        with pytest.raises(ValueError, match="side 1 to 11"):
            compiled.max_pool_forward(z, size)
    with pytest.raises(ValueError, match="needed tensors"):
        compiled.max_pool_backward(z, z, 2)
    with pytest.raises(ValueError, match=r"shape \(2, 3, 5\)"):
        contiguous(z.rho, (2, 3, 5), z.tau)
