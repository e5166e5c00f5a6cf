"""Several settings of a method in one stack: each equals its separate fit, bit for bit."""

import math
from dataclasses import replace
from typing import Any

import pytest
import torch

from bnnbench.methods.adamw import AdamW
from bnnbench.methods.base import InferenceDiverged, Problem
from bnnbench.methods.batch_ensemble.tabm import TabM
from bnnbench.methods.checkpoints.checkpoint import checkpointing
from bnnbench.methods.ensemble import Ensemble
from bnnbench.methods.epinet.method import Epinet
from bnnbench.methods.fitting import batched
from bnnbench.methods.fitting.optimisers import Adam, Sgd
from bnnbench.methods.fitting.randomness import Streams, normal
from bnnbench.methods.ivon import Ivon
from bnnbench.methods.mfvi import Mfvi
from bnnbench.methods.networks.architectures import BatchNorm, Linear, ReLU
from bnnbench.methods.sgd import Sgd as SgdMethod
from bnnbench.methods.tuning import trials
from bnnbench.methods.tuning.space import configured, space_of
from bnnbench.methods.vbll.method import Vbll
from tests.methods.problems import classification, images, regression, stream, streams

METHODS = [
    AdamW(batch_size=8),
    SgdMethod(batch_size=8),
    Ivon(batch_size=8, draws=3),
    Mfvi(batch_size=8, draws=3),
    Ensemble(2, AdamW(batch_size=8)),
    Vbll(batch_size=8, draws=3),
    TabM(size=3, batch_size=8),
    Epinet(dimension=3, batch_size=8, draws=3),
]
IDS = [type(method).__name__ for method in METHODS]


def variants_of(method: Any) -> list[Any]:
    """Return several settings, with unordered lengths."""
    space = space_of(method)
    assert space.length
    lengths = (3, 5, 1, 5, 2, 4)
    drawn = trials.settings(space, 8)
    return [
        configured(method, {**settings, space.length: length})
        for settings, length in zip(drawn, lengths, strict=False)
    ]


def tensors(result: Any, problem: Problem) -> list[torch.Tensor]:
    prediction = result.predict(problem.train.inputs, stream(99))
    return list(vars(prediction).values())


def assert_same(one: Any, other: Any, problem: Problem) -> None:
    if isinstance(one, InferenceDiverged) or isinstance(other, InferenceDiverged):
        assert type(one) is type(other)
        return
    for a, b in zip(tensors(one, problem), tensors(other, problem), strict=True):
        assert torch.equal(a, b)


@pytest.mark.parametrize("method", METHODS, ids=IDS)
@pytest.mark.parametrize("make", [regression, classification])
@pytest.mark.parametrize("shared", [False, True])
def test_each_variant_is_as_if_it_were_alone(method, make, shared):
    variants = variants_of(method)
    problems = [make(seed % 3, rows=21) for seed in range(len(variants))]
    if shared:
        rngs = [streams(5, 6)[n % 2] for n in range(2)] * 3
    else:
        rngs = streams(*range(len(variants)))
    together = type(method).fit_variants(variants, problems, rngs)
    for number, (variant, problem) in enumerate(zip(variants, problems, strict=True)):
        seed = 5 + number % 2 if shared else number
        (alone,) = variant.fit_many([problem], [stream(seed)])
        assert_same(together[number], alone, problem)


def test_statistics_of_batches_are_each_members_own():
    network = (Linear(6), BatchNorm(), ReLU(), Linear(1))
    variants = variants_of(AdamW(batch_size=8))
    problems = [regression(seed, architecture=network) for seed in range(len(variants))]
    together = AdamW.fit_variants(variants, problems, streams(*range(6)))
    for number, (variant, problem) in enumerate(zip(variants, problems, strict=True)):
        assert_same(together[number], variant.fit(problem, stream(number)), problem)


def test_one_that_diverges_changes_no_other():
    method = SgdMethod(batch_size=8, epochs=6)
    variants = [replace(method, learning_rate=r) for r in (0.01, 1e30, 0.02)]
    problems = [regression(seed) for seed in range(3)]
    together = SgdMethod.fit_variants(variants, problems, streams(0, 1, 2))
    assert isinstance(together[1], InferenceDiverged)
    for number in (0, 2):
        alone = variants[number].fit(problems[number], stream(number))
        assert_same(together[number], alone, problems[number])


def test_convolutions_and_large_stacks_are_cut(monkeypatch):
    variants = variants_of(AdamW(batch_size=8))
    shared = stream(3)
    for make in (images, regression):
        monkeypatch.setattr(batched, "MOST_MEMBERS", 2)
        problems = [make(seed) for seed in range(len(variants))]
        together = AdamW.fit_variants(variants, problems, [shared.manual_seed(3)] * len(variants))
        for fitted, variant, problem in zip(together, variants, problems, strict=True):
            assert_same(fitted, variant.fit(problem, stream(3)), problem)


def test_other_settings_must_agree():
    with pytest.raises(ValueError, match="differ only in learning_rate, weight_decay, epochs"):
        AdamW.fit_variants(
            [AdamW(batch_size=8), AdamW(batch_size=4)], [regression()] * 2, streams(0, 1)
        )


@pytest.mark.parametrize("method", METHODS[:4], ids=IDS[:4])
def test_an_interrupted_stack_goes_on_bit_for_bit(method, tmp_path, monkeypatch):
    variants = variants_of(method)
    problems = [regression(seed) for seed in range(len(variants))]

    def fitted(stop: int | None = None):
        calls = 0

        def listen(done: int, total: int, loss: float) -> None:
            nonlocal calls
            calls += 1
            if calls == stop:
                raise KeyboardInterrupt

        with batched.progress.listening(listen):
            rngs = streams(*range(len(variants)))
            return type(method).fit_variants(variants, problems, rngs)

    whole = fitted()
    with pytest.raises(KeyboardInterrupt), checkpointing(tmp_path, {"fit": "1"}, every=0):
        fitted(stop=4)
    with checkpointing(tmp_path, {"fit": "1"}, every=0) as checkpoint:
        resumed = fitted()
    assert checkpoint.resumed == 1
    for one, other, problem in zip(whole, resumed, problems, strict=True):
        assert_same(one, other, problem)


FACTORS = [0.5 * (1 + math.cos(math.pi * step / 50)) for step in range(50)]


@pytest.mark.parametrize("kind", ["adamw", "adam", "sgd"])
def test_optimisers_agree_with_torch(kind):
    rng = stream(0)
    start = torch.randn(3, 7, generator=rng, dtype=torch.float64)
    gradients = torch.randn(50, 3, 7, generator=rng, dtype=torch.float64)
    rates, decays = [0.1, 0.01, 0.3], [0.0, 0.1, 0.5]
    ours = start.clone()
    if kind == "sgd":
        optimiser = Sgd([ours], rates, decays, 0.9)
    else:
        optimiser = Adam([ours], rates, decays if kind == "adamw" else None)
    for factor, gradient in zip(FACTORS, gradients, strict=True):
        optimiser.begin_epoch([factor] * 3)
        optimiser.step(gradient)
    for member in range(3):
        weights = start[member].clone().requires_grad_()
        rate, decay = rates[member], decays[member]
        theirs = {
            "sgd": lambda w=weights, r=rate, d=decay: torch.optim.SGD([w], r, 0.9, 0, d),
            "adamw": lambda w=weights, r=rate, d=decay: torch.optim.AdamW([w], r, weight_decay=d),
            "adam": lambda w=weights, r=rate, d=decay: torch.optim.Adam([w], r),
        }[kind]()
        for factor, gradient in zip(FACTORS, gradients, strict=True):
            theirs.param_groups[0]["lr"] = rate * factor
            weights.grad = gradient[member].clone()
            theirs.step()
        torch.testing.assert_close(ours[member], weights.detach(), rtol=1e-12, atol=1e-13)


def test_members_with_one_generator_get_the_same_numbers():
    one, other = streams(1, 2)
    drawn = normal(Streams([one, other, one]), 4, dtype=torch.float32)
    assert torch.equal(drawn[0], drawn[2])
    alone = normal(streams(1, 2), 4, dtype=torch.float32)
    assert torch.equal(drawn[:2], alone)
