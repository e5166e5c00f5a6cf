"""SNGP: bounded blocks, the sum over training rows, and predictions."""

from dataclasses import replace

import pytest
import torch

from bnnbench.methods.base import Unsupported
from bnnbench.methods.fitting.network_posterior import POINTS_AT_ONCE
from bnnbench.methods.networks.own_network import own_network
from bnnbench.methods.post_hoc.on_last_layer import OnLastLayer
from bnnbench.methods.sngp.method import Sngp
from bnnbench.suites.check.problems import trained
from tests.methods.problems import classification, images, regression, stream, streams

SMALL = Sngp(width=12, features=20, epochs=20, learning_rate=0.02, batch_size=8)


@pytest.fixture(scope="module")
def posterior():
    return SMALL.fit(classification(dtype=torch.float64), stream(0))


def blocks_of(posterior):
    weights, body = posterior.features.weights[0], posterior.features.body
    parts = [part for part in body.parameters if ".body." in part.path]
    return [weights[part.offset : part.stop].view(part.shape) for part in parts]


def test_residual_matrices_keep_their_bound(posterior):
    matrices = blocks_of(posterior)[::2]
    norms = [float(torch.linalg.svdvals(matrix)[0]) for matrix in matrices]
    assert max(norms) <= 1.01 * 0.95
    assert max(norms) > 0.9, "training does not reach the bound"
    assert posterior.diagnostics["spectral_norm"] == pytest.approx(max(norms))


def test_blocks_stretch_distances_between_one_minus_and_one_plus_the_bound(posterior):
    one, other = torch.randn(2, 500, 12, generator=stream(1), dtype=torch.float64)
    matrix, bias, *_ = blocks_of(posterior)
    after = [x + (x @ matrix.mT + bias).relu() for x in (one, other)]
    stretch = (after[0] - after[1]).norm(dim=1) / (one - other).norm(dim=1)
    assert stretch.min() >= 1 - 1.01 * 0.95
    assert stretch.max() <= 1 + 1.01 * 0.95


def test_without_a_bound_norms_grow_past_it():
    free = replace(SMALL, norm_bound=None).fit(classification(), stream(0))
    assert free.diagnostics["spectral_norm"] > 1


def test_the_covariance_is_the_inverse_of_a_sum_over_all_training_rows(posterior):
    inputs = classification(dtype=torch.float64).train.inputs
    phi = posterior.features(inputs).detach()
    shares = (phi @ posterior.means.mT + posterior.biases).softmax(1)
    for k, root in enumerate(posterior.roots):
        rows = [p * (1 - p) * torch.outer(f, f) for p, f in zip(shares[:, k], phi, strict=True)]
        precision = torch.eye(20, dtype=torch.float64) + sum(rows)
        torch.testing.assert_close(root @ root.mT, torch.linalg.inv(precision))


def test_draws_have_the_moments_of_the_last_weights(posterior):
    many = replace(posterior, draws=20_000)
    inputs = classification(1, dtype=torch.float64).train.inputs[:5]
    phi = posterior.features(inputs).detach()
    logits = many.predict(inputs, stream(1)).log_probs
    contrasts = logits[..., 0] - logits[..., 1]
    spread = (phi @ posterior.roots).square().sum(-1)[:2].sum(0)
    means = phi @ (posterior.means[0] - posterior.means[1])
    means = means + posterior.biases[0] - posterior.biases[1]
    assert ((contrasts.mean(0) - means).abs() < 5 * (spread / 20_000).sqrt()).all()
    torch.testing.assert_close(contrasts.var(0), spread, rtol=0.05, atol=0)


def test_a_draw_is_the_same_function_whatever_the_points(posterior):
    drawn = replace(posterior, draws=4)
    inputs = classification(1, POINTS_AT_ONCE + 50, dtype=torch.float64).train.inputs
    whole = drawn.predict(inputs, stream(1)).log_probs
    some = drawn.predict(inputs[90:120], stream(1)).log_probs
    torch.testing.assert_close(whole[:, 90:120], some)


def test_far_from_the_data_the_variance_is_nearly_the_priors(posterior):
    far = posterior.features(1e3 * torch.ones(1, 4, dtype=torch.float64)).detach()
    near = posterior.features(classification(dtype=torch.float64).train.inputs).detach()
    spread = (near @ posterior.roots).square().sum(-1)
    assert (far @ posterior.roots).square().sum(-1).mean() > spread.mean()


def test_records_name_its_own_network(posterior):
    assert own_network(posterior)["parameters"] == 4 * 12 + 12 + 2 * (12 * 12 + 12) + 3 * 21


def test_variants_equal_their_separate_fits():
    bounds, lengths = (0.5, 3.0, 0.95), (1, 3, 2)
    variants = [
        replace(SMALL, norm_bound=b, epochs=n) for b, n in zip(bounds, lengths, strict=True)
    ]
    problems = [classification(seed, 21) for seed in range(3)]
    together = Sngp.fit_variants(variants, problems, streams(0, 1, 2))
    for number, (variant, problem) in enumerate(zip(variants, problems, strict=True)):
        alone = variant.fit(problem, stream(number))
        inputs = problem.train.inputs
        predictions = [
            one.predict(inputs, stream(9)).log_probs for one in (together[number], alone)
        ]
        assert torch.equal(*predictions)


def test_it_reads_the_features_of_a_trained_network():
    trained_problem = trained(images)(0)
    posterior = OnLastLayer(SMALL).fit(trained_problem, stream(0))
    log_probs = posterior.predict(trained_problem.train.inputs, stream(1)).log_probs
    assert log_probs.shape == (1, 21, 3)


@pytest.mark.parametrize(
    ("make", "needed"), [(regression, "needed classes"), (images, "needed vectors")]
)
def test_other_problems_are_refused(make, needed):
    with pytest.raises(Unsupported, match=needed):
        SMALL.fit(make(), stream(0))
