import itertools

import pytest
import sklearn.metrics
import torch
from scipy import integrate, stats

from bnnbench.metrics.agreement import agreement, total_variation, total_variation_of_cdfs
from tests.metrics.examples import categorical, random_prediction

RNG = torch.Generator().manual_seed(2)


def _two():
    return [random_prediction(RNG, 30, 5, draws=2) for _ in range(2)]


def test_the_share_of_equal_top_labels_is_the_accuracy_of_one_by_the_other():
    first, second = _two()
    labels = [p.mixture_log_probs.argmax(1).numpy() for p in (first, second)]
    expected = sklearn.metrics.accuracy_score(*labels)
    assert agreement(first, second).mean().item() == pytest.approx(expected)


def test_total_variation_is_the_largest_difference_over_all_sets_of_classes():
    two = _two()
    first, second = (p.mixture_log_probs.exp() for p in two)
    sets = [list(s) for size in range(6) for s in itertools.combinations(range(5), size)]
    gaps = torch.stack([(first[:, s].sum(1) - second[:, s].sum(1)).abs() for s in sets])
    assert total_variation(*two).tolist() == pytest.approx(gaps.amax(0).tolist())


def test_equal_predictions_agree_wholly_and_opposite_ones_not_at_all():
    one, other = categorical(torch.tensor([[1.0, 0.0]])), categorical(torch.tensor([[0.0, 1.0]]))
    assert (agreement(one, one).item(), total_variation(one, one).item()) == (1, 0)
    assert (agreement(one, other).item(), total_variation(one, other).item()) == (0, 1)


@pytest.mark.parametrize(("mean", "std"), [(0.0, 1.0), (1.0, 1.0), (0.3, 0.5), (9.0, 0.2)])
def test_small_cells_give_the_integral_of_the_densities_difference(mean, std):
    nodes = torch.linspace(-9, 12, 8001, dtype=torch.float64)[None]
    laws = stats.norm(), stats.norm(mean, std)
    cdfs = [torch.from_numpy(law.cdf(nodes)) for law in laws]
    gap = integrate.quad(lambda x: abs(laws[0].pdf(x) - laws[1].pdf(x)) / 2, -9, 12, limit=500)[0]
    assert total_variation_of_cdfs(*cdfs).item() == pytest.approx(gap, abs=1e-5)


def test_coarse_cells_never_give_more():
    nodes = torch.linspace(-4, 4, 201, dtype=torch.float64)[None]
    fine = [torch.from_numpy(law.cdf(nodes)) for law in (stats.norm(), stats.t(3, 0.4))]
    coarse = [cdf[:, ::20] for cdf in fine]
    assert total_variation_of_cdfs(*coarse) <= total_variation_of_cdfs(*fine) + 1e-12


def test_mass_beyond_the_nodes_counts():
    below, above = torch.ones(1, 3, dtype=torch.float64), torch.zeros(1, 3, dtype=torch.float64)
    assert total_variation_of_cdfs(below, above).item() == 1
