"""Treatments of a trained network: of its last layer, of several files, guarded, rescaled."""

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import pytest
import torch
from torch import nn

from bnnbench.datasets.base import Categorical, Gaussian, Split
from bnnbench.methods.base import Problem, Unsupported
from bnnbench.methods.given import Given
from bnnbench.methods.hmc.method import Hmc
from bnnbench.methods.networks.architectures import Linear, TorchModule
from bnnbench.methods.networks.modules.trained import start_of
from bnnbench.methods.neural_linear import NeuralLinear
from bnnbench.methods.post_hoc.checkpoints import Checkpoints
from bnnbench.methods.post_hoc.conformal import Conformal
from bnnbench.methods.post_hoc.guarded import Guarded, GuardedPosterior
from bnnbench.methods.post_hoc.on_last_layer import OnLastLayer
from bnnbench.methods.post_hoc.rescaled import Rescaled, RescaledPosterior, best_factor
from bnnbench.methods.post_hoc.tempered import Tempered
from bnnbench.methods.predictions.predictive import CategoricalPredictive, GaussianPredictive
from bnnbench.methods.tuning.temperature import TemperedPosterior
from tests.methods.networks.modules.examples import Mlp, ResNet
from tests.methods.problems import stream

MODULE = "tests.methods.networks.modules.examples"
LAYER = TorchModule(f"{MODULE}:ResNet", 3)
SHAPE = (2, 8, 8)


def rows(count, seed):
    rng = stream(seed)
    return Split(
        torch.randn(count, *SHAPE, generator=rng), torch.randint(3, (count,), generator=rng)
    )


def network(seed=0):
    torch.manual_seed(seed)
    return ResNet().eval()


def problem(module, **others):
    start = start_of((LAYER,), SHAPE, module.state_dict())
    return Problem(rows(60, 0), Categorical(3), (LAYER,), start=start, **others)


def test_the_last_layer_as_it_is_predicts_like_the_network():
    given = problem(network(), calibration=rows(20, 1))
    inputs = rows(30, 2).inputs
    whole = Given().fit(given, stream(0)).predict(inputs, stream(1))
    alone = OnLastLayer(Given()).fit(given, stream(0)).predict(inputs, stream(1))
    torch.testing.assert_close(alone.log_probs, whole.log_probs, rtol=1e-4, atol=1e-5)  # pyright: ignore


def test_draws_of_the_last_layer_agree_with_a_fit_to_features_computed_by_torch():
    module = network()
    given = problem(module)
    with torch.no_grad():
        features = nn.Sequential(*[*module.children()][:-1])  # torchvision's order of layers
        train, new = (features(x).flatten(1) for x in (given.train.inputs, rows(9, 3).inputs))
    mean, std = train.mean(0), train.std(0, correction=0)
    method = Hmc(draws=40, warmup=40, chains=2)
    inner = Problem(Split((train - mean) / std, given.train.targets), Categorical(3), (Linear(3),))
    expected = method.fit(inner, stream(0)).predict((new - mean) / std, stream(1))
    found = OnLastLayer(method).fit(given, stream(0)).predict(rows(9, 3).inputs, stream(1))
    torch.testing.assert_close(
        found.mixture_log_probs,
        expected.mixture_log_probs,
        rtol=1e-2,
        atol=1e-2,  # pyright: ignore
    )


def test_the_neural_linear_model_is_one_of_the_last_layers():
    module = TorchModule(f"{MODULE}:Mlp", 1)
    targets = torch.randn(50, 1, generator=stream(1))
    split = Split(torch.randn(50, 4, generator=stream(0)), targets)
    start = start_of((module,), (4,), Mlp().state_dict())
    given = Problem(split, Gaussian(), (module,), start=start)
    method = OnLastLayer(NeuralLinear(Given()))
    mean = method.fit(given, stream(0)).predict(split.inputs, stream(1)).mean  # pyright: ignore
    moved = replace(given, train=replace(split, targets=100 + 40 * targets))
    again = method.fit(moved, stream(0)).predict(split.inputs, stream(1)).mean  # pyright: ignore
    torch.testing.assert_close(again, 100 + 40 * mean, rtol=1e-4, atol=1e-3)
    unchanged = OnLastLayer(Given()).fit(moved, stream(0)).predict(split.inputs, stream(1))
    own = Given().fit(moved, stream(0)).predict(split.inputs, stream(1))
    torch.testing.assert_close(unchanged.mean, own.mean, rtol=1e-4, atol=1e-4)  # pyright: ignore
    torch.testing.assert_close(unchanged.variance, own.variance, rtol=1e-3, atol=1e-4)  # pyright: ignore


@dataclass(frozen=True)
class Fixed:
    """A treatment that predicts the true class with this probability, out of three."""

    probability: float

    @property
    def diagnostics(self):
        return {}

    def fit(self, problem, rng):
        return self

    def predict(self, inputs, rng):
        labels = inputs.new_zeros(len(inputs)).long()
        rest = math.log((1 - self.probability) / 2)
        log_probs = torch.full((len(inputs), 3), rest)
        return CategoricalPredictive(
            log_probs.scatter(1, labels[:, None], math.log(self.probability))[None]
        )


def test_a_guard_takes_the_treatment_only_if_it_predicts_unseen_rows_better():
    unseen = replace(rows(40, 1), targets=torch.zeros(40, dtype=torch.int64))
    given = problem(network(), calibration=unseen)
    own = Given().fit(given, stream(0)).predict(unseen.inputs, stream(0))
    score = float(own.log_prob(unseen.targets).mean())  # pyright: ignore
    for probability in (0.999, 0.001):
        posterior = Guarded(Fixed(probability)).fit(given, stream(0))  # pyright: ignore
        assert isinstance(posterior, GuardedPosterior)
        assert posterior.gain == pytest.approx(math.log(probability) - score, rel=1e-4)
        assert posterior.untreated == (probability < 0.5)
    with pytest.raises(Unsupported, match="rows to choose by"):
        Guarded(Fixed(0.5)).fit(replace(given, calibration=None), stream(0))  # pyright: ignore


def test_files_of_weights_are_averaged_and_their_checksums_kept(tmp_path):
    modules = [network(seed) for seed in range(3)]
    files = tuple(str(tmp_path / f"{seed}.pt") for seed in range(3))
    for module, file in zip(modules, files, strict=True):
        torch.save(module.state_dict(), file)
    inputs = rows(10, 2).inputs
    ensemble = Checkpoints(files)
    found = ensemble.fit(problem(modules[0]), stream(0)).predict(inputs, stream(1))
    with torch.no_grad():
        expected = torch.stack([m(inputs).softmax(1) for m in modules]).mean(0).log()
    torch.testing.assert_close(found.mixture_log_probs.float(), expected, rtol=1e-4, atol=1e-5)  # pyright: ignore
    torch.save(modules[0].state_dict(), files[1])
    with pytest.raises(ValueError, match="has changed"):
        replace(ensemble)


def test_a_temperature_is_chosen_by_the_calibration_rows():
    module = network()
    with torch.no_grad():
        module.fc.weight *= 30
        logits = module(rows(2000, 1).inputs)
    labels = torch.multinomial((logits / 3).softmax(1), 1, generator=stream(2))[:, 0]
    unseen = replace(rows(2000, 1), targets=labels)
    posterior = Tempered(Given()).fit(problem(module, calibration=unseen), stream(0))
    assert isinstance(posterior, TemperedPosterior)
    assert posterior.temperature == pytest.approx(3.0, rel=0.1)
    with pytest.raises(Unsupported, match="has not seen"):
        Tempered(Given()).fit(problem(module), stream(0))


def test_sets_hold_the_stated_share_of_rows_like_the_calibration_rows():
    unseen, new = rows(1000, 1), rows(1000, 2)
    posterior = Conformal(Given(), 0.8).fit(problem(network(), calibration=unseen), stream(0))
    members = posterior.predict(new.inputs, stream(0)).members  # pyright: ignore
    assert float(members.gather(1, new.targets[:, None]).double().mean()) > 0.8 - 4 * 0.018


@dataclass(frozen=True)
class Narrow:
    """A regression whose stated standard deviation is half of the true one."""

    diagnostics: ClassVar = {}

    def fit(self, problem, rng):
        return self

    def predict(self, inputs, rng):
        return GaussianPredictive(inputs[None, :, :1], torch.full((1, len(inputs), 1), 0.25))


def test_a_factor_of_the_variance_makes_up_for_a_wrong_spread():
    inputs = torch.randn(4000, 2, generator=stream(0))
    targets = inputs[:, :1] + torch.randn(4000, 1, generator=stream(1))
    train = Split(inputs[:20], targets[:20])
    given = Problem(train, Gaussian(), (), calibration=Split(inputs, targets))
    posterior = Rescaled(Narrow()).fit(given, stream(0))  # pyright: ignore
    assert isinstance(posterior, RescaledPosterior)
    assert posterior.factor == pytest.approx(4.0, rel=0.1)
    with pytest.raises(Unsupported, match="use Tempered"):
        Rescaled().fit(problem(network()), stream(0))


@pytest.mark.parametrize("rows_seen", [0, 1, 10_000])
def test_the_factor_maximises_its_density_and_stays_near_1_for_few_rows(rows_seen):
    squares = torch.full((rows_seen, 1), 9.0)
    factor = best_factor(squares)
    grid = torch.linspace(-3, 3, 60_001, dtype=torch.float64)
    density = -0.5 * rows_seen * (9.0 * (-grid).exp() + grid) - 0.125 * 10 * grid**2
    assert math.log(factor) == pytest.approx(float(grid[density.argmax()]), abs=1e-3)
