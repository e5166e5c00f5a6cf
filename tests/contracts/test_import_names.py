"""Every part of this project has one import name, however it is started."""

import ast
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

FOLDERS = ("datasets", "methods", "metrics", "suites", "reports")
ROOT = Path(__file__).resolve().parent.parent.parent
FILES = [
    path
    for folder in ("bnnbench", *FOLDERS, "tests")
    for path in sorted((ROOT / folder).rglob("*.py"))
]

TWICE = """
import sys
from collections import Counter
files = Counter(
    m.__file__ for n, m in list(sys.modules.items()) if getattr(m, "__file__", None)
    and m.__file__.startswith({root!r}) and n != "__main__" and "site-packages" not in m.__file__
)
twice = [file for file, count in files.items() if count > 1]
bare = sorted({{n.partition(".")[0] for n in sys.modules}} & {folders!r})
print("modules", len(files), "twice", twice, "bare", bare)
"""


def in_python(*arguments: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=cwd,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=300,
    )


def test_no_file_imports_a_folder_by_its_bare_name():
    found = []
    bare = re.compile(rf"^\s*(from|import)\b.*(?<![\w.])({'|'.join(FOLDERS)})\b", re.MULTILINE)
    for path in FILES:
        text = path.read_text()
        for node in ast.walk(ast.parse(text)) if bare.search(text) else ():
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            found += [(path, n) for n in names if n.partition(".")[0] in FOLDERS]
    assert found == []


@pytest.mark.long
@pytest.mark.parametrize(
    "arguments",
    [
        ("suites.uci", "--limit", "40", "--methods", "class", "--help"),
        ("suites.uci", "--limit", "40", "--methods", "adamw", "--dry-run", "--data", "stand-in"),
        ("suites", "--help"),
        ("reports", "--help"),
        ("datasets", "list"),
        ("datasets.corruptions", "--help"),
    ],
    ids=lambda arguments: " ".join(arguments[:1]),
)
def test_no_module_is_loaded_under_two_names(tmp_path, arguments):
    """A module that runs at exit inspects all loaded modules."""
    script = TWICE.format(root=str(ROOT), folders={"methods", "metrics"})
    (tmp_path / "sitecustomize.py").write_text(
        f"import atexit\natexit.register(exec, {script!r}, {{}})\n"
    )
    done = in_python("-m", *arguments, cwd=ROOT, PYTHONPATH=str(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr
    (line,) = [one for one in done.stdout.splitlines() if one.startswith("modules ")]
    assert line.endswith("twice [] bare []"), line


@pytest.mark.parametrize("folder", ["suites", "reports", "datasets"])
def test_a_bare_import_says_what_to_import_instead(folder):
    done = in_python("-c", f"import {folder}", cwd=ROOT)
    assert done.returncode == 1
    assert f"the package {folder} is imported as bnnbench.{folder}" in done.stderr


@pytest.mark.long
def test_the_working_directory_is_not_searched_by_the_command(tmp_path):
    (tmp_path / "datasets.py").write_text("raise SystemExit('taken from where you stand')\n")
    code = (
        "import sys; sys.path[0] = sys.prefix; from bnnbench.__main__ import main; main(['list'])"
    )
    done = in_python("-c", code, cwd=tmp_path, PYTHONPATH=str(ROOT))
    assert done.returncode == 0, done.stderr
    assert "cifar10" in done.stdout


def test_help_loads_no_torch():
    code = (
        "import sys\nfrom bnnbench.__main__ import main\n"
        "try: main(['cifar10', '--help'])\n"
        "finally: print('heavy', sorted({'torch', 'numba', 'numpy', 'rich'} & sys.modules.keys()))"
    )
    done = in_python("-c", code, cwd=ROOT)
    assert "--profile" in done.stdout
    assert done.stdout.endswith("heavy []\n"), done.stdout[-200:]


def test_a_wheel_brings_one_name_with_everything_in_it(tmp_path):
    setuptools = pytest.importorskip("setuptools")
    assert int(setuptools.__version__.partition(".")[0]) >= 61
    built = in_python(
        *("setup.py", "-q", "build", "--build-base", str(tmp_path / "build")),
        *("egg_info", "--egg-base", str(tmp_path)),
        cwd=ROOT,
    )
    assert built.returncode == 0, built.stderr
    (library,) = (tmp_path / "build").glob("lib*")
    assert [path.name for path in library.iterdir()] == ["bnnbench"]
    data = {".c", ".h", ".cu", ".cuh", ".csv", ".npz", ".toml"}
    data |= {".html", ".css", ".js", ".py", ".typed"}
    for folder in FOLDERS:
        ours = {
            p.relative_to(ROOT / folder) for p in (ROOT / folder).rglob("*") if p.suffix in data
        }
        wheels = {p.relative_to(library / "bnnbench" / folder)
                  for p in (library / "bnnbench" / folder).rglob("*") if p.is_file()}  # fmt: skip
        assert wheels == ours
    assert (library / "bnnbench" / "py.typed").exists()


def test_the_command_is_declared():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["scripts"] == {"bnnbench": "bnnbench.__main__:main"}
