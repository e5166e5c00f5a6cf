"""Rooms import only from their left, and no modules import each other in a circle."""

import ast
import sys
from collections.abc import Iterable
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ENGINE = ("declare", "method_settings", "records", "run", "store", "external", "workers")
FLOW = (
    *("wording", "checkout", "datasets", "methods", "metrics"),
    *(f"engine.{room}" for room in ENGINE),
    *("suites", "estimators", "reports", "commands", "__main__"),
)
"""The rooms of `bnnbench` in order. The package itself names functions of all of them."""
ROOT = Path(__file__).resolve().parent.parent.parent
FOLDERS = ("bnnbench", "datasets", "methods", "metrics", "suites", "reports")
FILES = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))]


@cache
def imports_of(path: Path) -> list[ast.Import | ast.ImportFrom]:
    """Return every import of a file, including imports inside functions."""
    nodes = ast.walk(ast.parse(path.read_text()))
    return [node for node in nodes if isinstance(node, ast.Import | ast.ImportFrom)]


def imported(path: Path) -> list[tuple[int, str]]:
    """Return line and name of every module, and name in it, that a file imports."""
    found = []
    for node in imports_of(path):
        names = [alias.name for alias in node.names]
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"line {node.lineno}: imports are absolute"
            names = [node.module or "", *(f"{node.module}.{name}" for name in names)]
        found += [(node.lineno, name) for name in names]
    return found


def module_of(path: Path) -> str:
    """Return the name by which a file of the project is imported."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(["bnnbench", *parts[parts[0] == "bnnbench" :]]).removesuffix(".__init__")


MODULES = {module_of(path): path for path in FILES}


def test_rooms_import_only_from_their_left(subtests):
    for module, path in MODULES.items():
        rooms = [place for place, room in enumerate(FLOW) if is_in(module, [f"bnnbench.{room}"])]
        if not rooms:
            assert module in ("bnnbench", "bnnbench.engine"), f"{module} is in no room"
            continue
        forbidden = ("tests", *(f"bnnbench.{room}" for room in FLOW[rooms[0] + 1 :]))
        names = imported(path)
        with subtests.test(module):
            assert not [f"line {line}: {name}" for line, name in names if is_in(name, forbidden)]


def test_no_modules_import_each_other_in_a_circle():
    arrows = {m: arrows_of(path) - {m, "bnnbench"} for m, path in MODULES.items()}
    try:
        TopologicalSorter(arrows).prepare()
    except CycleError as error:
        raise AssertionError(" imports ".join(reversed(error.args[1]))) from None


def arrows_of(path: Path) -> set[str]:
    """Return the modules of this project that a file imports; of a package's names, the package."""
    found = set()
    for node in imports_of(path):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        else:
            inner = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= (inner & MODULES.keys()) or {node.module or ""}
    return found & MODULES.keys()


def is_in(name: str, packages: Iterable[str]) -> bool:
    return any(name == package or name.startswith(f"{package}.") for package in packages)


REPORTS = ("style", "read", "papers", "judge", "figures", "sections", "pages")
"""Rooms of `reports`; `judge/statistics` is below all of them."""
STATISTICS = "bnnbench.reports.judge.statistics"
NUMBERS = {*sys.stdlib_module_names, "numpy", "scipy", "jaxtyping"}


@pytest.mark.parametrize("place", range(len(REPORTS)), ids=REPORTS)
def test_rooms_of_reports_import_only_from_their_left(place, subtests):
    right = [f"bnnbench.reports.{room}" for room in REPORTS[place + 1 :]]
    for path in sorted((ROOT / "reports" / REPORTS[place]).rglob("*.py")):
        names = [name for _, name in imported(path)]
        with subtests.test(str(path.relative_to(ROOT))):
            assert not [n for n in names if is_in(n, right) and not is_in(n, [STATISTICS])]


def test_statistics_import_only_numerical_libraries():
    ours = "bnnbench.metrics.statistics", STATISTICS
    for path in (ROOT / "reports" / "judge" / "statistics").glob("*.py"):
        for line, name in imported(path):
            assert name.partition(".")[0] in NUMBERS or is_in(name, ours), f"{path}:{line}: {name}"


SHARED = ("networks", "predictions", "fitting", "checkpoints", "compiled", "moments")
"""Rooms of `methods` that several methods share."""
SHARED_FILES = [
    path
    for path in FILES
    if path.is_relative_to(ROOT / "methods")
    and (path == ROOT / "methods" / "base.py" or path.relative_to(ROOT).parts[1] in SHARED)
]


def test_what_methods_share_knows_none_of_them(subtests):
    others = "base", "own_files", "source_code"
    rooms = tuple(f"bnnbench.methods.{room}" for room in (*SHARED, *others))
    for path in SHARED_FILES:
        names = [name for _, name in imported(path)]
        with subtests.test(str(path.relative_to(ROOT))):
            known = [n for n in names if is_in(n, ["bnnbench.methods"]) and not is_in(n, rooms)]
            assert known == []


def test_the_engine_and_the_datasets_know_no_method():
    tables = ("names", "card", "glossary", "environments")
    rooms = tuple(f"bnnbench.methods.{r}" for r in (*SHARED, *tables, "base", "source_code"))
    rooms += (
        "bnnbench.methods.METHODS",
        "bnnbench.methods.method_type",
        "bnnbench.methods.plug_ins",
        "bnnbench.methods.own_files",
        "bnnbench.methods.tuning",
    )
    for path in FILES:
        if path.is_relative_to(ROOT / "bnnbench" / "engine"):
            for line, name in imported(path):
                fine = name == "bnnbench.methods" or is_in(name, rooms)
                assert fine or not is_in(name, ["bnnbench.methods"]), f"{path}:{line}: {name}"


def test_metrics_know_of_methods_only_what_a_prediction_is():
    for path in (ROOT / "metrics").rglob("*.py"):
        for line, name in imported(path):
            ours = is_in(name, ["bnnbench.methods"])
            assert not ours or is_in(name, ["bnnbench.methods.predictions"]), f"{path}:{line}"


def test_only_one_file_touches_the_network():
    network = {"pooch", "requests", "urllib", "http", "ftplib"}
    touching = {
        path.relative_to(ROOT).as_posix()
        for path in FILES
        if network & {n.partition(".")[0] for _, n in imported(path)}
    }
    assert touching <= {"datasets/reading/files.py"}


PAIRS = {"socket", "socketpair", "send_fds", "recv_fds", "MSG_DONTWAIT", "MSG_WAITALL"}
"""Names of the module `socket` that pairs of sockets on this machine need."""


def test_sockets_connect_only_processes_of_this_machine():
    for path in FILES:
        if "socket" not in {name for _, name in imported(path)}:
            continue
        assert path.is_relative_to(ROOT / "bnnbench" / "engine" / "workers"), path
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "socket":
                assert node.attr in PAIRS, f"{path}:{node.lineno}"
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "socket.socket":
                assert [keyword.arg for keyword in node.keywords] == ["fileno"], path
