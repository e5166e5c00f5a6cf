"""Twins, repeats, transforms and checksums: the facts that are recorded about a split."""

import hashlib
from dataclasses import dataclass

import numpy as np
import pytest

from bnnbench.commands.data import main
from bnnbench.datasets import SOURCES, source
from bnnbench.datasets.base import Table
from bnnbench.datasets.cuts.augmented import Augmented
from bnnbench.datasets.cuts.intensities import Signed
from bnnbench.datasets.cuts.limited import Limited
from bnnbench.datasets.facts import facts_of, files_of, of_source
from bnnbench.datasets.generated.curves import Cubic
from bnnbench.datasets.official.cifar10 import FILES, Cifar10
from bnnbench.datasets.official.uci import SETS, Uci
from bnnbench.datasets.origins import PUBLISHED
from bnnbench.datasets.reading.images import standardised
from bnnbench.datasets.reading.tables import standardised as rows_of
from bnnbench.datasets.stand_ins import DigitsAsCifar10


def table(rng):
    """A table of 30 and 10 rows: 4 test rows are also in train, and 3 training rows occur twice."""
    inputs, targets = rng.standard_normal((40, 3)), rng.standard_normal(40)
    train, test = np.arange(30), np.arange(30, 40)
    for array in (inputs, targets):
        array[[30, 31, 32, 33]] = array[[5, 6, 7, 7]]
        array[[10, 11, 12]] = array[[1, 1, 2]]
    targets[39], inputs[39] = targets[0] + 1, inputs[0]  # equal features with another target
    return Table(inputs[train], targets[train], inputs[test], targets[test])


def test_twins_and_repeats_are_counted_by_the_whole_row():
    facts = rows_of(table(np.random.default_rng(0)), ("y", "m"), "generated", "none").facts
    assert facts["test_twins"] == 4
    assert facts["test_twins_in_train"] == 0.4
    assert facts["train_repeats"] == 3


def test_images_are_twins_by_their_pixels():
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, (12, 4, 4, 1), dtype=np.uint8)
    images[[9, 10]] = images[[0, 1]]
    images[3] = images[2]
    labels = np.arange(12) % 3
    facts = standardised((images[:8], labels[:8]), (images[8:], labels[8:]), 3, "subset", "x").facts
    assert (facts["test_twins"], facts["train_repeats"]) == (2, 1)


def test_hashed_rows_find_what_comparing_all_pairs_finds():
    rng = np.random.default_rng(3)
    train, test = (rng.integers(0, 3, (n, 4)).astype(float) for n in (60, 40))
    expected = np.mean([(row == train).all(1).any() for row in test])
    assert 0 < expected < 1
    rows = Table(train[:, :3], train[:, 3], test[:, :3], test[:, 3])
    facts = rows_of(rows, ("y", "m"), "generated", "none").facts
    assert facts["test_twins_in_train"] == expected


def test_transforms_say_what_the_scaling_does():
    data = DigitsAsCifar10().load(0)
    (said,) = data.facts["transforms"]
    assert f"{float(data.scaling.mean[0]):.4g}" in said
    assert f"{float(data.scaling.std[0]):.4g}" in said
    assert "training pixels" in said
    (fixed,) = Signed(DigitsAsCifar10()).load(0).facts["transforms"]
    assert "less 0.5, over 0.5 (fixed numbers)" in fixed
    inputs, targets = Cubic().load(0).facts["transforms"]
    assert "training mean" in inputs
    assert targets.startswith("targets")


def test_augmentation_is_a_transform():
    data = Augmented(DigitsAsCifar10(), padding=2).load(0)
    scaled, augmented = data.facts["transforms"]
    assert scaled.startswith("inputs: intensities")
    assert "CropsAndMirrors(padding=2" in augmented


def test_data_without_transforms_say_so():
    rows = np.zeros((3, 1, 2, 2), np.uint8), np.zeros(3, int)
    data = DigitsAsCifar10().load(0)
    assert facts_of(data, rows, rows, "none")["transforms"] == []


def test_files_of_a_cut_are_the_files_of_its_source():
    every = {f.path: f.checksum for part in FILES.values() for f in part}
    assert len(every) == 6
    assert files_of(Cifar10()) == files_of(Limited(Cifar10(), 100)) == every
    yacht = SETS["yacht"].file
    assert of_source(Uci("yacht")) == {
        "files": {yacht.path: yacht.checksum},
        "download_bytes": 11_487,
    }


@pytest.mark.parametrize("name", SOURCES)
def test_official_files_have_checksums_and_others_none(name):
    files = files_of(source(name))
    origin = source(name).origin
    assert bool(files) == (origin in PUBLISHED) or (files and origin == "subset")
    assert all(len(sum.split(":")[1]) in (32, 64) for sum in files.values())


def test_a_source_of_no_files_says_nothing_of_them():
    @dataclass(frozen=True)
    class Odd:
        """Its source is no data source."""

        source: str = "a word"

    assert of_source(Cubic()) == {}
    assert files_of(Odd()) == {}


def test_the_command_line_tells_the_facts(capsys):
    assert main(["facts", "cubic", "--fold", "2"]) == 0
    said = capsys.readouterr().out
    facts = Cubic().load(2).facts
    assert "cubic, fold 2 of 100: generated" in said
    assert str(facts["sha256"]) in said
    assert "test_twins                     0" in said
    lines = [line for line in said.splitlines() if "training mean" in line]
    assert len(lines) == 2


def test_the_command_line_says_what_is_missing(folder, capsys, monkeypatch):
    monkeypatch.setenv("BNNBENCH_OFFLINE", "")  # --offline sets it; restored afterwards
    assert main(["facts", "boston", "--offline"]) == 1
    assert "boston" in capsys.readouterr().err
    assert main(["facts", "bostn"]) == 2
    assert main(["facts", "cubic", "--fold", "1000"]) == 2
    assert "folds" in capsys.readouterr().err


def test_the_checksum_agrees_with_the_raw_rows():
    cubic, digest = Cubic().table(0), hashlib.sha256()
    for array in (cubic.train_inputs, cubic.train_targets, cubic.test_inputs, cubic.test_targets):
        digest.update(array.tobytes())
    assert Cubic().load(0).facts["sha256"] == digest.hexdigest()
