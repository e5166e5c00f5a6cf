"""What an index shows of the packages, what their workflows run, and what `--version` prints."""

import os
import re
import subprocess
import sys
import tomllib
import zipfile

import pytest
import yaml

from bnnbench.__main__ import main
from bnnbench.commands.terminal import version
from bnnbench.datasets.reading import finished_runs
from docs.generate.finished_runs import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
RESULTS = tomllib.loads((ROOT / "release" / "results" / "pyproject.toml").read_text("utf-8"))
BASH = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c"]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


REPOSITORY = "https://code.example/somebody/bnnbench"


def asked_of_setup(*flags, repository=""):
    """Return what setup.py prints where the repository has this address."""
    env = {k: v for k, v in os.environ.items() if k != "BNNBENCH_REPOSITORY"}
    env |= {"BNNBENCH_REPOSITORY": repository} if repository else {}
    command = [sys.executable, "setup.py", "--quiet", *flags]
    return subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True)


def test_links_and_pictures_of_the_description_are_absolute_and_lead_to_files_of_the_release():
    done = asked_of_setup("--long-description", repository=REPOSITORY)
    assert done.returncode == 0, done.stderr
    readme = (ROOT / "README.md").read_text("utf-8")
    for kind, pattern in (("blob", r"\]\(([^)]+)\)"), ("raw", r'src(?:set)?="([^"]+)"')):
        links = re.findall(pattern, done.stdout)
        assert len(links) == len(re.findall(pattern, readme)) > 1
        start = f"{REPOSITORY}/{kind}/v{PROJECT['version']}/"
        assert all(link.startswith(start) for link in links)
        assert all((ROOT / link.removeprefix(start).split("#")[0]).exists() for link in links)


def test_the_address_of_the_repository_is_stated_where_it_is_known_and_nowhere_else():
    assert asked_of_setup("--url", repository=REPOSITORY).returncode == 0
    assert asked_of_setup("--long-description").stdout.strip() == (
        (ROOT / "README.md").read_text("utf-8").strip()
    )
    refused = asked_of_setup("--version", repository="git@code.example:somebody/bnnbench")
    assert refused.returncode == 1
    assert "give https://HOST/OWNER/NAME" in refused.stderr


def test_the_extra_brings_the_results_of_this_release():
    (asked,) = PROJECT["optional-dependencies"]["results"]
    assert asked == f"{RESULTS['project']['name']}~={RESULTS['project']['version']}"
    assert RESULTS["project"]["version"] == PROJECT["version"]
    assert RESULTS["project"]["authors"] == PROJECT["authors"]
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert [{"name": each["name"]} for each in citation["authors"]] == PROJECT["authors"]


def test_version_names_the_release_and_the_finished_runs(capsys, monkeypatch, tmp_path):
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert not ended.value.code
    first, second = capsys.readouterr().out.splitlines()
    assert first == f"bnnbench {PROJECT['version']}"
    assert second == f"finished runs: {finished_runs.CHECKOUT}"
    monkeypatch.setattr(version, "PROJECT", tmp_path / "pyproject.toml")
    assert re.match(r"\d+\.\d+", version.version())  # the installed package's


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_runs_targets_and_commands_that_exist(path):
    jobs = yaml.safe_load(path.read_text("utf-8"))["jobs"].values()
    lines = [step["run"] for job in jobs for step in job["steps"] if "run" in step]
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    for asked in re.findall(r"^make ([\w -]+?)(?: ARGS=.*)?$", "\n".join(lines), re.MULTILINE):
        assert {*asked.split()} <= targets
    assert all(job["timeout-minutes"] for job in jobs if "matrix" in str(job.get("strategy")))
    for script in lines:
        assert subprocess.run(["bash", "-n"], input=script, text=True, check=False).returncode == 0


def test_a_tag_is_released_only_if_it_names_the_version_of_both_packages(tmp_path):
    release = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text("utf-8"))
    (script,) = [s["run"] for s in release["jobs"]["build"]["steps"] if "tag" in s.get("name", "")]

    def code(tag):
        env = {"PATH": "/usr/bin:/bin", "GITHUB_REF_NAME": tag}
        return subprocess.run([*BASH, script], cwd=ROOT, env=env).returncode

    assert code(f"v{PROJECT['version']}") == 0
    assert code("v9.9.9") != 0


def test_a_wheel_that_does_not_state_the_repository_is_not_released(tmp_path):
    release = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text("utf-8"))
    (script,) = [s["run"] for s in release["jobs"]["build"]["steps"] if "wheel states" in str(s)]
    (tmp_path / "build" / "wheels").mkdir(parents=True)
    with zipfile.ZipFile(tmp_path / "build" / "wheels" / "bnnbench-1-py3-none-any.whl", "w") as of:
        stated = f"Name: bnnbench\nProject-URL: Source, {REPOSITORY}\n"
        of.writestr("bnnbench-1.dist-info/METADATA", stated)

    def done(repository):
        env = {"PATH": "/usr/bin:/bin", "BNNBENCH_REPOSITORY": repository}
        command = [*BASH, script]
        return subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True)

    assert done(REPOSITORY).returncode == 0
    refused = done("https://code.example/somebody/else")
    assert refused.returncode == 1
    assert "does not state https://code.example/somebody/else" in refused.stdout
