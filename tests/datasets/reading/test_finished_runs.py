"""The finished runs are found in a checkout, in an installed package or in a download."""

import hashlib
import os
import subprocess
import sys
import zipfile
from dataclasses import replace

import pytest

from bnnbench.commands import data, site, try_method
from bnnbench.datasets import FILE_SETS
from bnnbench.datasets.errors import DataDamaged, DataUnavailable
from bnnbench.datasets.reading import files, finished_runs
from bnnbench.datasets.reading.files import DataFile
from bnnbench.datasets.reading.finished_runs import NoFinishedRuns, Results

ROOT = finished_runs.CHECKOUT.parents[1]


@pytest.fixture
def _elsewhere(tmp_path, monkeypatch):
    """No checkout, no package of results, and an empty data folder."""
    monkeypatch.setattr(finished_runs, "PACKAGE", "no_package_of_this_name")
    monkeypatch.setattr(finished_runs, "CHECKOUT", tmp_path / "no checkout")
    monkeypatch.setenv("BNNBENCH_DATA", str(tmp_path / "data"))


@pytest.fixture
def wheel(tmp_path):
    """A wheel of results with one file, which wants to leave the folder of the runs."""
    path = tmp_path / "bnnbench_results-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as zipped:
        zipped.writestr("bnnbench_results/bundle/uci/runs.tar.xz", b"runs")
        zipped.writestr("bnnbench_results/bundle/../../../outside", b"outside")
        zipped.writestr("bnnbench_results/__init__.py", b"")
    return path


def release(wheel, **changes):
    checksum = f"sha256:{hashlib.sha256(wheel.read_bytes()).hexdigest()}"
    file = DataFile("results", f"results/{wheel.name}", checksum, urls=("https://host/wheel",))
    return Results("results", (replace(file, **changes),), "Apache-2.0")


def deliver(wheel, monkeypatch):
    """Let every download put the wheel in its place."""
    monkeypatch.setattr(files, "_is_reachable", lambda url: True)

    def retrieve(file, url):
        file.place.parent.mkdir(parents=True, exist_ok=True)
        file.place.write_bytes(wheel.read_bytes())
        good = file.checksum.endswith(hashlib.sha256(wheel.read_bytes()).hexdigest())
        return None if good else "another checksum"

    monkeypatch.setattr(files, "_retrieve", retrieve)


def test_a_checkout_has_its_own_runs():
    assert finished_runs.folder() == ROOT / "docs" / "bundle"
    assert not finished_runs.is_released(finished_runs.folder())
    assert finished_runs.RESULTS.missing() == ()


def test_the_package_is_found_and_its_folder_is_the_bundle():
    code = "from bnnbench.datasets.reading import finished_runs as f; from pathlib import Path\n"
    code += "f.CHECKOUT = Path('none'); print(f.folder()); print(f.is_released(f.folder() / 'uci'))"
    package = ROOT / "release" / "results"
    paths = os.pathsep.join([str(ROOT), str(package)])
    done = subprocess.run(
        [sys.executable, "-c", code], env=os.environ | {"PYTHONPATH": paths},
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.stdout.split() == [str(package / "bnnbench_results" / "bundle"), "True"]
    assert (package / "bnnbench_results" / "bundle").resolve() == ROOT / "docs" / "bundle"


@pytest.mark.usefixtures("_elsewhere")
def test_without_runs_commands_name_the_three_cures(capsys):
    with pytest.raises(NoFinishedRuns):
        finished_runs.folder()
    for main, typed in ((site.main, []), (try_method.main, ["adamw", "--suite", "two_moons"])):
        assert main(typed) == 2
        told = capsys.readouterr().err
        assert "pip install 'bnnbench[results]'" in told
        assert "bnnbench data fetch results" in told
        assert "name a folder" in told


@pytest.mark.usefixtures("_elsewhere")
def test_a_download_is_verified_unpacked_and_found(wheel, tmp_path, monkeypatch):
    results = release(wheel)
    monkeypatch.setattr(finished_runs, "RESULTS", results)
    deliver(wheel, monkeypatch)
    assert results.missing()
    results.fetch()
    assert results.missing() == ()
    assert (finished_runs.folder() / "uci" / "runs.tar.xz").read_bytes() == b"runs"
    assert finished_runs.is_released(finished_runs.folder() / "uci")
    assert [path.name for path in (tmp_path / "data" / "results").iterdir()] == [
        wheel.name.removesuffix(".whl")
    ]
    written = [path for path in tmp_path.rglob("*") if path.is_file() and path != wheel]
    assert all(path.is_relative_to(finished_runs.folder()) for path in written)


@pytest.mark.usefixtures("_elsewhere")
def test_a_download_with_another_checksum_is_refused(wheel, monkeypatch):
    results = release(wheel, checksum=f"sha256:{'0' * 64}")
    deliver(wheel, monkeypatch)
    with pytest.raises((DataUnavailable, DataDamaged), match="checksum"):
        results.fetch()
    assert results.place
    assert not results.place.exists()


@pytest.mark.usefixtures("_elsewhere")
def test_what_was_not_released_says_how_to_install_results(monkeypatch, capsys):
    monkeypatch.setattr(finished_runs, "RESULTS", Results("results", (), "Apache-2.0"))
    module, _, name = FILE_SETS["results"].partition(":")
    assert (module, name) == (finished_runs.__name__, "RESULTS")
    assert data.main(["fetch", "results"]) == 1
    assert "pip install ./release/results" in capsys.readouterr().err
