"""A fit that is killed and continued equals an undisturbed fit, bit for bit."""

from functools import partial

import pytest

from bnnbench.methods import METHODS, method_type
from bnnbench.methods.adamw import AdamW
from bnnbench.methods.base import Method, Problem
from bnnbench.methods.card import card_of
from bnnbench.methods.checkpoints import checkpoint
from bnnbench.methods.ensemble import Ensemble
from bnnbench.methods.pbp.method import Pbp
from bnnbench.methods.post_hoc.on_last_layer import OnLastLayer
from bnnbench.suites.check.fits import require_identical
from bnnbench.suites.check.problems import problems_of
from bnnbench.suites.check.small import SMALL, small
from tests.contracts.test_every_method import VARIANTS, covered
from tests.methods.killing import counted, kept, killed_in
from tests.methods.problems import classification, images, regression, stream, streams

KEPT = [
    name
    for name, path in METHODS.items()
    if ".libraries." not in path and not card_of(name).restarts and not card_of(name).trained
]
"""Methods whose interrupted fit continues; a fit inside a library starts again, and a trained
network is read again."""

ON_TRAINED = {"on_last_layer": OnLastLayer(AdamW())}

DEFAULT = ("adamw", "ensemble", "hmc", "message_passing", "mile", "pbp", "sgld", "tuned")
"""Methods of the default run, with a checkpoint of each form; the long run has all."""


@pytest.fixture(
    params=[
        pytest.param(name, marks=() if name in DEFAULT else pytest.mark.long)
        for name in (*KEPT, *VARIANTS, *ON_TRAINED)
    ]
)
def case(request, monkeypatch) -> tuple[Method, Problem]:
    """A method, and a problem of few rows that it covers."""
    longer = {"epochs": 4, "iterations": (1, 1, 2, 2), "warmup": 30}
    for name, value in longer.items():
        monkeypatch.setitem(SMALL, name, value)
    name = request.param
    given = {**VARIANTS, **ON_TRAINED}
    method = small(given[name] if name in given else method_type(METHODS[name])())
    kind = "mlp regression" if "mlp regression" in covered(name) else "mlp classification"
    return method, problems_of(method)[kind](rows=16)


def test_every_method_goes_on_bit_for_bit(case, tmp_path):
    method, problem = case
    whole, epochs = counted(lambda: method.fit(problem, stream(1)))
    fit = kept(tmp_path / "fit", lambda: method.fit(problem, stream(1)))
    killed = epochs // 2 + 1
    killed_in(killed, fit)
    resumed, left = counted(fit)
    assert left <= epochs - killed + 1
    require_identical(whole, resumed, problem.train.inputs)
    again, left = counted(fit)
    assert left == 0
    require_identical(whole, again, problem.train.inputs)


@pytest.mark.parametrize("name", ["adamw", "ivon", "sgld"])
def test_whatever_epoch_it_is_killed_in(name, monkeypatch, tmp_path):
    monkeypatch.setitem(SMALL, "epochs", 5)
    method, problem = small(method_type(METHODS[name])()), images()
    whole = method.fit(problem, stream(1))
    for epoch in range(1, 6):
        fit = kept(tmp_path / str(epoch), lambda: method.fit(problem, stream(1)))
        killed_in(epoch, fit)
        resumed, left = counted(fit)
        assert left == 6 - epoch
        require_identical(whole, resumed, problem.train.inputs)


def test_a_fit_may_be_killed_again_and_again(tmp_path):
    method, problem = AdamW(epochs=6, batch_size=8), classification()
    fit = kept(tmp_path / "fit", lambda: method.fit(problem, stream(1)))
    for _ in range(5):
        killed_in(2, fit)
    with checkpoint.checkpointing(tmp_path / "fit", {"fit": "this"}, 0.0) as place:
        resumed, left = counted(lambda: method.fit(problem, stream(1)))
    assert left == 1
    assert place.resumed == 5
    require_identical(method.fit(problem, stream(1)), resumed, problem.train.inputs)


@pytest.mark.parametrize(
    ("method", "make"),
    [
        (AdamW(epochs=4, batch_size=8), classification),
        (Ensemble(2, AdamW(epochs=4, batch_size=8)), images),
        (Pbp(epochs=4, backend="reference"), partial(regression, rows=9)),
    ],
    ids=["in a stack", "one after another", "in threads"],
)
def test_several_fits_go_on_each_where_it_was(method, make, tmp_path):
    problems = [make(seed) for seed in range(3)]
    whole, epochs = counted(lambda: method.fit_many(problems, streams(1, 2, 3)))
    fit = kept(tmp_path / "fit", lambda: method.fit_many(problems, streams(1, 2, 3)))
    killed_in(epochs // 2 + 1, fit)
    for one, other, problem in zip(whole, fit(), problems, strict=True):
        require_identical(one, other, problem.train.inputs)
    assert counted(fit)[1] <= 3  # threads report what they have finished
