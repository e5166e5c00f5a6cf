"""Packages the folders of a checkout under the single import name bnnbench."""

from setuptools import find_packages, setup

FOLDERS = ("datasets", "methods", "metrics", "suites", "reports")
INSIDE = [pattern for folder in FOLDERS for pattern in (folder, f"{folder}.*")]

setup(
    packages=[
        *find_packages(include=["bnnbench", "bnnbench.*"]),
        *(f"bnnbench.{name}" for name in find_packages(include=INSIDE)),
    ],
    package_dir={f"bnnbench.{folder}": folder for folder in FOLDERS},
)
