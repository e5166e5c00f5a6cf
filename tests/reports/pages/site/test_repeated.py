"""The page of a method reports which of its runs were repeated, and their differences."""

from dataclasses import replace

import pytest

from bnnbench.engine.store import bundles, repetitions
from bnnbench.engine.store.repetitions import Rerun
from bnnbench.reports.pages.methods.repeated_runs import in_words
from bnnbench.reports.pages.report.folder_site import Front
from bnnbench.reports.pages.site import site
from bnnbench.reports.read.benchmarks import benchmarks
from bnnbench.reports.read.bundles import repeated_runs
from tests.reports.synthetic import record

RUNS = [record(method, fold=fold) for method in ("AdamW", "SGD") for fold in range(2)]
SAME = Rerun(
    *("quick", "AdamW", RUNS[0].dataset, 0, RUNS[0].seed, RUNS[0].key),
    *("identical",),
    commit="1234567890",
    cpu="abacus",
    cpu_of_record="slide rule",
    finished="2026-11-26T23:00:00+00:00",
)
APART = replace(SAME, outcome="differs", score="clean, nll", recorded=1.0, spreads=0.0312)


def method_pages(repeated):
    suites = {"uci": benchmarks(RUNS)}
    pages = site.pages_of(suites, front=lambda: Front(()), repeated=repeated)
    return {a.removeprefix("methods/"): t for a, t in pages.items() if a.startswith("methods/")}


@pytest.mark.parametrize(
    ("rerun", "words"),
    [
        (SAME, "identical"),
        (replace(SAME, outcome="within rounding"), "within rounding"),
        (APART, "0.031 spreads away"),
        (replace(APART, spreads=None, reason="it failed: no memory"), "it failed: no memory"),
        (replace(SAME, outcome="not repeated", reason="renamed"), "not repeated"),
    ],
)
def test_words_for_what_came_of_it(rerun, words):
    assert in_words(rerun) == words


def test_a_bundle_tells_what_was_repeated(tmp_path):
    bundles.write(tmp_path / "made", RUNS)
    assert repeated_runs(tmp_path) == {}
    repetitions.write(tmp_path / "made", [APART])
    assert repeated_runs(tmp_path) == {APART.key: APART}
    assert repeated_runs(tmp_path / "nowhere") == {}


def test_the_page_of_a_method_links_its_repeated_run():
    pages = method_pages({APART.key: APART})
    told = f'run={APART.key[:8]}" title="2026-11-26, commit 1234567 on another processor"'
    assert f"{told}>0.031 spreads away</a>" in pages["adamw.html"]
    assert "spreads away" not in pages["sgd.html"]
    assert "Repeated" not in pages["sgd.html"]


def test_pages_say_which_runs_have_code_that_means_the_same_today():
    from bnnbench.methods.source_code import CONTRACT, Class, digest_of

    today = digest_of(Class("bnnbench.methods.adamw", "AdamW"), *CONTRACT)
    made = {"run": {"method": {"type": "adamw"}}}
    runs = [
        record(fold=0, code_sha256=today, **made),
        record(fold=1, code_sha256="of files", **made),
        record(fold=2, code_sha256=f"m1:{0:064}", **made),
        record("Theirs", code_sha256=today, run={"method": {"type": "theirs:Theirs"}}),
    ]
    known = {("of files", "adamw"): today}
    of_the_first = {(f"m1:{0:064}", "adamw"): today, (f"m1:{0:064}", "sgd"): f"m1:{1:064}"}
    suites = {"uci": benchmarks(runs)}
    for digests, current, words in (
        (known, 2, "2 of 3 current, 1 of 3 earlier"),
        ({}, 1, "1 of 3"),
        (known | of_the_first, 3, "current"),
    ):
        pages = site.pages_of(suites, front=lambda: Front(()), code_digests=digests)
        assert words in pages["methods/adamw.html"]
        assert "<td>unknown</td>" in pages["methods/theirs.html"]
        index = pages["methods/index.html"]
        assert f"Of their 4 runs, {current} were made by code that means the same" in index
