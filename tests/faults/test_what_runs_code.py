"""The claims of SECURITY.md: reading data, records, predictions and checkpoints runs no code."""

import ast
import hashlib
import io
import os
import pickle
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import torch

from bnnbench.commands.report import main
from bnnbench.datasets.reading import pickles
from bnnbench.engine.run.packing import NotImported, unpack
from bnnbench.engine.store.rebuilding import NotRepeatable, rebuilt
from bnnbench.methods.checkpoints.files import Damaged, Stage, read_state
from tests.records import changed
from tests.reports.synthetic import keep, record

ROOT = Path(__file__).parents[2]
FOLDERS = ("bnnbench", "datasets", "methods", "metrics", "suites", "reports")
REQUIRED = {"np.load": ("allow_pickle", False), "torch.load": ("weights_only", True)}
READERS = ("pickle", "marshal", "shelve", "joblib", "dill", "cloudpickle", "yaml")
LOADING = {"load", "loads", "Unpickler", "read_pickle", "exec", "eval"}
PICKLES = {
    "datasets/reading/pickles.py",
    "bnnbench/engine/workers/channel.py",
    "bnnbench/engine/workers/child.py",
    "bnnbench/engine/workers/data_server.py",
    "bnnbench/engine/workers/clusters/__init__.py",
    CHECK := "suites/check/method_checks.py",
}
"""The first admits arrays, strings and numbers; the next two read what the driver and the data
server have pickled, the fourth its own errors, the fifth, on a worker, what its driver has, and the
last what it has itself pickled and printed."""


class Exploit:
    """Creates a file when it is unpickled."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self):
        return os.mkdir, (str(self.marker),)


@pytest.fixture
def marker(tmp_path):
    """A path that exists as soon as code has run."""
    path = tmp_path / "it-ran"
    yield path
    assert not path.exists()


def test_the_exploit_works_where_pickles_are_trusted(tmp_path):
    pickle.loads(pickle.dumps(Exploit(tmp_path / "ran")))
    assert (tmp_path / "ran").exists()


def test_data_does_not(marker):
    with pytest.raises(pickle.UnpicklingError, match="Nothing was run"):
        pickles.load(pickle.dumps({"data": Exploit(marker)}))


def hostile_arrays(marker: Path, *names: str) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, **{name: np.array([Exploit(marker)], dtype=object) for name in names})
    return buffer.getvalue()


def test_predictions_do_not(marker):
    content = hostile_arrays(marker, "clean/categorical/log_probs", "clean/targets")
    with pytest.raises(ValueError, match="pickle"):
        unpack(content)


def test_a_checkpoint_does_not_though_its_digest_is_right(tmp_path, marker):
    torch.save({"state": Exploit(marker)}, tmp_path / "fit.pt")
    digest = hashlib.sha256((tmp_path / "fit.pt").read_bytes()).hexdigest()
    with pytest.raises(Damaged, match=r"fit\.pt"):
        read_state(tmp_path, Stage("fit.pt", digest, "", 1))


def foreign_module(folder: Path, marker: Path, monkeypatch) -> str:
    """Return the name of a module that leaves a mark when it is imported."""
    name = "module_of_a_record"
    source = f"import os\nos.mkdir({str(marker)!r})\nclass Foreign: ...\n"
    (folder / f"{name}.py").write_text(source)
    monkeypatch.syspath_prepend(folder)
    return name


def test_a_record_imports_no_class_that_it_names(tmp_path, marker, monkeypatch):
    name = foreign_module(tmp_path, marker, monkeypatch)
    foreign = {"type": f"{name}:Foreign"}
    for described in (foreign, {"type": "os:system"}, {"type": "bnnbench.methods.sgd:Sgd"}):
        with pytest.raises(NotRepeatable, match="--allow"):
            rebuilt(described)
    kept = record(run={"method": foreign, "source": foreign, "architecture": [foreign]})
    keep(tmp_path / "r" / "cifar10", [changed(kept, diagnostics={"converged": 0})])
    assert main([str(tmp_path / "r"), "--out", str(tmp_path / "site")]) == 0
    assert name not in sys.modules


def test_predictions_import_no_class_that_they_name(tmp_path, marker, monkeypatch):
    name = foreign_module(tmp_path, marker, monkeypatch)
    buffer = io.BytesIO()
    arrays = {f"clean/{name}:Foreign/x": np.zeros(1), "clean/targets": np.zeros(1)}
    np.savez(buffer, **arrays)
    with pytest.raises(NotImported, match="imports no third-party code"):
        unpack(buffer.getvalue())
    assert name not in sys.modules


@cache
def calls() -> list[tuple[str, ast.Call, str]]:
    """Return file, call and dotted name of every function in the project that is in `LOADING`."""
    found = []
    for path in (path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")):
        text = path.read_text()
        for node in ast.walk(ast.parse(text)) if any(name in text for name in LOADING) else ():
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute | ast.Name):
                last = node.func.id if isinstance(node.func, ast.Name) else node.func.attr
                if last in LOADING:
                    found.append((str(path.relative_to(ROOT)), node, ast.unparse(node.func)))
    return found


def test_every_reader_of_arrays_refuses_pickles():
    found = set()
    for path, call, name in calls():
        if name in REQUIRED:
            settings = {word.arg: ast.unparse(word.value) for word in call.keywords}
            setting, value = REQUIRED[name]
            assert settings.get(setting) == str(value), f"{path}:{call.lineno}"
            found.add(name)
    assert found == REQUIRED.keys()


def test_pickles_and_texts_are_read_as_code_nowhere_else():
    readers = {f"{module}.{name}" for module in READERS for name in ("load", "loads", "Unpickler")}
    for path, call, name in calls():
        assert name not in {"exec", "pd.read_pickle"}, f"{path}:{call.lineno}"
        assert name != "eval" or path == CHECK, f"{path}:{call.lineno}"
        assert name not in readers or path in PICKLES, f"{path}:{call.lineno}"
