"""A site is built again exactly if something that it depends on has changed."""

from pathlib import Path

import pytest

import bnnbench
from bnnbench.commands import report
from bnnbench.commands.reporting import writing
from bnnbench.engine.store import bundles
from bnnbench.reports.pages.report import suite_chapter
from bnnbench.reports.pages.site import state
from bnnbench.reports.read import load
from tests.reports.synthetic import keep, record, runs_of

RUNS = runs_of({"AdamW": [1.0, 1.1], "SGD": [2.0, 2.1]})


@pytest.fixture
def build(tmp_path, monkeypatch):
    """Return a function that runs the command and returns whether it built the site."""
    keep(tmp_path / "results" / "cifar10", RUNS)
    monkeypatch.setenv("BNNBENCH_DATA", str(tmp_path / "data"))  # others may fill the usual one
    built = []
    write = writing.write
    monkeypatch.setattr(writing, "write", lambda *given: built.append(given) or write(*given))

    def build(*options):
        built.clear()
        code = report.main([str(tmp_path / "results"), "--out", str(tmp_path / "site"), *options])
        assert code == 0
        return bool(built)

    assert build()
    return build


def test_without_a_change_nothing_is_built(build, tmp_path, capsys):
    before = {file: file.stat().st_mtime_ns for file in (tmp_path / "site").rglob("*")}
    assert not build()
    assert "nothing has changed" in capsys.readouterr().out
    assert before == {file: file.stat().st_mtime_ns for file in (tmp_path / "site").rglob("*")}


def test_another_run_builds_it_again(build, tmp_path):
    keep(tmp_path / "results" / "cifar10", [record("AdamW", seed=7)])
    assert build()
    assert not build()


@pytest.mark.long
def test_another_margin_builds_it_again(build):
    assert build("--margin", "nll=0.1")
    assert not build("--margin", "nll=0.1")
    assert build()


@pytest.mark.parametrize(
    "harm",
    [
        "altered",
        *(pytest.param(h, marks=pytest.mark.long) for h in ("removed", "no state", "torn")),
    ],
)
def test_a_site_that_is_not_whole_is_built_again(build, tmp_path, harm):
    site = tmp_path / "site"
    index = site / "suites.html"
    whole = index.read_bytes()
    if harm == "altered":
        index.write_text("other")
    elif harm == "removed":
        index.unlink()
    elif harm == "no state":
        (site / state.NAME).unlink()
    else:
        (site / state.NAME).write_bytes((site / state.NAME).read_bytes()[:-9])
    assert build()
    assert index.read_bytes() == whole


@pytest.mark.long
def test_a_site_whose_building_failed_is_built_again(build, tmp_path, monkeypatch):
    keep(tmp_path / "results" / "cifar10", [record("AdamW", seed=7)])
    with monkeypatch.context() as patched:
        patched.setattr(writing, "write", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            report.main([str(tmp_path / "results"), "--out", str(tmp_path / "site")])
    assert build()


@pytest.mark.long
def test_a_site_of_damaged_runs_names_the_damage_every_time(build, tmp_path, capsys):
    (tmp_path / "results" / "cifar10" / "runs" / RUNS[0].key / "record.json").write_text("{}")
    for _ in range(2):
        code = report.main([str(tmp_path / "results"), "--out", str(tmp_path / "site")])
        assert code == 3
        assert "damaged" in capsys.readouterr().err


@pytest.mark.long
class TestReports:
    @pytest.fixture
    def built(self, build, tmp_path, monkeypatch):
        """Return a function that builds the site of two suites and returns the written reports."""
        keep(tmp_path / "results" / "mnist", RUNS)
        written = []
        write = suite_chapter.write
        monkeypatch.setattr(
            *(suite_chapter, "write"),
            lambda report, *rest: written.append(report.suite) or write(report, *rest),
        )

        def built():
            written.clear()
            build()
            return list(written)

        assert built() == ["mnist"]
        return built

    def test_only_those_of_changes_are_written_and_the_site_is_as_if_all_were(
        self, built, tmp_path
    ):
        keep(tmp_path / "results" / "mnist", [record("AdamW", seed=7)])
        assert built() == ["mnist"]
        (tmp_path / "site" / "cifar10" / "report.html").write_bytes(b"altered")
        assert built() == ["cifar10"]
        contents = _contents(tmp_path / "site")
        report.main([str(tmp_path / "results"), "--out", str(tmp_path / "other")])
        assert contents == _contents(tmp_path / "other")

    def test_other_addresses_of_runs_change_a_report(self, tmp_path):
        keep(tmp_path / "mnist", RUNS)
        runs = {("mnist", ("quick",)): "runs/one.html"}
        inputs = state.inputs([tmp_path / "mnist"], [])
        results = load.read(tmp_path / "mnist")
        assert writing._digest(inputs, results, runs) != writing._digest(inputs, results, {})

    @pytest.mark.parametrize("place", [".", "mnist"])
    def test_a_change_of_its_own_folder_changes_a_report(self, tmp_path, monkeypatch, place):
        for suite in ("mnist", "mnist2"):
            keep(tmp_path / suite, RUNS)
        monkeypatch.chdir(tmp_path / "mnist" if place == "." else tmp_path)

        def digest():
            return state.inputs([Path()], []).digest_of([Path(place)])

        before = digest()
        keep(tmp_path / "mnist2", [record("AdamW", seed=7)])
        assert digest() == before
        keep(tmp_path / "mnist", [record("AdamW", seed=7)])
        assert digest() != before

    def test_of_a_second_name_of_a_folder_nothing_is_known(self, tmp_path):
        keep(tmp_path / "cifar10", RUNS)
        (tmp_path / "later").symlink_to(tmp_path / "cifar10")
        inputs = state.inputs([tmp_path], [])
        assert inputs.digest_of([tmp_path / "later"]) == ""
        assert inputs.digest_of([tmp_path / "cifar10"]) != ""

    def test_damage_is_named_though_the_report_stays(self, built, tmp_path, capsys):
        key = RUNS[0].key
        (tmp_path / "results" / "mnist" / "runs" / key / "record.json").write_text("{}")
        for _ in range(2):
            code = report.main([str(tmp_path / "results"), "--out", str(tmp_path / "site")])
            assert code == 3
            assert key in capsys.readouterr().err


def _contents(site):
    return {
        file.relative_to(site): file.read_bytes()
        for file in site.rglob("*")
        if file.is_file() and file.name != state.NAME
    }


def test_a_suite_behind_a_link_counts(tmp_path):
    keep(tmp_path / "elsewhere" / "cifar10", RUNS)
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "cifar10").symlink_to(tmp_path / "elsewhere" / "cifar10")
    before = state.inputs([tmp_path / "results"], [])
    keep(tmp_path / "elsewhere" / "cifar10", [record("AdamW", seed=7)])
    assert state.inputs([tmp_path / "results"], []).digest != before.digest


def test_links_in_a_circle_end(tmp_path):
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "back").symlink_to(tmp_path)
    (tmp_path / "one" / "file").write_text("content")
    assert state.inputs([tmp_path], []) == state.inputs([tmp_path], [])


def test_a_file_that_cannot_be_read_stops_nothing(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("content")
    readable = state.inputs([tmp_path], [])

    def refuse(*_):
        raise PermissionError("not yours")

    monkeypatch.setattr(state.hashlib, "file_digest", refuse)
    assert state.inputs([tmp_path], []).digest != readable.digest


@pytest.mark.long
def test_data_that_arrive_build_it_again(build, tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "cifar.tar").write_bytes(b"images")
    assert build()
    assert not build()


@pytest.mark.parametrize("room", ["commands/report.py", "wording.py", "engine/store/store.py"])
def test_every_room_of_the_project_counts(room):
    code = {file for one in state.ROOMS for file in state._files(Path(one.__path__[0]))}
    assert Path(bnnbench.__path__[0], room) in code


def test_the_digest_depends_on_contents_options_and_templates(tmp_path, monkeypatch):
    bundles.write(tmp_path / "bundle", RUNS)
    digests = {state.inputs([tmp_path / "bundle"], []).digest}
    digests.add(state.inputs([tmp_path / "bundle"], ["nll"]).digest)
    bundles.write(tmp_path / "bundle", RUNS[1:])
    digests.add(state.inputs([tmp_path / "bundle"], []).digest)
    monkeypatch.setattr(state, "SUFFIXES", state.SUFFIXES - {".html"})
    digests.add(state.inputs([tmp_path / "bundle"], []).digest)
    assert len(digests) == 4
