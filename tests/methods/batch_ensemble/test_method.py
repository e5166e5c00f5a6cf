"""BatchEnsemble and TabM: initial members, training, and mixtures."""

from dataclasses import replace

import pytest
import torch

from bnnbench.methods.adamw import AdamW
from bnnbench.methods.base import Unsupported
from bnnbench.methods.batch_ensemble.method import BatchEnsemble
from bnnbench.methods.batch_ensemble.tabm import TabM
from bnnbench.methods.batch_ensemble.training import SharedMembers
from bnnbench.methods.fitting.optimisers import Adam
from bnnbench.methods.networks.start import Start
from tests.methods.problems import classification, regression, stream, streams


def initial(method, problem):
    return SharedMembers([method] * 2, [problem] * 2, streams(0, 1))


def test_scales_of_batch_ensemble_are_random_signs():
    scales = initial(BatchEnsemble(size=50), regression()).scales
    assert torch.equal(scales.abs(), torch.ones_like(scales))
    assert abs(scales.mean()) < 5 / scales.numel() ** 0.5
    assert not torch.equal(scales[0], scales[1])


def test_only_first_inputs_of_tabm_have_signs_and_members_start_apart():
    training = initial(TabM(size=4), regression())
    r, s = training.scales.view(2, 4, -1).split(training.layout.scale_sizes, 2)
    assert (r == -1).any()
    assert torch.equal(r.abs(), torch.ones_like(r))
    assert torch.equal(s, torch.ones_like(s))
    weights = training.layout.weights(training.numbers, torch.ones_like(training.scales))
    hidden, last = weights[:, :35].view(2, 4, 35), weights[:, 35:-1].view(2, 4, -1)
    assert torch.equal(hidden, hidden[:, :1].expand_as(hidden))
    assert len(last.flatten(0, 1).unique(dim=0)) == 8


@pytest.mark.parametrize("make", [regression, classification])
def test_one_member_with_scales_of_one_trains_like_adamw(make):
    problem = make()
    settings = {"learning_rate": 0.01, "weight_decay": 0.1, "epochs": 4, "batch_size": 8}
    method = BatchEnsemble(size=1, heteroscedastic=False, **settings)
    training = SharedMembers([method], [problem], [rng := stream(0)])
    training.scales.fill_(1.0)
    training.of_scales = Adam([training.scales], [0.0])
    training.stack.network.initial_weights([beside := stream(0)])
    rng.set_state(beside.get_state())  # as before the scales were drawn
    training.run([4], "cosine")
    (posterior,) = training.posteriors()
    expected = AdamW(**settings).fit(problem, stream(0))
    assert torch.equal(posterior.weights, expected.weights)
    assert posterior.noise_variance == expected.noise_variance


@pytest.mark.parametrize("method", [BatchEnsemble(epochs=2), TabM(epochs=2, size=5)])
@pytest.mark.parametrize("make", [regression, classification])
def test_a_draw_is_one_member_whatever_the_points(method, make):
    problem = make()
    posterior = method.fit(problem, stream(0))
    whole = vars(posterior.predict(problem.train.inputs, stream(1)))
    some = vars(posterior.predict(problem.train.inputs[3:9], stream(2)))
    for name, array in some.items():
        assert len(array) == method.size
        torch.testing.assert_close(whole[name][:, 3:9], array)
        assert len(array[:, 0].unique(dim=0)) == method.size


def test_a_known_noise_is_the_variance_of_every_member():
    posterior = BatchEnsemble(epochs=1).fit(regression(noise_std=0.5), stream(0))
    variances = posterior.predict(torch.zeros(3, 4), stream(1)).variances
    assert torch.equal(variances, torch.full_like(variances, 0.25))


def test_a_trained_network_is_refused():
    problem = regression()
    start = Start(torch.zeros(4 * 7 + 7 + 7 + 1), torch.zeros(0))
    with pytest.raises(Unsupported, match="cannot start from a trained network"):
        BatchEnsemble().fit(replace(problem, start=start), stream(0))
