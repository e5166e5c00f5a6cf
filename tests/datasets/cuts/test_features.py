"""Image features by a network that is trained once."""

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression

from bnnbench.datasets.cuts.features import FOLDER, Features
from bnnbench.datasets.cuts.limited import Limited
from bnnbench.datasets.stand_ins import DigitsAsCifar10

SMALL = Features(DigitsAsCifar10(), train=300, test=200, learned=500, epochs=6, width=16)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("BNNBENCH_DATA", str(tmp_path))
    return tmp_path


def test_a_linear_head_of_another_library_classifies_by_them(folder):
    rows = SMALL.table(0)
    head = LogisticRegression(max_iter=2000).fit(rows.train_inputs, rows.train_targets)
    assert head.score(rows.test_inputs, rows.test_targets) > 0.6
    dataset = SMALL.load(0)
    assert dataset.train.inputs.shape == (300, 16)
    assert dataset.origin == "stand-in"
    torch.testing.assert_close(dataset.train.inputs.mean(0), torch.zeros(16), atol=1e-5, rtol=0)


@pytest.mark.long
def test_they_are_kept_and_made_anew_where_the_file_is_damaged(folder):
    first = SMALL.table(0)
    (file,) = (folder / FOLDER).glob("*.npz")
    made = file.stat().st_mtime_ns
    again = Features(DigitsAsCifar10(), 300, 200, 500, 6, 16)
    Features.table.__wrapped__(again, 0)
    assert file.stat().st_mtime_ns == made
    file.write_bytes(b"damaged")
    anew = Features.table.__wrapped__(again, 0)
    assert np.array_equal(first.train_inputs, anew.train_inputs)


def test_the_global_generator_and_its_threads_are_left_alone(folder):
    before, threads = torch.get_rng_state(), torch.get_num_threads()
    SMALL.table(0)
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.get_num_threads() == threads


def test_a_limit_keeps_classes(folder):
    limited = Limited(SMALL, train=50, test=20).load(0)
    assert limited.likelihood.classes == 10
    assert limited.train.targets.dtype == torch.int64
    assert len(limited.train) == 50
