"""The page of timings: seconds per example, ratios, and slowdowns."""

import json
import re

import numpy as np
import pytest

from bnnbench.commands.report import main
from bnnbench.methods import METHODS
from bnnbench.reports.pages.report.timing_page import title
from bnnbench.reports.read.timings import changes, groups, others, read_session
from bnnbench.reports.style.numbers import span
from tests.reports.synthetic import keep, record

HOSTILE = "<img src=x onerror=alert(1)>"


def entry(name, seconds, notes=None, spread=0.02, rounds=5):
    """Return a benchmark as pytest-benchmark writes it, with ascending rounds."""
    data = sorted(seconds * (1 + spread * k) for k in range(rounds))
    stats = {"min": data[0], "max": data[-1], "median": data[rounds // 2], "rounds": rounds}
    return {"fullname": name, "name": name, "extra_info": notes or {}, "stats": stats}


def of_method(method, phase, seconds, device="cpu (1 thread)", examples=100, **more):
    notes = {"method": method, "phase": phase, "problem": "rows", "device": device, **more}
    name = f"tests/benchmarks/test_every_method.py::{phase}[{method}-{device}]"
    return entry(name, seconds, notes | {"examples": examples})


def written(path, entries, machine="one", **fields):
    machine_info = {
        "node": machine,
        "cpu": {"brand_raw": "Processor", "count": 2},
        "system": "Linux",
    }
    content = {
        "machine_info": machine_info,
        "datetime": "2026-01-02T03:04:05",
        "benchmarks": entries,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content | {"commit_info": {"id": "abcdef0123456789"}} | fields))
    return path


SESSION = (
    of_method("adamw", "fit", 2.0, warmup_seconds=1.5),
    of_method("adamw", "predict", 0.01, examples=1000),
    of_method("ivon", "fit", 3.0),
    of_method("ivon", "predict", 0.05, examples=1000),
    of_method("adamw", "fit", 0.5, device="cuda (GPU)"),
    of_method("ivon", "fit", 0.25, device="cuda (GPU)"),
    entry("tests/benchmarks/test_engine.py::test_store", 0.4, {"ratio": 6.0}),
)


@pytest.fixture
def session(tmp_path):
    return read_session(written(tmp_path / "benchmark.json", SESSION))


def test_seconds_are_of_one_example_and_ratios_of_the_same_device(session):
    cpu, gpu = groups(session, None, ("adamw", "ivon", "hmc"))
    assert (cpu.device, gpu.device) == ("cpu (1 thread)", "cuda (GPU)")
    assert list(cpu.rows) == ["adamw", "ivon"]
    assert list(gpu.rows) == ["ivon", "adamw"]
    assert cpu.rows["ivon"]["fit"].seconds == pytest.approx(0.03)
    assert cpu.rows["ivon"]["fit"].ratio == pytest.approx(1.5)
    assert cpu.rows["ivon"]["predict"].seconds == pytest.approx(5e-5)
    assert cpu.rows["ivon"]["predict"].ratio == pytest.approx(5.0)
    assert gpu.rows["ivon"]["fit"].ratio == pytest.approx(0.5)
    assert cpu.rows["adamw"]["fit"].warmup == 1.5
    assert cpu.absent == gpu.absent == ("hmc",)
    assert [timing.name for timing in others(session)] == [SESSION[-1]["fullname"]]


def test_without_the_base_there_is_no_ratio(tmp_path):
    path = written(tmp_path / "b.json", [of_method("ivon", "fit", 3.0)])
    (group,) = groups(read_session(path), None, ())
    assert group.rows["ivon"]["fit"].ratio is None


def later(tmp_path, factors, spread=0.02, count=20, drift=1.0):
    """Return the changes of `count` benchmarks, some by a factor, all by the drift."""
    before = [entry(f"b{k}", 1.0 + k, spread=spread) for k in range(count)]
    now = [entry(f"b{k}", drift * factors.get(k, 1.0) * (1.0 + k), spread=spread)
           for k in range(count)]  # fmt: skip
    paths = [written(tmp_path / n / "b.json", e) for n, e in (("now", now), ("old", before))]
    return changes(*map(read_session, paths))


def test_what_is_slower_than_noise_allows_is_found(tmp_path):
    found = later(tmp_path, {3: 1.5, 7: 0.5, 9: 1.05})
    assert found.with_verdict("slower") == [("b3", pytest.approx(1.5))]
    assert found.with_verdict("faster") == [("b7", pytest.approx(0.5))]
    assert found.drift == pytest.approx(1.0)


def test_noisy_timings_need_a_larger_change(tmp_path):
    assert later(tmp_path, {3: 1.5}, spread=0.1).with_verdict("slower") == []
    assert later(tmp_path, {3: 3.0}, spread=0.1).with_verdict("slower") == [
        ("b3", pytest.approx(3.0))
    ]


def test_a_slower_machine_is_no_regression_and_is_told(tmp_path):
    found = later(tmp_path, {3: 1.5}, drift=2.0)
    assert found.drift == pytest.approx(2.0)
    assert found.with_verdict("slower") == [("b3", pytest.approx(3.0))]


def test_few_timings_in_common_say_nothing_of_the_machine(tmp_path):
    found = later(tmp_path, {0: 1.5, 1: 1.5}, count=2)
    assert found.drift == 1.0
    assert len(found.with_verdict("slower")) == 2


def test_equal_work_on_a_noisy_machine_is_rarely_called_slower(tmp_path):
    rng = np.random.default_rng(0)

    def noisy(path):
        entries = []
        for k in range(400):
            data = np.sort(1.0 + rng.exponential(0.05, 5))
            stats = {"min": data[0], "median": data[2], "max": data[4], "rounds": 5}
            entries.append({"fullname": f"b{k}", "stats": stats})
        return read_session(written(path, entries))

    found = changes(noisy(tmp_path / "now.json"), noisy(tmp_path / "old.json"))
    assert len(found.with_verdict("slower")) <= 0.06 * 400


def test_a_machine_that_changes_its_pace_hides_no_large_change_and_feigns_no_small_one(tmp_path):
    rng = np.random.default_rng(1)
    pace = {k: float(f) for k, f in enumerate(rng.lognormal(0, 0.15, 60))}
    found = later(tmp_path, pace | {3: 4.0}, spread=0.001, count=60)
    assert found.with_verdict("slower")[0] == ("b3", pytest.approx(4.0))
    assert len(found.with_verdict("slower")) <= 2


def test_new_and_gone_benchmarks_are_told(tmp_path):
    before = read_session(written(tmp_path / "old.json", SESSION[:2]))
    now = read_session(written(tmp_path / "now.json", SESSION[1:3]))
    found = changes(now, before)
    assert found.by_name.keys() == {SESSION[1]["fullname"]}
    assert found.gone == (SESSION[0]["fullname"],)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        '{"benchmarks": [{}]}',
        '{"benchmarks": [{"fullname": "a", "stats": {"min": "x"}}]}',
        json.dumps({"benchmarks": [entry("a", 0.0)]}),
        json.dumps({"benchmarks": [entry("a", float("nan"))]}),
    ],
)
def test_what_is_no_session_is_refused_with_the_cure(tmp_path, text, capsys):
    path = tmp_path / "benchmark.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=r"make benchmark"):
        read_session(path)
    assert main(["timing", str(path)]) == 2
    assert "make benchmark" in capsys.readouterr().err


def test_the_page_shows_all_methods_and_flags_the_slower(tmp_path, capsys):
    path = written(tmp_path / "benchmark.json", SESSION)
    slow = [*SESSION[:2], of_method("ivon", "fit", 6.0), *SESSION[3:]]
    now = written(tmp_path / "now.json", slow)
    arguments = ["timing", str(now), "--previous", str(path), "--out", str(tmp_path / "site")]
    assert main(arguments) == 1
    assert "fit[ivon-cpu (1 thread)]: 2.00 times as long" in capsys.readouterr().out
    page = (tmp_path / "site" / "timing.html").read_text()
    assert "1 of 7 timings became slower" in page
    assert page.count("<strong>slower</strong>") == 1
    assert "60 ms" in page
    assert all(title(name) in page for name in METHODS)
    assert page.count('role="img"') == 2
    assert "Time for one example, rows, cpu (1 thread): AdamW fit 0.02" in page


def test_the_same_session_twice_has_no_change(tmp_path):
    path = written(tmp_path / "benchmark.json", SESSION)
    assert main(["timing", str(path), "--previous", str(path)]) == 0
    page = (tmp_path / "timing.html").read_text()
    assert "None of 7 common timings became slower" in page


@pytest.mark.long
def test_a_site_links_the_timings_that_lie_among_its_results(tmp_path):
    results, site = tmp_path / "results", tmp_path / "site"
    keep(results / "cifar10", [record()])
    assert main([str(results), "--out", str(site)]) == 0
    assert "timing.html" not in (site / "suites.html").read_text()
    written(results / "benchmark.json", SESSION)
    assert main([str(results), "--out", str(site)]) == 0
    assert '<a href="timing.html">Timings</a>' in (site / "suites.html").read_text()
    page = (site / "timing.html").read_text()
    assert '<a href="suites.html">All suites</a>' in page
    written(results / "benchmark_previous.json", SESSION, machine="another")
    assert main([str(results), "--out", str(site)]) == 0
    assert "different machines" in (site / "timing.html").read_text()


@pytest.mark.long
def test_two_stores_have_a_page_of_timings_each(tmp_path):
    for name in "ab":
        keep(tmp_path / name / "cifar10", [record(seed=ord(name))])
        written(tmp_path / name / "benchmark.json", SESSION, machine=name)
    folders = [str(tmp_path / name) for name in "ab"]
    assert main([*folders, "--out", str(tmp_path / "site")]) == 0
    index = (tmp_path / "site" / "suites.html").read_text()
    assert re.findall(r'href="(timing[^"]*)">([^<]+)', index) == [
        ("timing-a.html", "Timings, a"),
        ("timing-b.html", "Timings, b"),
    ]


def test_a_damaged_session_costs_its_page_and_not_the_site(tmp_path, capsys):
    keep(tmp_path / "results" / "cifar10", [record()])
    (tmp_path / "results" / "benchmark.json").write_text("{")
    assert main([str(tmp_path / "results"), "--out", str(tmp_path / "site")]) == 3
    assert "make benchmark" in capsys.readouterr().err
    assert (tmp_path / "site" / "index.html").exists()


def test_hostile_names_stay_text(tmp_path):
    entries = [
        of_method(HOSTILE, "fit", 1.0, problem=HOSTILE),
        entry(HOSTILE, 1.0, {HOSTILE: HOSTILE}),
    ]
    path = written(tmp_path / "benchmark.json", entries, machine=HOSTILE)
    assert main(["timing", str(path)]) == 0
    assert "<img" not in (tmp_path / "timing.html").read_text()


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(3e-8, "30 ns"), (1.23e-5, "12.3 µs"), (0.004, "4 ms"), (1.5, "1.5 s"), (600, "10 min"),
     (0.0, "0 ns")],
)  # fmt: skip
def test_short_times_have_units_of_their_own(seconds, said):
    assert span(seconds) == said


def test_names_are_spelled_for_people():
    assert title("mc_dropout") == "MC dropout"
    assert title("graves_vi") == "Graves VI"
    assert title("cyclical_sgld") == "Cyclical SGLD"
