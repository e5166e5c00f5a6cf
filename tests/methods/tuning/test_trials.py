"""The sequence of trials, compared with SciPy's Sobol points and precomputed vectors."""

import numpy as np
import pytest
from scipy.stats import qmc

from bnnbench.datasets.base import Gaussian
from bnnbench.methods.adamw import AdamW
from bnnbench.methods.ensemble import Ensemble
from bnnbench.methods.laplace.method import Laplace
from bnnbench.methods.mile.companion import HeteroscedasticHmc
from bnnbench.methods.mile.method import Mile
from bnnbench.methods.tuning import trials
from bnnbench.methods.tuning.method import Tuned
from bnnbench.methods.tuning.space import (
    Choice,
    Integers,
    Log,
    OneMinusLog,
    Single,
    Space,
    compose,
    configured,
    space_of,
)

VECTORS = {
    "learning_rate": (0.003364166594, 0.503364166594, 0.253364166594, 0.753364166594),
    "weight_decay": (0.694485142012, 0.194485142012, 0.444485142012, 0.944485142012),
    "prior_std": (0.303787844838, 0.803787844838, 0.553787844838, 0.053787844838),
}


def test_vectors():
    assert (
        pytest.approx(np.array(list(VECTORS.values())), abs=1e-12)
        == np.array(trials.places(tuple(VECTORS), 4)).T
    )
    law = Log(1e-4, 1e-1)
    values = [law.at(u) for u in VECTORS["learning_rate"][:2]]
    assert values == pytest.approx([1.0235109653e-04, 3.2366258604e-03], rel=1e-10)


def test_without_shift_it_is_scipys_sequence(monkeypatch):
    monkeypatch.setattr(trials, "_shift", lambda name: 0)
    ours = np.floor(np.array(trials.places([f"n{i}" for i in range(8)], 64)) * 2**20)
    theirs = np.floor(qmc.Sobol(8, scramble=False, bits=32).random(64) * 2**20)
    assert sorted(map(tuple, ours)) == sorted(map(tuple, theirs))


@pytest.mark.parametrize("count", [8, 16, 32])
@pytest.mark.parametrize("fields", range(1, 9))
def test_every_setting_has_one_trial_in_each_cell(count, fields):
    rows = np.array(trials.places([f"setting {n}" for n in range(fields)], count))
    for column in (rows * count).astype(int).T:
        assert sorted(column) == list(range(count))


def test_a_longer_search_begins_with_the_shorter_one():
    names = ("a", "b.c", "d")
    assert trials.places(names, 16)[:8] == trials.places(names, 8)


def test_wrappers_have_the_trials_of_what_they_wrap():
    own = trials.settings(AdamW.space, 16)
    for method, path in ((Ensemble(), "member"), (Laplace(prior_precisions=(1.0,)), "training")):
        for plain, wrapped in zip(own, trials.settings(space_of(method), 16), strict=True):
            assert {f"{path}.{name}": value for name, value in plain.items()}.items() <= (
                wrapped.items()
            )


@pytest.mark.parametrize(
    "law",
    [
        Log(1e-4, 0.3),
        OneMinusLog(1e-5, 1e-2),
        Integers(3, 200),
        Integers(-2, 5, log=False),
        Choice(("a", "b", "c")),
        Single(Log(1e-2, 1e4)),
    ],
)
def test_a_value_lies_where_it_was_drawn(law):
    for u in (0.001, 0.21, 0.5, 0.77, 0.999):
        value = law.at(u)
        assert law.at(law.place(value)) == pytest.approx(value) or law.at(law.place(value)) == value
        if not isinstance(law, Integers | Choice):
            assert law.place(value) == pytest.approx(u)


def test_integers_and_choices_are_equally_likely():
    places = (np.arange(60_000) + 0.5) / 60_000
    drawn = np.bincount([Integers(0, 5, log=False).at(u) for u in places])
    assert set(drawn) == {10_000}
    logs = np.bincount([Integers(1, 3).at(u) for u in places])[1:]
    assert logs / 60_000 == pytest.approx(np.log([2, 3 / 2, 4 / 3]) / np.log(4), abs=1e-4)
    assert set(np.bincount([Choice((0, 1, 2)).at(u) for u in places])) == {20_000}


def test_settings_are_replaced_by_path():
    changed = configured(Ensemble(3, AdamW()), {"member.epochs": 7, "size": 2})
    assert changed == Ensemble(2, AdamW(epochs=7))
    with pytest.raises(ValueError, match="AdamW has no setting speed"):
        configured(Ensemble(), {"member.speed": 1.0})


def test_spaces_without_a_sequence_are_refused():
    law = Log(0.1, 1.0)
    with pytest.raises(ValueError, match="at most 8 fields; got 9"):
        Space({f"f{n}": law for n in range(9)})
    with pytest.raises(ValueError, match="same last part"):
        compose("training", Space({"rate": law}), Space({"rate": law}))


@pytest.mark.parametrize(("method", "different"), [(Mile(), 6), (HeteroscedasticHmc(), 3)])
def test_each_place_belongs_to_the_settings_of_its_trial(method, different):
    plan = Tuned(method, trials=8).plan(40, Gaussian())
    assert len({tuple(one.values()) for one in plan.settings}) == plan.trials == different
    for chosen, place in zip(plan.settings, plan.places, strict=True):
        assert chosen == {name: law.at(place[name]) for name, law in plan.space.fields.items()}
