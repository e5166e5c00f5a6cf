"""`bnnbench report compare`: the changes between two stores."""

import math

import numpy as np
import pytest
from scipy import stats

from bnnbench.commands.report import main
from bnnbench.metrics.base import Margin
from bnnbench.reports.pages.report.changes import changes
from tests.reports.synthetic import PROVENANCE, keep, record

HOSTILE = '<img src=x onerror="alert(1)">'


def scored(values, method="AdamW", **changes_):
    return [
        record(method, seed=seed, scores={"clean": {"nll": value}}, **changes_)
        for seed, value in enumerate(values)
    ]


def test_equal_stores_have_no_changes(tmp_path, capsys):
    for name in ("a", "b"):
        keep(tmp_path / name / "cifar10", scored([1.0, 2.0, math.nan]))
    assert main(["compare", str(tmp_path / "a"), str(tmp_path / "b")]) == 0
    told = capsys.readouterr().out
    assert "3 form pairs" in told
    assert "1 are bitwise equal" in told


def test_a_changed_score_is_tested_in_pairs_and_adjusted_over_all_changes():
    rng = np.random.default_rng(0)
    old, noise = rng.normal(1, 0.3, 8), rng.normal(0.02, 0.02, 8)
    before = scored(old) + scored(old, "SGD")
    after = scored(old + 0.5 + noise) + scored(old + noise, "SGD")
    first, second = changes(("a", "b"), before, after).scores
    raw = [stats.ttest_rel(old + shift + noise, old).pvalue for shift in (0.5, 0.0)]
    assert first.place[4] == "AdamW"
    assert first.p_value == pytest.approx(2 * raw[0])
    assert second.p_value == pytest.approx(max(raw[1], 2 * raw[0]))
    assert first.verdict == "worse"


def test_changes_by_chance_are_undecided_and_few_pairs_are_not_tested():
    rng = np.random.default_rng(1)
    old = rng.normal(1, 0.3, 8)
    (found,) = changes(("a", "b"), scored(old), scored(rng.permutation(old))).scores
    assert found.verdict == "undecided"
    assert found.difference == pytest.approx(0, abs=1e-12)
    (found,) = changes(("a", "b"), scored([1.0, 2.0]), scored([1.5, 2.5])).scores
    assert found.verdict == "not tested"


def test_a_change_within_the_margin_is_practically_equal():
    rng = np.random.default_rng(2)
    old = rng.normal(1, 0.3, 8)
    new = old + 0.001 + rng.normal(0, 0.002, 8)
    (found,) = changes(("a", "b"), scored(old), scored(new)).scores
    gaps = new - old
    ends = [
        stats.ttest_1samp(gaps, 0.01, alternative="less").pvalue,
        stats.ttest_1samp(gaps, -0.01, alternative="greater").pvalue,
    ]
    assert found.equal_p == pytest.approx(max(ends), rel=1e-6)
    assert found.verdict == "practically equal"
    assert found.half_width == pytest.approx(stats.t.ppf(0.975, 7) * stats.sem(gaps))
    small = {"nll": Margin(1e-5)}
    (found,) = changes(("a", "b"), scored(old), scored(new), margins=small).scores
    assert found.verdict != "practically equal"


def test_folds_are_tested_with_the_correction_for_overlap():
    # d and its p-value: the test vector of Nadeau and Bengio's test, with ratio 1/9.
    d = [0.21, 0.05, -0.04, 0.2, 0.15, 0.1, 0.09, -0.06, 0.16, 0.14]
    before = [record(fold=f, scores={"clean": {"nll": 1.0}}) for f in range(10)]
    after = [record(fold=f, scores={"clean": {"nll": 1.0 + gap}}) for f, gap in enumerate(d)]
    (found,) = changes(("a", "b"), before, after).scores
    assert found.p_value == pytest.approx(0.0437416109, abs=1e-9)


def test_settings_code_ends_and_lone_runs_are_told(tmp_path, capsys):
    keep(tmp_path / "a" / "s", [record(seed=0), record(seed=1), record("SGD")])
    newer = PROVENANCE | {"commit": "f" * 40, "packages": {"torch": "3.0", "numpy": "2.1.0"}}
    faster = {"settings": {"learning_rate": 0.5}, "provenance": newer}
    lost = record(seed=1, scores={}, status="diverged", **faster)
    keep(tmp_path / "b" / "s", [record(seed=0, **faster), lost, record(HOSTILE)])
    out = tmp_path / "c.md"
    assert main(["compare", str(tmp_path / "a"), str(tmp_path / "b"), "--out", str(out)]) == 1
    told = capsys.readouterr().out
    assert "learning_rate: 0.001 → 0.5" in told
    assert "packages.torch: 2.13.0 → 3.0" in told
    assert "1 completed → diverged" in told
    assert "Only in a: 1 run\n" in told
    assert "<img" not in out.read_text()
    page = tmp_path / "c.html"
    assert main(["compare", str(tmp_path / "a"), str(tmp_path / "b"), "--out", str(page)]) == 1
    assert "<img" not in page.read_text()
    assert "&lt;img" in page.read_text()


@pytest.mark.parametrize("out", ["c.txt", "c"])
def test_an_ending_that_is_neither_page_nor_markdown_is_refused(tmp_path, capsys, out):
    keep(tmp_path / "a" / "s", [record()])
    keep(tmp_path / "b" / "s", [record()])
    paths = [str(tmp_path / name) for name in ("a", "b")]
    assert main(["compare", *paths, "--out", str(tmp_path / out)]) == 2
    assert ".html or .md" in capsys.readouterr().err


def test_one_folder_twice_is_refused(tmp_path, capsys):
    keep(tmp_path / "s", [record()])
    assert main(["compare", str(tmp_path), str(tmp_path)]) == 2
    assert "twice" in capsys.readouterr().err
