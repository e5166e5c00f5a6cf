"""Updates of a layer's weights, compared with products of Gaussians and sums, written out."""

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from bnnbench.methods.message_passing.gaussian import Gaussian
from bnnbench.methods.message_passing.kernels import compiled, reference
from bnnbench.methods.message_passing.kernels.table import KERNELS
from bnnbench.methods.message_passing.layers.base import Visit
from bnnbench.methods.message_passing.layers.later import LaterLayer
from bnnbench.methods.message_passing.layers.weighted import Weights
from bnnbench.methods.message_passing.maps.base import Dense
from bnnbench.methods.message_passing.schedule import Coupled, GroupSequential
from bnnbench.methods.message_passing.stacks import InputMoments, InputSums
from bnnbench.methods.networks.architectures import Linear
from tests.methods.message_passing.factors.messages import DTYPES, random_messages

BACKENDS = {"reference": reference, "compiled": compiled}
on_both = pytest.mark.parametrize("kernels", BACKENDS.values(), ids=BACKENDS)
both_types = pytest.mark.parametrize("dtype", DTYPES)
LENGTHS = [(2, 4, 21, 5), (1, 1, 1, 1), (1, 7, 16, 2), (3, 16, 1100, 3), (1, 37, 130, 4)]
"""Members, rows, inputs and outputs: less than a vector, vectors, tiles, and more."""
every_length = pytest.mark.parametrize("lengths", LENGTHS)


def numbers(*shape: int, seed: int, dtype: torch.dtype = torch.float64) -> Tensor:
    rng = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=rng, dtype=torch.float64).to(dtype)


def marginals(*shape: int, seed: int, dtype: torch.dtype = torch.float64) -> Gaussian:
    """Return proper marginals."""
    rho = numbers(*shape, seed=seed, dtype=dtype).square() + 0.3
    return Gaussian(numbers(*shape, seed=seed + 50, dtype=dtype) * rho, rho)


def copied(message: Gaussian) -> Gaussian:
    return Gaussian(message.tau.clone(), message.rho.clone())


class Layer:
    """A dense layer's parameters, those of a group of rows, and buffers for its messages."""

    def __init__(self, lengths: tuple[int, ...], dtype: torch.dtype = torch.float64) -> None:
        members, rows, inputs, outputs = lengths
        self.weight = marginals(members, outputs, inputs, seed=1, dtype=dtype)
        self.total: Gaussian | None = marginals(members, outputs, inputs, seed=2, dtype=dtype)
        self.old = marginals(members, outputs, inputs, seed=3, dtype=dtype)
        self.kept = copied(self.old)
        self.a = marginals(members, rows, inputs, seed=4, dtype=dtype)
        mean = self.a.mean
        self.moments = InputMoments.of(torch.cat([mean, mean.square(), self.a.variance]))
        self.h = numbers(members, rows, outputs, seed=5, dtype=dtype)
        self.g = numbers(members, rows, outputs, seed=6, dtype=dtype).square()

    def of(self, member: int) -> "Layer":
        """Return one member by itself."""
        one = slice(member, member + 1)
        alone = Layer.__new__(Layer)
        for name in ("weight", "total", "old", "kept"):
            setattr(alone, name, copied(getattr(self, name)[one]))
        parts = self.moments.mean, self.moments.square, self.moments.variance
        alone.moments = InputMoments.of(torch.cat([part[one] for part in parts]))
        alone.h, alone.g = self.h[one], self.g[one]
        return alone

    def sent(
        self, kernels, with_old: bool = True, kept: bool = True, in_place: bool = False
    ) -> list[Tensor]:
        """Return everything that an exchange of messages returns or changes."""
        books = copied(self.weight), self.total and copied(self.total)
        room = copied(self.kept)
        old = room if in_place else self.old
        sums = kernels.dense_messages(
            *books, self.moments, self.h, self.g, old if with_old else None,
            room if kept else None, 0.3,
        )  # fmt: skip
        return [
            torch.cat(sums.parts()),
            *(part for m in (*books, room) if m for part in (m.tau, m.rho)),
        ]


@on_both
def test_moments_of_weights_agree_with_their_marginals(kernels):
    weight = marginals(2, 3, 5, seed=1)
    mean, variance, second = (torch.empty(2, 3, 5, dtype=torch.float64) for _ in range(3))
    kernels.fill_weight_moments(weight, mean, variance, second)
    assert_close(mean, weight.mean)
    assert_close(variance, weight.variance)
    assert_close(second, weight.variance + weight.mean.square())


@on_both
@pytest.mark.parametrize("damping", [1.0, 0.3])
def test_a_message_takes_the_place_of_the_old_one_wherever_that_stands(kernels, damping):
    prior, others, old, new = (marginals(2, 3, 5, seed=seed) for seed in range(4))
    marginal, total, kept = copied(prior * others * old), copied(others), copied(old)
    kernels.exchange(marginal, total, new, old, kept, damping)
    moved = old.moved(new, damping)
    for found, expected in (
        (kept, moved), (marginal, prior * others * moved), (total, others * moved)
    ):  # fmt: skip
        assert_close(found.tau, expected.tau)
        assert_close(found.rho, expected.rho)


@on_both
def test_a_message_may_be_stored_where_the_old_one_stood(kernels):
    weight, total, new, old = (marginals(2, 3, 37, seed=seed) for seed in range(4))
    apart, kept = [copied(weight), copied(total)], copied(old)
    kernels.exchange(*apart, new, old, kept, 0.3)
    together, stored = [copied(weight), copied(total)], copied(old)
    kernels.exchange(*together, new, stored, stored, 0.3)
    for found, expected in zip((*together, stored), (*apart, kept), strict=True):
        assert torch.equal(found.tau, expected.tau)
        assert torch.equal(found.rho, expected.rho)
    layer = Layer((2, 4, 21, 5))
    assert all(map(torch.equal, layer.sent(kernels, in_place=True), layer.sent(kernels)))


@on_both
def test_a_first_message_joins_whatever_is_there(kernels):
    before, others, new = (marginals(2, 3, 5, seed=seed) for seed in range(3))
    marginal, total = copied(before), copied(others)
    kernels.exchange(marginal, total, new, None, None, 1.0)
    assert_close(marginal.rho, (before * new).rho)
    assert_close(marginal.tau, (before * new).tau)
    assert_close(total.tau, (others * new).tau)


@on_both
def test_a_total_that_nobody_asks_for_changes_nothing_else(kernels):
    layer, without = Layer((2, 4, 21, 5)), Layer((2, 4, 21, 5))
    sums, tau, rho, _, _, *kept = layer.sent(kernels)
    without.total = None
    found = without.sent(kernels)
    assert all(torch.equal(a, b) for a, b in zip(found, (sums, tau, rho, *kept), strict=True))
    marginal, alone = copied(layer.weight), copied(layer.weight)
    kernels.exchange(marginal, copied(layer.total), layer.old, None, None, 1.0)
    kernels.exchange(alone, None, layer.old, None, None, 1.0)
    assert torch.equal(alone.tau, marginal.tau)
    assert torch.equal(alone.rho, marginal.rho)


@on_both
@every_length
def test_sums_over_inputs_are_moments_of_sums_of_products(kernels, lengths):
    layer = Layer(lengths)
    w, s_w, a, s_a = layer.weight.mean, layer.weight.variance, layer.a.mean, layer.a.variance
    variance = torch.empty_like(s_w)
    sums = kernels.dense_sums(layer.weight, layer.moments, variance)
    assert_close(sums.mean, torch.einsum("mni,moi->mno", a, w))
    assert_close(sums.by_weights, torch.einsum("mni,moi->mno", a.square(), s_w))
    assert_close(sums.by_inputs, torch.einsum("mni,moi->mno", s_a, s_w + w.square()))
    assert_close(variance, s_w)
    again = kernels.dense_sums(layer.weight, layer.moments, None)
    assert all(map(torch.equal, again.parts(), sums.parts()))


@on_both
@every_length
@pytest.mark.parametrize("with_old", [True, False])
def test_messages_of_rows_agree_with_products_to_zeroth_order(kernels, with_old, lengths):
    layer = Layer(lengths)
    w, s_w, a, s_a = layer.weight.mean, layer.weight.variance, layer.a.mean, layer.a.variance
    to_inputs, tau, rho, total_tau, total_rho, kept_tau, kept_rho = layer.sent(kernels, with_old)
    # For every row: precision g E[a²], and tau = E[a] (h + g E[a] E[w]).
    precision = torch.einsum("mno,mni->moi", layer.g, a.square() + s_a)
    pull = torch.einsum("mno,mni->moi", layer.h, a)
    pull += w * torch.einsum("mno,mni->moi", layer.g, a.square())
    new = Gaussian(pull, precision)
    old = layer.old if with_old else Gaussian.uniform(*pull.shape, pattern=pull)
    moved = old.moved(new, 0.3)
    for found, expected in (
        (Gaussian(kept_tau, kept_rho), moved),
        (Gaussian(tau, rho), layer.weight * moved / old),
        (Gaussian(total_tau, total_rho), layer.total * moved),
    ):
        assert_close(found.tau, expected.tau)
        assert_close(found.rho, expected.rho)
    sums = InputSums.of(to_inputs)
    assert_close(sums.force, torch.einsum("mno,moi->mni", layer.h, w))
    assert_close(sums.gain_of_variance, torch.einsum("mno,moi->mni", layer.g, s_w))
    assert_close(sums.precision, torch.einsum("mno,moi->mni", layer.g, s_w + w.square()))


@every_length
def test_single_precision_is_as_good_as_it_can_be(lengths):
    found, expected = (Layer(lengths, dtype) for dtype in (torch.float32, torch.float64))
    pairs = zip(found.sent(compiled), expected.sent(reference), strict=True)
    sums = [torch.cat(compiled.dense_sums(found.weight, found.moments, None).parts())]
    sums.append(torch.cat(reference.dense_sums(expected.weight, expected.moments, None).parts()))
    for value, truth in (*pairs, sums):
        assert_close(value.double(), truth, rtol=1e-5, atol=1e-6 * float(truth.abs().max()))


@both_types
@pytest.mark.parametrize("rows", [4, 37])
def test_members_have_the_same_bits_separately(rows, dtype):
    layer = Layer((3, rows, 130, 5), dtype)
    sums = torch.cat(compiled.dense_sums(layer.weight, layer.moments, None).parts())
    sent = layer.sent(compiled)
    for member in range(3):
        alone = layer.of(member)
        found = torch.cat(compiled.dense_sums(alone.weight, alone.moments, None).parts())
        assert torch.equal(found, sums.unflatten(0, (3, 3))[:, member])
        to_inputs, *books = alone.sent(compiled)
        assert torch.equal(to_inputs, sent[0].unflatten(0, (3, 3))[:, member])
        for part, together in zip(books, sent[1:], strict=True):
            assert torch.equal(part[0], together[member])


def test_what_nobody_keeps_changes_nothing_else():
    layer = Layer((2, 4, 21, 5))
    *found, tau, rho = layer.sent(compiled, kept=False)
    *expected, _, _ = layer.sent(compiled)
    assert all(torch.equal(a, b) for a, b in zip(found, expected, strict=True))
    assert torch.equal(tau, layer.kept.tau)
    assert torch.equal(rho, layer.kept.rho)


def a_visit(kernels, schedule, monkeypatch, few_rows: int) -> list[Tensor]:
    """Return the messages and the state of a layer after two iterations, for seven examples."""
    monkeypatch.setattr(kernels, "FEW_ROWS", few_rows)
    layer = LaterLayer(Dense(Linear(5), 21), "zeroth", kernels)
    layer.start_from(Weights(marginals(2, 5, 21, seed=1), marginals(2, 5, seed=2)))
    visit, found = Visit(schedule, 2, 7, iterations=2), []
    layer.open(visit)
    for iteration in range(2):
        visit.start(iteration)
        for group in range(visit.groups):
            visit.group = group
            inputs, above = (marginals(2, 7, n, seed=n + iteration) for n in (21, 5))
            z, residue = layer.forward(inputs[:, visit.rows], visit)
            down = layer.backward(residue, above[:, visit.rows], visit)
            found += [z.tau, z.rho, down.tau, down.rho]
        aggregate = layer.refresh()
        found += [p for m in (*aggregate.parts(), *layer.marginal.parts()) for p in (m.tau, m.rho)]
    return found


@on_both
@pytest.mark.parametrize("schedule", [GroupSequential(4, 0.5), Coupled(4), Coupled(3, 1.0)])
def test_a_layer_sends_the_same_messages_by_either_kind_of_sums(kernels, schedule, monkeypatch):
    one_by_one = a_visit(kernels, schedule, monkeypatch, few_rows=3)
    products = a_visit(kernels, schedule, monkeypatch, few_rows=0)
    few = a_visit(kernels, schedule, monkeypatch, few_rows=4)
    for found in (one_by_one, few):
        for value, truth in zip(found, products, strict=True):
            assert_close(value, truth)


@both_types
@pytest.mark.parametrize("layout", ["contiguous", "channels last"])
def test_emulated_kernels_have_the_bits_of_the_kernels_in_c(layout, dtype, emulated):
    def laid(t: Tensor) -> Tensor:
        if layout == "contiguous":
            return t.clone()
        return t.permute(0, 1, 3, 4, 2).contiguous().permute(0, 1, 4, 2, 3)

    def results(kernels) -> list[Tensor]:
        weight, total, new, old = (
            Gaussian(laid(m.tau), laid(m.rho))
            for m in (marginals(1, 3, 4, 5, 5, seed=seed, dtype=dtype) for seed in range(4))
        )
        moments = [torch.empty_like(weight.rho) for _ in range(3)]
        kernels.fill_weight_moments(weight, *moments)
        kept = Gaussian(torch.empty_like(weight.tau), torch.empty_like(weight.rho))
        kernels.exchange(weight, total, new, None, None, 1.0)
        kernels.exchange(weight, total, new, old, kept, 0.3)
        return [*moments, *(part for m in (weight, total, kept) for part in (m.tau, m.rho))]

    for found, expected in zip(results(emulated), results(compiled), strict=True):
        assert torch.equal(found, expected)
    launched = {name for name, _ in emulated.launched}
    assert launched == {name for name, kernel in KERNELS.items() if kernel.file == "weights"}


@both_types
def test_layouts_do_not_matter(dtype):
    weight, new = (marginals(1, 3, 4, 5, 5, seed=seed, dtype=dtype) for seed in range(2))
    last = Gaussian(*(t.movedim(2, -1).contiguous().movedim(-1, 2) for t in (new.tau, new.rho)))
    found = []
    for message in (new, last):
        marginal, total = copied(weight), copied(weight)
        compiled.exchange(marginal, total, message, None, None, 1.0)
        found.append(marginal)
    assert torch.equal(found[0].tau, found[1].tau)


def test_callers_mistakes_are_said():
    weight, other = marginals(2, 3, 5, seed=1), random_messages(2, 3, 4, seed=2)
    with pytest.raises(ValueError, match=r"shape \(2, 3, 5\).*got \(2, 3, 4\)"):
        compiled.exchange(weight, copied(weight), other, None, None, 1.0)
    single = Gaussian(weight.tau.float(), weight.rho.float())
    with pytest.raises(ValueError, match=r"float64.*float32"):
        compiled.exchange(weight, single, weight, None, None, 1.0)
    sparse = Gaussian(*(torch.empty(2, 3, 10, dtype=torch.float64)[..., ::2] for _ in range(2)))
    with pytest.raises(ValueError, match="one dense layout"):
        compiled.exchange(weight, sparse, weight, None, None, 1.0)
    moments = InputMoments.of(torch.zeros(6, 4, 5, dtype=torch.float64))
    with pytest.raises(ValueError, match=r"shape \(6, 4, 5\)"):
        compiled.dense_sums(weight, InputMoments.of(moments.stacked[:3]), None)
    turned = Gaussian(*(t.mT.contiguous().mT for t in (weight.tau, weight.rho)))
    with pytest.raises(ValueError, match="contiguous weights"):
        compiled.dense_sums(turned, moments, None)
