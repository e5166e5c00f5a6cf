"""`bnnbench methods`, and methods of installed packages."""

import dataclasses
import os
import subprocess
from pathlib import Path

import pytest

from bnnbench.commands import methods
from bnnbench.engine.store.store import Store
from bnnbench.methods import METHODS, method_type
from bnnbench.methods.names import SETTINGS
from tests.warm import python

ROOT = Path(__file__).resolve().parents[2]


def printed(capsys, *names: str) -> str:
    assert methods.main(names) == 0
    return capsys.readouterr().out


def test_all_methods_are_listed(capsys):
    text = printed(capsys)
    assert all(name in text for name in METHODS)
    assert "cannot be imported" not in text


@pytest.mark.parametrize("name", [*METHODS, *SETTINGS])
def test_every_method_and_setting_has_a_page_with_its_settings(capsys, name):
    kind = method_type({**METHODS, **SETTINGS}[name])
    lines = printed(capsys, name).splitlines()
    names = [line.split()[0] for line in lines if line.strip()]
    assert [f.name for f in dataclasses.fields(kind) if f.name not in names] == []


def test_the_page_of_ivon_says_what_its_file_says(capsys):
    text = printed(capsys, "IVON")
    assert 'Shen et al. (2024), "Variational Learning is Effective for Large Deep Networks"' in text
    assert "learning_rate: 0.003 to 1, log-uniform" in text
    assert "beta2: 0.99 to 0.99999, one minus it log-uniform" in text
    assert "for the posterior itself" in text
    (line,) = [line for line in text.splitlines() if line.startswith("beta2")]
    assert line.split()[1:4] == ["0.99999", "a", "number"]


def test_the_page_says_which_problems_are_taken(capsys):
    takes = [li for li in printed(capsys, "neural_linear").splitlines() if li.startswith("  takes")]
    assert takes == ["  takes   regression by a perceptron; regression of images by convolutions"]


def test_an_unknown_name_is_code_2_with_the_nearest(capsys):
    assert methods.main(["ivno"]) == 2
    assert "did you mean 'ivon'?" in capsys.readouterr().err


@pytest.fixture
def package(tmp_path) -> Path:
    """A folder with an installed package, which adds two methods and reuses one of our names."""
    facts = tmp_path / "site" / "wobbly-1.0.dist-info"
    facts.mkdir(parents=True)
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: wobbly\nVersion: 1.0\n")
    lines = ["Wobbly = wobbly:Wobbly", "adamw = wobbly:Wobbly", "broken = wobbly_absent:Wobbly"]
    (facts / "entry_points.txt").write_text("\n".join(["[bnnbench.methods]", *lines, ""]))
    text = "from tests.suites.fakes import Mean\n\n\nclass Wobbly(Mean):\n    '''Wobbles.'''\n"
    (tmp_path / "site" / "wobbly.py").write_text(text)
    return tmp_path / "site"


def bnnbench(package: Path, module: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), str(package)])}
    command = python("-m", module, *arguments)
    return subprocess.run(
        command, cwd=package.parent, env=environment, capture_output=True, text=True, timeout=300
    )


def test_an_installed_package_adds_methods_by_entry_points(package):
    listed = " ".join(bnnbench(package, "bnnbench", "methods").stdout.split())  # lines are wrapped
    assert "Wobbles." in listed
    assert "No module named 'wobbly_absent'" in listed
    assert "The maximum a posteriori weights" in listed  # adamw is still ours
    flags = ["--folds", "1", "--no-report", "--out", "out", "--methods"]
    done = bnnbench(package, "tests.suites.miniature", *flags, "wobbly,wobbly(shake=3)")
    assert done.returncode == 0, done.stdout + done.stderr
    records = list(Store(package.parent / "out" / "miniature").records())
    found = {record.method: record.run["method"] for record in records}
    assert found == {
        "Wobbly": {"type": "wobbly:Wobbly", "shake": 1.0},
        "Wobbly (shake=3.0)": {"type": "wobbly:Wobbly", "shake": 3.0},
    }


def test_a_package_that_lacks_its_module_is_named(package):
    done = bnnbench(package, "tests.suites.miniature", "--methods", "broken")
    assert done.returncode == 2
    assert "cannot construct wobbly_absent:Wobbly: ModuleNotFoundError" in done.stderr
