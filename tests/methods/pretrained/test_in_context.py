"""Adapters of pretrained networks, tested with tiny networks of random weights."""

import dataclasses
import socket
from dataclasses import replace

import numpy as np
import pytest
import torch

import bnnbench
from bnnbench.datasets.base import Categorical, Split
from bnnbench.engine.declare.description import describe
from bnnbench.methods.base import PackageMissing, Unsupported
from bnnbench.methods.predictions.bars import BarPredictive
from bnnbench.methods.pretrained.tabicl import TabIcl
from bnnbench.methods.pretrained.tabpfn import TabPfn
from tests.methods.problems import classification, regression, stream

KINDS = (TabPfn, TabIcl)


def randomised(network: torch.nn.Module) -> dict[str, torch.Tensor]:
    """Return random weights; some of the packages' own are 0, so that rows would not matter."""
    rng = stream(4)
    return {
        name: 0.3 * torch.randn(value.shape, generator=rng) if value.is_floating_point() else value
        for name, value in network.state_dict().items()
    }


def tiny_tabpfn(classes: int) -> dict:
    """Return a checkpoint in the package's own format, for classes or, without any, 60 bars."""
    tabpfn_v2 = pytest.importorskip("tabpfn.architectures.tabpfn_v2")
    from tabpfn.architectures.shared.bar_distribution import FullSupportBarDistribution

    heads = {"max_num_classes": classes, "num_buckets": 0 if classes else 60}
    config = tabpfn_v2.TabPFNV2Config(emsize=16, nlayers=1, nhead=2, **heads)
    state = randomised(tabpfn_v2.get_architecture(config))
    if not classes:
        bars = FullSupportBarDistribution(torch.linspace(-4, 4, 61)).state_dict()
        state |= {f"criterion.{name}": value for name, value in bars.items()}
    names = {"architecture_name": "tabpfn_v2", "config": dataclasses.asdict(config)}
    return names | {"state_dict": state}


def tiny_tabicl(classes: int) -> dict:
    """Return a checkpoint in the package's own format, for classes or, without any, quantiles."""
    tabicl = pytest.importorskip("tabicl._model.tabicl")
    config = {
        **{"max_classes": classes, "num_quantiles": 99, "embed_dim": 16, "col_num_blocks": 1},
        **{"col_nhead": 2, "col_num_inds": 4, "row_num_blocks": 1, "row_nhead": 2},
        **{"row_num_cls": 2, "icl_num_blocks": 1, "icl_nhead": 2},
    }
    return {"config": config, "state_dict": randomised(tabicl.TabICL(**config))}


def offline(self, address):
    raise AssertionError(f"a connection to {address}")


@pytest.fixture(params=KINDS, ids=lambda kind: kind.__name__)
def made(request, tmp_path, monkeypatch):
    """Return a function from a number of classes to a method with tiny weights, without network."""
    monkeypatch.setattr(socket.socket, "connect", offline)
    tiny = {TabPfn: tiny_tabpfn, TabIcl: tiny_tabicl}[request.param]

    def method(classes: int):
        file = tmp_path / f"{classes}.ckpt"
        torch.save(tiny(classes), file)
        return request.param(weights=str(file), size=2)

    return method


pytestmark = pytest.mark.filterwarnings("ignore")  # the packages' own


def test_class_probabilities_are_those_of_the_package_and_depend_on_rows(made):
    method, problem = made(10), classification()
    points = classification(1).train.inputs
    posterior = method.fit(problem, stream(1))
    probs = posterior.predict(points, stream(2)).mixture_log_probs.exp()
    np.testing.assert_allclose(probs.sum(1), 1, atol=1e-6)
    own = posterior.estimator.predict_proba(points.double().numpy()) * 37 / 38 + 1 / 38 / 3
    np.testing.assert_allclose(probs, own, rtol=1e-6)
    assert float(probs.std(0).max()) > 1e-4
    order = torch.randperm(len(points), generator=stream(3))
    moved = posterior.predict(points[order], stream(2)).mixture_log_probs.exp()
    np.testing.assert_allclose(moved, probs[order], atol=1e-4)


def test_a_class_that_no_row_has_is_unlikely_and_not_impossible(made):
    problem = classification(rows=30)
    rows = Split(problem.train.inputs, 2 * (problem.train.targets > 0).long())
    posterior = made(10).fit(replace(problem, train=rows), stream(1))
    probs = posterior.predict(rows.inputs, stream(2)).mixture_log_probs.exp()
    np.testing.assert_allclose(probs[:, 1], 1 / 31 / 3)


def test_real_targets_have_a_density_of_mass_one_or_quantiles_in_their_units(made):
    method, problem = made(0), regression()
    large = Split(problem.train.inputs, 1000 * problem.train.targets + 5000)
    points = regression(1).train.inputs
    one, other = (
        method.fit(replace(problem, train=rows), stream(1)).predict(points, stream(2))
        for rows in (problem.train, large)
    )
    if not isinstance(one, BarPredictive):
        torch.testing.assert_close(other.values, 1000 * one.values + 5000, rtol=1e-3, atol=2.0)
        assert float(one.values.std(0).max()) > 1e-4
        return
    torch.testing.assert_close(other.mean, 1000 * one.mean + 5000, rtol=1e-3, atol=2.0)
    assert float(one.mean.std()) > 1e-4
    grid = torch.linspace(-6, 6, 6001, dtype=torch.float64)
    columns = [one.log_prob(at.expand(len(points), 1)) for at in grid]
    mass = torch.trapezoid(torch.stack(columns, 1).exp(), grid)
    np.testing.assert_allclose(mass, 1, atol=2e-3)


def test_fits_repeat_leave_global_generators_and_come_back_from_a_file(made, tmp_path):
    method, problem = made(10), classification()
    state, numbers = torch.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
    posterior, again = (method.fit(problem, stream(1)) for _ in range(2))
    points = classification(1).train.inputs
    expected = posterior.predict(points, stream(2)).log_probs
    torch.testing.assert_close(again.predict(points, stream(5)).log_probs, expected)
    assert torch.equal(torch.get_rng_state(), state)
    assert np.array_equal(np.random.get_state()[1], numbers)  # noqa: NPY002
    bnnbench.save(posterior, tmp_path / "model")
    loaded = bnnbench.load(tmp_path / "model").predict(points, stream(2))
    torch.testing.assert_close(loaded.log_probs, expected)
    assert len(posterior.predict(points[:0], stream(2))) == 0


def test_more_rows_and_classes_than_the_limits_are_refused_with_the_cure(made):
    method = made(10)
    with pytest.raises(Unsupported, match=r"at most 20 rows; got 37: a larger most_rows"):
        replace(method, most_rows=20).fit(classification(), stream(1))
    with pytest.raises(Unsupported, match="at most 2 classes; got 3"):
        replace(method, most_classes=2).fit(classification(), stream(1))
    equal = Split(regression().train.inputs, torch.ones(37, 1))
    with pytest.raises(Unsupported, match="needed targets that differ"):
        made(0).fit(replace(regression(), train=equal), stream(1))
    one = Split(classification().train.inputs, torch.zeros(37, dtype=torch.long))
    single = replace(classification(), train=one, likelihood=Categorical(3))
    probs = method.fit(single, stream(1)).predict(one.inputs, stream(2)).mixture_log_probs.exp()
    assert float(probs[0, 0]) == pytest.approx(37 / 38 + 1 / 38 / 3)


@pytest.mark.parametrize("kind", KINDS)
def test_weights_are_needed_and_never_downloaded(kind):
    with pytest.raises(PackageMissing, match=r"weights=PATH\) with a file from https"):
        kind().fit(regression(), stream(1))
    assert kind().lacks.startswith(f"needs {kind.library} and a file of its weights")
    with pytest.raises(ValueError, match=r"no file of weights nowhere\.ckpt"):
        kind(weights="nowhere.ckpt")


@pytest.mark.parametrize("kind", KINDS)
def test_the_checksum_of_the_weights_is_part_of_the_description(kind, tmp_path):
    file = tmp_path / "weights.ckpt"
    file.write_bytes(b"one")
    first = kind(weights=str(file))
    file.write_bytes(b"other")
    second = kind(weights=str(file))
    assert describe(first) != describe(second)
    with pytest.raises(ValueError, match="has changed: needed SHA-256"):
        kind(weights=str(file), sha256=first.sha256)
