"""Shapes are checked by beartype wherever our packages are imported under pytest."""

import gc
import importlib
import os
import shutil
import signal
import sys
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = "1"  # for the processes that tests start

import pytest
import torch

torch.set_num_threads(1)
gc.disable()  # until tests are collected, which makes millions of objects that stay
# Tests start a few hundred processes, and each would compile our sources anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
# A shell has its background jobs ignore Ctrl-C, and the processes that tests interrupt inherit it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
# At import, because pytest may import the conftest of a folder, and our packages with it, before
# it calls any hook of this one. Benchmarks measure the code without checks.
try:
    shapes = importlib.import_module("tests.shapes")
except ModuleNotFoundError as missing:
    if missing.name != "beartype":
        raise
    shapes = None
try:
    hypothesis = importlib.import_module("hypothesis")
except ModuleNotFoundError:
    hypothesis = None
if hypothesis:  # busy cores fail no test
    hypothesis.settings.register_profile("untimed", deadline=None)
    hypothesis.settings.load_profile("untimed")
if shapes and "--benchmark-only" not in sys.argv:
    shapes.install("bnnbench")


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """Let workers take neighbouring tests, which share fixtures, and steal at the end."""
    if getattr(config.option, "numprocesses", None) and config.option.dist in ("no", "load"):
        config.option.dist = "worksteal"


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop() -> None:
    """Collect garbage again, but do not look at what was made while tests were collected."""
    gc.freeze()
    gc.enable()


def pytest_report_header() -> str | None:
    """Say where shapes go unchecked: on a rented machine, that lacks the tools of development."""
    return None if shapes else "beartype is not installed: shapes are not checked"


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Check the first calls of every function in each test."""
    if shapes:
        shapes.begin()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave benchmarks to `make benchmark`, which asks for nothing else; mark what needs a GPU."""
    timed = config.getoption("benchmark_only")
    chosen = [item for item in items if ("benchmark" in fixtures_of(item)) == timed]
    chosen = with_one_skip_for_each_test(chosen)
    left_out = set(items) - set(chosen)
    config.hook.pytest_deselected(items=list(left_out))
    items[:] = chosen


def fixtures_of(item: pytest.Item) -> list[str]:
    return getattr(item, "fixturenames", [])


def with_one_skip_for_each_test(items: list[pytest.Item]) -> list[pytest.Item]:
    """Return the items; of a test that needs what is not here one alone remains, as a skip."""
    chosen, seen = [], set()
    for item in items:
        if item.get_closest_marker("gpu") and not torch.cuda.is_available():
            item.add_marker(pytest.mark.skipif(True, reason="needs a GPU"))
        skips = [mark.kwargs for mark in item.iter_markers("skipif") if mark.args[:1] == (True,)]
        skip = item.nodeid.partition("[")[0], str(skips)
        if not skips or skip not in seen:
            chosen.append(item)
        seen.add(skip)
    return chosen


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder of real data, or a skipped test where there is none."""
    folder = os.environ.get("BNNBENCH_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("real data: set BNNBENCH_DATA to a folder that holds it")
    return Path(folder)


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """An empty data folder."""
    monkeypatch.setenv("BNNBENCH_DATA", str(tmp_path / "data"))
    return tmp_path / "data"


@pytest.fixture(scope="session")
def project() -> Path:
    """The root of the checkout."""
    return Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def browser():
    """Headless Chromium, one for each process, or a skipped test."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        pytest.skip("Chromium is not installed: apt-get install chromium")
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with api.sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield running
        running.close()


@pytest.fixture(scope="module")
def warm_reports():
    """Let commands in this process write their reports by a Python that starts at once."""
    from bnnbench.commands import suite
    from tests.warm import python

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(suite, "REPORT", python("-m", "bnnbench", "report"))
        yield


@pytest.fixture
def store(tmp_path):
    """A store of the four runs of `tests.suites.small_store`."""
    from bnnbench.engine.store.store import Store
    from tests.suites.small_store import OUTCOMES

    found = Store(tmp_path / "results" / "miniature")
    found.write_all((outcome.record, outcome.predictions) for outcome in OUTCOMES)
    return found
