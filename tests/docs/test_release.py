"""The release number is the same everywhere."""

import re
import tomllib

import yaml

from docs.generate.finished_runs import ROOT


def test_package_changelog_and_citation_agree():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    changelog = (ROOT / "CHANGELOG.md").read_text("utf-8")
    assert citation["version"] == project["version"]
    assert citation["license"] == project["license"]
    assert re.search(r"^## (\S+)", changelog, re.MULTILINE)[1] == project["version"]
