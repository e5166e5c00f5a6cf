"""Packages the folders of a checkout under the single import name bnnbench.

BNNBENCH_REPOSITORY is the address of the repository, which the workflows set. The package states
it, and in the description for an index, links and pictures of README.md lead there, at this
release. Without it no address is stated. If BNNBENCH_RESULTS_WHEEL also names the wheel of
bnnbench-results, as in `make wheels`, the package has its SHA-256, so that `bnnbench data fetch
results` downloads nothing else.
"""

import hashlib
import json
import os
import re
import tomllib
from pathlib import Path

from setuptools import find_packages, setup
from setuptools.command.build_py import build_py

ROOT = Path(__file__).resolve().parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
SOURCE, TAG = os.environ.get("BNNBENCH_REPOSITORY", "").rstrip("/"), f"v{PROJECT['version']}"
if SOURCE and not SOURCE.startswith("https://"):
    raise SystemExit(f"BNNBENCH_REPOSITORY is {SOURCE!r}; give https://HOST/OWNER/NAME, or nothing")
FOLDERS = ("datasets", "methods", "metrics", "suites", "reports")
INSIDE = [pattern for folder in FOLDERS for pattern in (folder, f"{folder}.*")]
LINK = re.compile(r"\]\((?!https?:|#)([^)]+)\)")
PICTURE = re.compile(r'\b(src|srcset)="(?!https?:)([^"]+)"')


def description() -> str:
    """Return README.md; with a repository, links are absolute and pictures are raw files."""
    text = (ROOT / "README.md").read_text("utf-8")
    if not SOURCE:
        return text
    text = LINK.sub(rf"]({SOURCE}/blob/{TAG}/\1)", text)
    return PICTURE.sub(rf'\1="{SOURCE}/raw/{TAG}/\2"', text)


class BuildWithResults(build_py):
    """Also writes which wheel of results belongs to this build."""

    def run(self) -> None:
        super().run()
        path = os.environ.get("BNNBENCH_RESULTS_WHEEL")
        if path and SOURCE:
            wheel = Path(path)
            content = wheel.read_bytes()
            stated = {
                "name": wheel.name,
                "bytes": len(content),
                "sha256": hashlib.sha256(content).hexdigest(),
                "url": f"{SOURCE}/releases/download/{TAG}/{wheel.name}",
            }
            place = Path(self.build_lib) / "bnnbench" / "datasets" / "reading"
            (place / "results_wheel.json").write_text(json.dumps(stated, indent=1) + "\n", "utf-8")


setup(
    packages=[
        *find_packages(include=["bnnbench", "bnnbench.*"]),
        *(f"bnnbench.{name}" for name in find_packages(include=INSIDE)),
    ],
    package_dir={f"bnnbench.{folder}": folder for folder in FOLDERS},
    long_description=description(),
    long_description_content_type="text/markdown",
    project_urls={"Source": SOURCE} if SOURCE else {},
    cmdclass={"build_py": BuildWithResults},
)
