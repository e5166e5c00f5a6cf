"""Forests as densities and quantiles: weights by their definition, widths by rows left out."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.special import logsumexp
from scipy.stats import norm
from sklearn.ensemble import RandomForestRegressor

from bnnbench.datasets.base import Split
from bnnbench.methods.base import Unsupported
from bnnbench.methods.trees.forest_density import SHARES, WIDTHS, ForestDensity
from bnnbench.methods.trees.leaf_weights import LeafWeights
from bnnbench.methods.trees.quantile_forest import QuantileForest
from bnnbench.methods.trees.target_groups import TargetGroups
from tests.methods.problems import classification, regression, stream

PROBLEM = regression(rows=60, dtype=torch.float64)
INPUTS, TARGETS = PROBLEM.train.inputs.numpy(), PROBLEM.train.targets[:, 0].numpy()
POINTS = torch.randn(12, 4, generator=stream(8), dtype=torch.float64)
SMALL = ForestDensity(trees=25)


def weights_by_definition(forest, rows, points, out_of_bag=False):
    """Return the weights row by row and tree by tree; `out_of_bag`, those of other rows' trees."""
    weights, trees = np.zeros((len(points), len(rows))), np.zeros(len(points))
    for tree, drawn in zip(forest.estimators_, forest.estimators_samples_, strict=True):
        leaves, at = tree.apply(rows), tree.apply(points)
        for point, leaf in enumerate(at):
            inside = leaves == leaf
            if out_of_bag:
                if point in drawn:
                    continue
                inside[point] = False
            weights[point] += inside / inside.sum()
            trees[point] += 1
    return weights / trees[:, None]


def test_weights_are_shares_of_leaves_and_sum_to_one():
    forest = RandomForestRegressor(15, min_samples_leaf=4, random_state=0).fit(INPUTS, TARGETS)
    weights = LeafWeights.of(forest, INPUTS, np.arange(60), 60)
    found = weights.at(POINTS.numpy())
    expected = weights_by_definition(forest, INPUTS, POINTS.numpy())
    np.testing.assert_allclose(found, expected, atol=1e-14)
    np.testing.assert_allclose(found.sum(1), 1, atol=1e-12)
    outside, usable = weights.out_of_bag()
    assert usable.all()
    expected = weights_by_definition(forest, INPUTS, INPUTS, out_of_bag=True)
    np.testing.assert_allclose(outside, expected, atol=1e-14)
    assert (np.diag(outside) == 0).all()


def test_groups_add_the_weights_of_their_rows():
    forest = RandomForestRegressor(5, random_state=0).fit(INPUTS, TARGETS)
    groups = np.arange(60) % 3
    found = LeafWeights.of(forest, INPUTS, groups, 4).at(POINTS.numpy())
    rows = LeafWeights.of(forest, INPUTS, np.arange(60), 60).at(POINTS.numpy())
    expected = np.stack([rows[:, groups == group].sum(1) for group in range(4)], 1)
    np.testing.assert_allclose(found, expected, atol=1e-14)


def test_leaves_of_all_rows_predict_the_distribution_of_training_targets():
    found = replace(SMALL, least_rows=60).fit(PROBLEM, stream(1)).predict(POINTS, stream(2))
    np.testing.assert_allclose(found.weights, 1 / 60, rtol=1e-12)
    np.testing.assert_allclose(found.mean[:, 0], TARGETS.mean())
    of_quantiles = QuantileForest(trees=5, least_rows=60).fit(PROBLEM, stream(1))
    quantiles = of_quantiles.predict(POINTS, stream(2))
    expected = np.quantile(TARGETS, quantiles.levels, method="inverted_cdf")
    np.testing.assert_allclose(quantiles.values[:, 0], np.tile(expected, (12, 1)))


def test_one_tree_of_single_rows_puts_all_weight_on_one_row():
    forest = RandomForestRegressor(1, bootstrap=False, random_state=0).fit(INPUTS, TARGETS)
    found = LeafWeights.of(forest, INPUTS, np.arange(60), 60)
    weights = found.at(POINTS.numpy())
    assert set(np.unique(weights)) == {0.0, 1.0}
    np.testing.assert_allclose(weights @ TARGETS, forest.predict(POINTS.numpy()))


def test_the_width_has_the_greatest_out_of_bag_density_and_beats_that_of_the_rows_own_trees():
    posterior = SMALL.fit(PROBLEM, stream(1))
    forest = posterior.weights.forest

    def densities(weights):
        with np.errstate(divide="ignore"):
            weights = np.log(weights)
        kernels = (norm.logpdf(TARGETS[:, None], TARGETS, w * TARGETS.std()) for w in WIDTHS)
        return [logsumexp(weights + each, axis=1).mean() for each in kernels]

    known = densities(weights_by_definition(forest, INPUTS, INPUTS, out_of_bag=True))
    assert posterior.diagnostics["width"] == WIDTHS[int(np.argmax(known))]
    assert posterior.diagnostics["out_of_bag_log_likelihood"] == pytest.approx(max(known))
    in_bag = densities(weights_by_definition(forest, INPUTS, INPUTS))
    assert np.argmax(in_bag) == 0 < np.argmax(known)


def test_the_density_is_the_kernel_estimate():
    posterior = SMALL.fit(PROBLEM, stream(1))
    found = posterior.predict(POINTS, stream(2)).log_prob(torch.zeros(12, 1))
    weights = weights_by_definition(posterior.weights.forest, INPUTS, POINTS.numpy())
    width = posterior.diagnostics["width"] * TARGETS.std()
    expected = np.log((weights * norm.pdf(0, TARGETS, width)).sum(1))
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def both(method, *problems):
    return [method.fit(each, stream(1)).predict(POINTS, stream(2)) for each in problems]


def test_a_shifted_and_enlarged_target_shifts_and_enlarges_predictions():
    """Powers of two and rounded targets, so that trees do not differ by rounding."""
    targets = (PROBLEM.train.targets * 256).round() / 256
    problem, moved = (
        replace(PROBLEM, train=Split(PROBLEM.train.inputs, each))
        for each in (targets, 1024 * targets + 4096)
    )
    one, other = (
        SMALL.fit(each, stream(1)).predict(POINTS, stream(2)) for each in (problem, moved)
    )
    torch.testing.assert_close(other.mean, 1024 * one.mean + 4096)
    torch.testing.assert_close(other.variance, 2.0**20 * one.variance)
    forest = QuantileForest(trees=10)
    one, other = (
        forest.fit(each, stream(1)).predict(POINTS, stream(2)) for each in (problem, moved)
    )
    torch.testing.assert_close(other.values, 1024 * one.values + 4096)


def test_class_probabilities_are_weights_mixed_with_frequencies_as_rows_left_out_prefer():
    problem = classification(rows=60, dtype=torch.float64)
    inputs, labels = problem.train.inputs.numpy(), problem.train.targets.numpy()
    posterior = SMALL.fit(problem, stream(1))
    forest = posterior.weights.forest
    frequencies = (np.bincount(labels, minlength=3) + 1) / 63
    outside = weights_by_definition(forest, inputs, inputs, out_of_bag=True)
    of_labels = (outside * (labels[:, None] == labels)).sum(1)
    scores = [np.log((1 - s) * of_labels + s * frequencies[labels]).mean() for s in SHARES]
    best = SHARES[int(np.argmax(scores))]
    assert posterior.diagnostics["frequency_share"] == best
    weights = weights_by_definition(forest, inputs, POINTS.numpy()) @ np.eye(3)[labels]
    found = posterior.predict(POINTS, stream(2)).mixture_log_probs.exp()
    np.testing.assert_allclose(found, (1 - best) * weights + best * frequencies, atol=1e-12)


def test_many_targets_are_grouped_without_loss_of_moments_and_density():
    targets = np.concatenate([np.random.default_rng(0).normal(size=5000), [1000.0]])
    groups = TargetGroups.of(targets)
    assert len(groups.means) <= 512
    shares = np.bincount(groups.of_rows) / len(targets)
    assert shares @ groups.means == pytest.approx(targets.mean())
    second = shares @ (groups.variances + groups.means**2)
    assert second == pytest.approx(np.square(targets).mean())
    at, width = np.linspace(-3, 3, 13), 0.1
    exact = norm.pdf(at[:, None], targets, width).mean(1)
    grouped = norm.pdf(at[:, None], groups.means, np.sqrt(groups.variances + width**2)) @ shares
    np.testing.assert_allclose(grouped, exact, rtol=0.02)


def test_quantiles_cover_their_shares_of_new_rows():
    rows = regression(rows=1500, true_std=0.5, dtype=torch.float64)
    new = regression(1, 1000, true_std=0.5, dtype=torch.float64).train
    forest = QuantileForest(trees=30, feature_share=1.0, levels=(0.1, 0.5, 0.9))
    found = forest.fit(rows, stream(1)).predict(new.inputs, stream(2))
    below = (new.targets[:, :, None] <= found.values).double().mean((0, 1))
    assert below.tolist() == pytest.approx([0.1, 0.5, 0.9], abs=0.05)


def test_settings_and_problems_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="feature_share of at most 1; got 2"):
        ForestDensity(feature_share=2.0)
    with pytest.raises(ValueError, match="levels that increase between 0 and 1"):
        QuantileForest(levels=(0.5, 0.1))
    with pytest.raises(Unsupported, match="all 1 trees drew all 1 rows: use more trees"):
        ForestDensity(trees=1).fit(regression(rows=1), stream(1))
    with pytest.raises(Unsupported, match="QuantileForest needed a regression"):
        QuantileForest().fit(classification(), stream(1))
