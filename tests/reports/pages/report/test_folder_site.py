"""The site: merged stores of several machines, a front page, files of limited size."""

import base64
import json
import re
import zlib

import numpy as np
import pytest

from bnnbench.commands.report import main
from bnnbench.engine.records.cost import Cost
from bnnbench.engine.records.record_json import to_json
from bnnbench.methods import METHODS
from bnnbench.methods.card import FAMILIES, card_of
from bnnbench.reports.pages.drilldown.dialogs import Drilldown, size
from bnnbench.reports.pages.layout import LIMIT
from bnnbench.reports.pages.report import page as pages_of
from bnnbench.reports.pages.report.content import content
from bnnbench.reports.read.load import read, store_names
from bnnbench.reports.read.merge import MergedStore, merged, store_of
from bnnbench.reports.style.families import family_of
from tests.reports.first_pages import render
from tests.reports.synthetic import PROVENANCE, classified, keep, record, runs_of

HOSTILE = '</script><img src=x onerror="window.hit=1"><!--<script>'


@pytest.fixture
def rng():
    """A seeded generator."""
    return np.random.default_rng(0)


def data_of(page):
    data = re.search(r'id="page-data">(.*?)</script>', page)[1]
    packed = json.loads(data)["drilldown"]
    return json.loads(zlib.decompress(base64.b64decode(packed)))


def behind(found, **options):
    """Return the drilldown of all tables of a report."""
    return Drilldown(found).of([table for _, table in found.tables], **options)


def test_the_list_names_every_suite_with_data_repeats_and_answer(tmp_path):
    runs = runs_of({"AdamW": [1.0, 1.1, 1.2, 1.1], "SGD": [2.0, 2.1, 2.2, 2.1]})
    keep(tmp_path / "r" / "cifar10", runs)
    keep(tmp_path / "r" / "a&b", [record(suite="a&b", origin="stand-in")])
    assert main([str(tmp_path / "r"), "--out", str(tmp_path / "site")]) == 0
    front = (tmp_path / "site" / "suites.html").read_text()
    assert 'href="cifar10/report.html"' in front
    assert 'href="a%26b/report.html"' in front
    assert "AdamW has the best NLL" in front
    assert "900 + 100 rows" in front
    assert "1 fold, 4 seeds" in front
    assert "2 methods, 1 data set, 8 runs, " in front
    assert "Stand-in data" in front
    assert 'href="../suites.html"' in (tmp_path / "site" / "cifar10" / "report.html").read_text()


def test_links_of_a_site_are_relative_and_lead_to_its_files(tmp_path):
    keep(tmp_path / "r" / "cifar10", [record()])
    keep(tmp_path / "r" / "b c", [record(suite="b c")])
    site = tmp_path / "site"
    assert main([str(tmp_path / "r"), "--out", str(site)]) == 0
    for page in site.rglob("*.html"):
        for link in re.findall(r'href="([^"]*)"', page.read_text()):
            if not link.startswith(("#", "data:")):
                assert "://" not in link
                assert not link.startswith("/")
                file, _, fragment = link.partition("#")
                assert (page.parent / file.replace("%20", " ")).is_file()
                assert not fragment or file.startswith(("../runs/", "board/", "../board/"))


def test_several_folders_need_a_place_for_the_site(tmp_path, capsys):
    for name in ("a", "b"):
        keep(tmp_path / name / "s", [record()])
    assert main([str(tmp_path / "a"), str(tmp_path / "b")]) == 2
    assert "--out" in capsys.readouterr().err


def test_stores_are_named_by_what_tells_them_apart(tmp_path):
    paths = [tmp_path / "gpu" / "results", tmp_path / "cpu" / "results"]
    assert store_names(paths) == ["gpu/results", "cpu/results"]
    with pytest.raises(ValueError, match="twice"):
        store_names([tmp_path, tmp_path])


def test_a_run_of_two_stores_counts_once_and_says_where_it_is_from(tmp_path):
    both, first, second = record(seed=0), record(seed=1), record(seed=2)
    keep(tmp_path / "a" / "s", [both, first])
    keep(tmp_path / "b" / "s", [both, second])
    found = merged({name: read(tmp_path / name / "s") for name in "ab"})
    assert sorted(r.seed for r in found.records) == [0, 1, 2]
    assert found.copies == 1
    assert found.disagreeing == ()
    assert (found.places[first.key], found.places[second.key]) == ("a", "b")
    out = tmp_path / "site"
    assert main([*(str(tmp_path / n) for n in "ab"), "--out", str(out)]) == 0
    data = data_of((out / "s" / "report.html").read_text())
    assert data["stores"] == ["a", "b"]
    assert "Where the runs come from" in (out / "suites.html").read_text()


@pytest.mark.long
def test_of_copies_the_completed_one_is_taken_and_disagreement_is_told(tmp_path):
    lost = record(seed=0, scores={}, status="failed", error="out of memory")
    whole = record(seed=0, scores={"clean": {"nll": 2.0}})
    other = record(seed=1, scores={"clean": {"nll": 3.0}})
    later = PROVENANCE | {"finished": "2026-01-01T00:00:00+00:00"}
    again = record(seed=1, scores={"clean": {"nll": 3.5}}, provenance=later)
    assert (lost.key, other.key) == (whole.key, again.key)
    keep(tmp_path / "a" / "s", [lost, other])
    keep(tmp_path / "b" / "s", [whole, again])
    found = merged({name: read(tmp_path / name / "s") for name in "ab"})
    assert {r.seed: r.outcome.scores["clean"]["nll"] for r in found.records} == {0: 2.0, 1: 3.5}
    assert set(found.disagreeing) == {whole.key, other.key}
    assert main([*(str(tmp_path / n) for n in "ab"), "--out", str(tmp_path / "site")]) == 0
    assert (
        "different scores in another store" in (tmp_path / "site" / "s" / "report.html").read_text()
    )


def test_predictions_come_from_the_store_whose_record_was_taken(tmp_path, rng):
    run = record()
    keep(tmp_path / "a" / "s", [record("SGD")])
    keep(tmp_path / "b" / "s", [run], {run.key: {"clean": classified(rng, 1.0)}})
    found = merged({name: read(tmp_path / name / "s") for name in "ab"})
    assert isinstance(found.store, MergedStore)
    assert list(found.store.predictions(run.key)) == ["clean"]
    assert store_of(found.store, run.key).folder.parts[-2] == "b"
    assert content(found).parts[0].galleries


def test_damage_of_one_store_is_named_with_it(tmp_path):
    bad = record()
    store = keep(tmp_path / "a" / "s", [bad])
    keep(tmp_path / "b" / "s", [bad])
    (store.runs / bad.key / "record.json").write_text("{")
    found = merged({name: read(tmp_path / name / "s") for name in "ab"})
    assert [r.key for r in found.records] == [bad.key]
    assert found.damage[0].reason.startswith("a: ")


@pytest.mark.parametrize("schema", [2, 99])
def test_a_record_of_an_earlier_or_a_later_schema_is_named(tmp_path, schema):
    old, good = record(seed=0), record(seed=1)
    store = keep(tmp_path / "s", [old, good])
    path = store.runs / old.key / "record.json"
    told = json.loads(to_json(old))
    path.write_text(
        json.dumps({n: v for n, v in told.items() if n != "sha256"} | {"schema": schema})
    )
    found = read(tmp_path / "s")
    assert [r.key for r in found.records] == [good.key]
    assert [d.key for d in found.damage] == [old.key]


def test_what_is_behind_a_cell_is_the_runs_with_their_numbers(tmp_path):
    runs = [
        record(seed=s, scores={"clean": {"nll": 1.0 + s / 3}}, diagnostics={"loss": 0.5 * s},
               cost=Cost(2.0 + s, 0.1, 2.0**20, 3))
        for s in range(3)
    ]  # fmt: skip
    lost = record(seed=3, scores={}, status="diverged", error=HOSTILE)
    keep(tmp_path / "s", [*runs, lost])
    data = behind(content(read(tmp_path / "s")))
    (benchmark,) = data["benchmarks"]
    held = benchmark["methods"]["AdamW"]
    assert held["runs"]["key"] == [r.key for r in (*runs, lost)]
    assert held["runs"]["fold"] == 0
    assert held["runs"]["seed"] == [0, 1, 2, 3]
    assert held["scores"]["clean"]["nll"] == [1, 1.33333, 1.66667, None]
    assert held["diagnostics"]["loss"] == [0, 0.5, 1, None]
    assert held["runs"]["fit_seconds"] == [2, 3, 4, 2]
    assert held["runs"]["errors"] == {3: HOSTILE}
    assert data["settings"]["quick"]["AdamW"]["learning_rate"] == "0.001"
    assert data["origins"][0]["packages.torch"] == "2.13.0"
    assert data["whole"]


def test_packed_data_cannot_leave_their_element(tmp_path):
    keep(tmp_path / "s", [record(settings={HOSTILE: HOSTILE}, scores={"clean": {"nll": 1.0}})])
    found = content(read(tmp_path / "s"))
    text = Drilldown(found).compressed([table for _, table in found.tables], 10_000)
    assert re.fullmatch("[A-Za-z0-9+/=]+", text)
    assert HOSTILE in data_of(render(found))["settings"]["quick"]["AdamW"]


def test_values_that_are_no_numbers_are_said_by_name(tmp_path):
    values = [float("nan"), float("inf"), float("-inf")]
    keep(tmp_path / "s", runs_of({"AdamW": values}))
    data = behind(content(read(tmp_path / "s")))
    column = data["benchmarks"][0]["methods"]["AdamW"]["scores"]["clean"]["nll"]
    assert sorted(column) == sorted(["NaN", "∞", "−∞"])


def test_what_does_not_fit_is_left_out_and_said(tmp_path):
    keep(tmp_path / "s", runs_of({"AdamW": [1.23456 + k / 7 for k in range(50)]}))
    found = content(read(tmp_path / "s"))
    small = behind(found, most_bytes=size(behind(found)) - 200)
    assert not small["whole"]
    assert "scores" not in small["benchmarks"][0]["methods"]["AdamW"]
    assert len(small["benchmarks"][0]["methods"]["AdamW"]["runs"]["key"]) == 50
    assert behind(found, most_bytes=0)["benchmarks"][0]["methods"] == {}


@pytest.mark.parametrize("share", [1.0, 0.8, 0.5, 0.2])
def test_compressed_runs_take_no_more_than_their_room(share, tmp_path):
    rng = np.random.default_rng(0)
    keep(tmp_path / "s", runs_of({m: list(rng.random(50)) for m in ("A", "B", "C")}))
    found = content(read(tmp_path / "s"))
    tables = [table for _, table in found.tables]
    whole = Drilldown(found).compressed(tables, 10**6)
    text = Drilldown(found).compressed(tables, int(share * len(whole)))
    assert len(text) <= share * len(whole)
    data = json.loads(zlib.decompress(base64.b64decode(text)))
    assert data["whole"] == (share == 1)


def test_a_page_has_the_runs_of_its_own_tables_only(tmp_path):
    scores = {"clean": {"nll": 1.0}, "corrupted_1": {"nll": 2.0}}
    keep(tmp_path / "s", [record(dataset=d, scores=scores) for d in ("boston", "yacht")])
    found = content(read(tmp_path / "s"))
    (table,) = [
        table
        for _, table in found.tables
        if {c.condition for c in table.columns if c.kind == "score"} == {"clean"}
        and table.benchmark == found.benchmarks[1].identity
    ][:1]
    data = Drilldown(found).of([table])
    assert [list(b["methods"]) for b in data["benchmarks"]] == [[], ["AdamW"]]
    assert set(data["benchmarks"][1]["methods"]["AdamW"]["scores"]) == {"clean"}


@pytest.mark.long
def test_a_page_that_is_too_large_gives_chapters_to_others(tmp_path, rng, monkeypatch):
    noisy = {f"corrupted_{k}": {"nll": 1.0 + k} for k in range(1, 6)}
    runs = [record(m, scores={"clean": {"nll": 1.0}, **noisy}) for m in ("AdamW", "SGD")]
    keep(tmp_path / "s", runs, {r.key: {"clean": classified(rng, 1.0)} for r in runs})
    found = content(read(tmp_path / "s"))
    (whole,) = pages_of.pages(found).values()
    empty = 60_000
    monkeypatch.setattr(pages_of, "MOST_BYTES", empty + (len(whole) - empty) // 2)
    files = pages_of.pages(found)
    assert "figures.html" in files
    assert all(f'href="{name}"' in files["report.html"] for name in files if name != "report.html")
    assert all(len(text.encode()) <= pages_of.MOST_BYTES for text in files.values())
    for kind in ('role="img" aria-label', "<table", 'id="settings"', 'id="provenance"'):
        assert sum(text.count(kind) for text in files.values()) == whole.count(kind), kind


@pytest.mark.long
def test_pages_of_a_site_are_as_small_as_others_there(tmp_path, rng):
    metrics = {f"metric_{k}": 1.0 for k in range(40)}
    names = [f"Method {k}" for k in range(60)]
    sets = [f"set_{k}" for k in range(6)]
    runs = [record(m, d, scores={"clean": metrics | {"nll": 1.0}}) for m in names for d in sets]
    keep(tmp_path / "s", runs)
    found = content(read(tmp_path / "s"))
    assert len(pages_of.pages(found)) == 1
    files = pages_of.pages(found, "../suites.html")
    assert len(files) > 3
    assert max(len(text.encode()) for text in files.values()) <= LIMIT
    for name in files.keys() - {"report.html"}:
        assert 'href="report.html"' in files[name]
        assert f'href="{name}" aria-current="page"' in files[name]
        assert f'href="{name}"' in files["report.html"]


def test_profiles_of_a_site_have_a_page_each(tmp_path):
    profiles = ("quick", "tuned quick", 'tuned "quick"')
    runs = [record(m, profile=p, seed=s) for p in profiles for m in ("A", "B") for s in range(3)]
    keep(tmp_path / "s", runs)
    found = content(read(tmp_path / "s"))
    assert set(pages_of.pages(found)) == {"report.html"}
    files = pages_of.pages(found, "../suites.html")
    assert len(files) == 4
    assert all(f'href="{name}"' in files["report.html"] for name in files.keys() - {"report.html"})
    assert 'href="../suites.html"' in files["report.html"]
    for name in files.keys() - {"report.html"}:
        assert 'href="report.html"' in files[name]
        assert "6 runs" in files[name]
        assert "compressed (.gz)" in files[name]
    assert "18 runs" in files["report.html"]


def test_profiles_have_a_page_each_where_one_page_would_be_too_large(tmp_path, monkeypatch):
    keep(tmp_path / "s", [record(profile=p) for p in ("quick", "paper")])
    found = content(read(tmp_path / "s"))
    assert set(pages_of.pages(found)) == {"report.html"}
    monkeypatch.setattr(pages_of, "MOST_BYTES", 10_000)
    files = pages_of.pages(found)
    assert {"report.html", "profile-quick.html", "profile-paper.html"} <= set(files)
    assert "compressed (.gz)" not in files["profile-quick.html"]


def test_success_is_a_column_even_where_all_went_well(tmp_path):
    keep(tmp_path / "s", [record(seed=0), record(seed=1), record("SGD")])
    page = render(content(read(tmp_path / "s")))
    start = page.index("<table class=")
    table = page[start : page.index("</table>", start)]
    assert "Success" in table
    assert re.search(r"SGD.*?<td class=\"cost\" data-value=\"0.5\">50</td>", table, re.DOTALL)


def test_methods_have_families_and_third_party_methods_are_other():
    assert family_of({"type": "tuned", "method": {"type": "ivon"}}) == "variational"
    assert {card_of(name).family for name in METHODS} == set(FAMILIES)
    assert family_of({"type": "sgld"}) == "sampling"
    assert family_of({"type": "nearest:NearestNeighbours"}) == "other"
    assert family_of({"type": "tuned"}) == family_of(None) == "other"
