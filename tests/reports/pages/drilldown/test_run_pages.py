"""Pages of runs without a browser: addresses, portions and settings."""

import json
import re

from bnnbench.engine.declare.description import describe
from bnnbench.methods.ivon import Ivon
from bnnbench.reports.pages.drilldown.run_pages import run_addresses, run_data, run_pages
from bnnbench.reports.pages.layout import LIMIT
from bnnbench.reports.read.benchmarks import benchmarks
from bnnbench.reports.read.chosen_settings import chosen_settings
from tests.reports.browsing import HOSTILE
from tests.reports.pages.site.stores import many_conditions
from tests.reports.synthetic import record

COMMON = {"methodPages": [], "search": []}


def data_of(page):
    """Return the data that a page gives to its script."""
    (text,) = re.findall(r'id="page-data">(.*?)</script>', page, re.DOTALL)
    return json.loads(text)


def test_every_benchmark_has_an_address_of_its_own():
    found = {
        suite: benchmarks([record(dataset=name, suite=suite, profile=p) for name in HOSTILE])
        for suite in ("a", "A")
        for p in ("b c",)
    }
    addresses = list(run_addresses(found).values())
    assert len(addresses) == len({a.lower() for a in addresses}) == 2 * len(HOSTILE)
    assert all(re.fullmatch(r"runs/[a-z0-9-]+\.html", address) for address in addresses)


def test_runs_that_do_not_fit_are_on_pages_of_which_each_knows_the_others():
    benchmark = many_conditions()
    pages = run_pages("large", benchmark, "runs/large.html", COMMON)
    every = sorted(run.key for run in benchmark.records)
    shown = [
        key for page in pages.values() for m in data_of(page)["methods"] for key in m["runs"]["key"]
    ]
    assert sorted(shown) == every
    for page in pages.values():
        data = data_of(page)
        own = {key[:8] for m in data["methods"] for key in m["runs"]["key"]}
        others = {
            key[:8]
            for one in data["neighbours"]
            for name, first, last in one["methods"]
            for run in benchmark.runs[name]
            if first <= (key := run.key)[:8] <= last
        }
        assert own | others == {key[:8] for key in every}
        assert not own & others
        assert len(page.encode()) <= LIMIT


def test_settings_are_compared_with_the_defaults_of_their_own_class():
    plain = {s.path: s.differs for s in chosen_settings(describe(Ivon(learning_rate=0.3)))}
    assert [path for path, differs in plain.items() if differs] == ["learning_rate"]
    searched = {"type": "tuned", "method": describe(Ivon(learning_rate=0.3)), "trials": 8}
    inside = {s.path: s.differs for s in chosen_settings(searched)}
    assert inside["method.learning_rate"] is True
    assert inside["method.weight_decay"] is False


def test_of_a_class_that_is_not_at_hand_no_setting_is_said_to_be_usual():
    for kind in ("their.module:Method", "no_such_method"):
        (setting,) = chosen_settings({"type": kind, "rate": 3})
        assert (setting.path, setting.value, setting.differs) == ("rate", "3", None)


def test_a_run_without_its_source_is_not_offered_for_repetition():
    whole = record()
    bare = record("SGD", run={"method": {"type": "sgd"}})
    del bare.run["source"]
    kept = {b.runs[m][0].method: run_data(b) for b in benchmarks([whole, bare]) for m in b.runs}
    assert kept["AdamW"]["methods"][0]["repeatable"]
    assert not kept["SGD"]["methods"][0]["repeatable"]


def test_reasons_why_there_is_no_score_are_named_once_for_their_metrics():
    unanswered = {"clean": {"crps": "it has intervals alone", "nll": "it has intervals alone"}}
    (benchmark,) = benchmarks([record(unanswered=unanswered, failed_at="fit.py:3, step")])
    (method,) = run_data(benchmark)["methods"]
    assert method["remarks"] == {
        0: ["raised at fit.py:3, step", "no CRPS or NLL, clean: it has intervals alone"]
    }
