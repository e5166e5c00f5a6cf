"""The classification tables: their sizes, folds, categories and missing values."""

import io

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.preprocessing import OneHotEncoder

from bnnbench.datasets.base import Categorical
from bnnbench.datasets.cuts.folds import Deduplicated, Gap
from bnnbench.datasets.cuts.held_out import HeldOut
from bnnbench.datasets.cuts.known_noise import KnownNoise
from bnnbench.datasets.cuts.limited import Limited
from bnnbench.datasets.errors import DataUnavailable
from bnnbench.datasets.official.uci_classification import SETS, UciClassification
from bnnbench.datasets.raw_rows import raw_rows
from bnnbench.datasets.reading.tables import stratified_split
from bnnbench.datasets.stand_ins import DigitsAsTable


def test_folds_are_disjoint_complete_and_keep_the_shares_of_classes():
    classes = np.repeat([0, 1, 2], [400, 80, 20])
    tested = [stratified_split(classes, fold)[1] for fold in range(3)]
    for fold, test in enumerate(tested):
        assert np.bincount(classes[test]).tolist() == [40, 8, 2]
        train, _ = stratified_split(classes, fold)
        assert sorted([*train, *test]) == list(range(500))
    assert len({tuple(sorted(test)) for test in tested}) == 3


@pytest.mark.parametrize("classes", [2, 8, 10, 26])
def test_digits_stand_in_with_as_many_classes(classes):
    source = DigitsAsTable(classes)
    data = source.load(0)
    assert data.likelihood == Categorical(classes)
    assert data.train.targets.dtype == torch.int64
    assert data.facts["classes"] == classes
    assert int(np.min(np.array(data.facts["class_counts_test"]))) >= 17


@pytest.mark.parametrize(
    "cut",
    [
        Limited(DigitsAsTable(3), train=90, test=30),
        HeldOut(DigitsAsTable(3)),
        Deduplicated(DigitsAsTable(3)),
        Gap(DigitsAsTable(3), (20,)),
    ],
)
def test_what_is_cut_from_a_table_of_classes_has_classes(cut):
    data = cut.load(0)
    assert data.likelihood == Categorical(3)
    assert set(data.train.targets.tolist()) == {0, 1, 2}
    assert data.target is None


def test_classes_have_no_noise_to_know():
    with pytest.raises(ValueError, match="needed real targets"):
        KnownNoise(DigitsAsTable(3)).load(0)


def test_rows_for_another_program_have_numbers_of_classes():
    rows = raw_rows(DigitsAsTable(4), 1)
    assert rows.classes == 4
    assert rows.train_targets.dtype == np.int64
    assert set(rows.test_targets) == {0, 1, 2, 3}


def test_missing_files_are_named_with_the_folder_and_the_cure(folder):
    with pytest.raises(DataUnavailable, match=r"uci_classification/ecoli.csv.*fetch ecoli"):
        UciClassification("ecoli").load(0)
    with pytest.raises(ValueError, match="'breast_cancer'"):
        UciClassification("breast-cancer")


# The tests below read the real files.

COUNTS = {
    "adult": (37155, 11687),
    "banknote": (762, 610),
    "breast_cancer": (458, 241),
    "ecoli": (143, 77, 2, 2, 35, 20, 5, 52),
    "german": (700, 300),
    "glass": (70, 76, 17, 13, 9, 29),
    "haberman": (225, 81),
    "ionosphere": (126, 225),
    "mammography": (10923, 260),
    "oil_spill": (896, 41),
    "phoneme": (3818, 1586),
    "sonar": (111, 97),
    "thyroid": (150, 35, 30),
    "wheat_seeds": (70, 70, 70),
}
"""Rows of each class as stated by the publishers, with labels in alphabetical order."""


def test_all_sets_are_counted():
    assert COUNTS.keys() == SETS.keys()


@pytest.mark.parametrize("name", SETS)
def test_rows_of_each_class_are_as_published(name, at_hand):
    source = at_hand(UciClassification(name))
    data = source.load(source.folds - 1)
    counts = np.add(data.facts["class_counts_train"], data.facts["class_counts_test"])
    assert counts.tolist() == list(COUNTS[name])
    assert source.classes == len(counts)
    assert data.train.inputs.isfinite().all()


def read(source):
    text = b"".join(file.place.read_bytes() for file in source.data_files)
    return pd.read_csv(io.BytesIO(text), header=None, skipinitialspace=True)


def test_adult_keeps_its_official_split_and_all_categories(at_hand):
    source = at_hand(UciClassification("adult"))
    assert source.folds == 1
    table = source.table(0)
    assert (len(table.train_targets), len(table.test_targets)) == (32_561, 16_281)
    frame = read(source)
    texts = [1, 3, 5, 6, 7, 8, 9, 13]
    encoded = OneHotEncoder(sparse_output=False).fit_transform(frame[texts])
    rows = np.concatenate([table.train_inputs, table.test_inputs])
    assert rows.shape[1] == 6 + encoded.shape[1]
    ones = np.isin(rows, (0, 1)).all(0)
    np.testing.assert_array_equal(np.sort(rows[:, ones].sum(0)), np.sort(encoded.sum(0)))


def test_missing_numbers_of_breast_cancer_are_medians_of_training_rows(at_hand):
    source = at_hand(UciClassification("breast_cancer"))
    table, frame = source.table(3), read(source)
    marked = table.train_inputs[:, 6] == 1
    assert marked.sum() + (table.test_inputs[:, 6] == 1).sum() == 16 == (frame[5] == "?").sum()
    median = np.median(table.train_inputs[~marked, 5])
    assert set(table.train_inputs[marked, 5]) == {median}


def test_oil_spill_has_no_number_of_the_patch(at_hand):
    table = at_hand(UciClassification("oil_spill")).table(0)
    frame = read(UciClassification("oil_spill"))
    rows = np.concatenate([table.train_inputs, table.test_inputs])
    np.testing.assert_allclose(np.sort(rows[:, 0]), np.sort(frame[1]))
    assert rows.shape[1] == 48
