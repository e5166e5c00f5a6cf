"""Packages and data files arrive as they were when they were checked, or not at all."""

import hashlib
import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

from bnnbench.datasets import FILE_SETS, SOURCES, fetchable
from bnnbench.datasets.errors import DataDamaged
from bnnbench.datasets.reading import files
from bnnbench.datasets.reading.files import DataFile
from bnnbench.methods.hmc import hamiltorch

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
OPTIONAL = PROJECT["optional-dependencies"]
LOCKS = ("locks/packages.lock", "locks/torch.lock", "locks/torch-cpu.lock")
MD5_ALONE = ("cifar-100-python/train", "stl10_binary/", "CIFAR-10-C/", "CIFAR-100-C/")
"""Members of archives; the archives have a SHA-256."""


def pins(lock: str) -> dict[str, list[tuple[Version, int]]]:
    """Return each package's versions in a lock, which depend on the platform, and their hashes."""
    text = re.sub(r"^ *#.*\n", "", (ROOT / lock).read_text(), flags=re.MULTILINE)
    found: dict[str, list[tuple[Version, int]]] = {}
    for line in text.replace("\\\n", "").splitlines():
        name, version = re.match(r"([\w.-]+)==([\w.+]+)", line).groups()
        digests = re.findall(r"--hash=sha256:[0-9a-f]{64}\b", line)
        found.setdefault(name, []).append((Version(version), len(digests)))
    return found


def data_files() -> set[DataFile]:
    """Return all files of all data sets, and the archives that contain them."""
    items = map(fetchable, (*SOURCES, *FILE_SETS))
    found = {f for i in items for f in getattr(i, "data_files", getattr(i, "files", ()))}
    while (archives := {file.archive for file in found if file.archive}) - found:
        found |= archives
    return found


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


@pytest.mark.parametrize("lock", LOCKS)
def test_every_locked_package_has_hashes(lock):
    assert pins(lock)
    assert all(hashes for versions in pins(lock).values() for _, hashes in versions)


def test_the_locks_have_what_the_project_asks_for_in_versions_that_it_admits():
    locked = pins(LOCKS[0]) | pins(LOCKS[1])
    for line in (*PROJECT["dependencies"], *OPTIONAL["dev"]):
        asked = Requirement(line)
        versions = locked[normal(asked.name)]
        assert all(asked.specifier.contains(version) for version, _ in versions), line


def test_the_locks_agree_with_the_constraints_and_the_two_builds_of_torch_with_each_other():
    locked = pins(LOCKS[0]) | pins(LOCKS[1])
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pairs = [line.split("==") for line in lines if not line.startswith("#")]
    constraints = {normal(name): Version(version) for name, version in pairs}
    others = {normal(Requirement(line).name) for extra in OPTIONAL.values() for line in extra}
    assert constraints.keys() - locked.keys() <= others
    for name in constraints.keys() & locked.keys():
        assert [version for version, _ in locked[name]] == [constraints[name]]
    ((build, _),) = pins(LOCKS[2])["torch"]
    assert Version(build.public) == constraints["torch"]


def test_set_up_installs_nothing_whose_hash_it_does_not_check():
    makefile = (ROOT / "Makefile").read_text()
    assert re.search(
        r"^LOCKED := install .*--require-hashes --no-deps --only-binary :all:", makefile, re.M
    )
    (unlocked,) = re.findall(r"-m pip install (.*)", makefile)
    assert unlocked.split() == ["--quiet", "--no-deps", "--no-build-isolation", "-e", "."]


def test_no_requirement_is_an_address_which_an_index_refuses():
    required = [*PROJECT["dependencies"], *(r for rs in OPTIONAL.values() for r in rs)]
    assert not [requirement for requirement in required if "@" in requirement]
    assert re.search(r"hamiltorch@[0-9a-f]{40}\"$", hamiltorch.CURE)


def test_https_comes_first():
    for file in data_files():
        schemes = [url.partition("://")[0] for url in file.urls]
        assert schemes == sorted(schemes, reverse=True), file.path
        assert not schemes or schemes[0] == "https", file.path


def test_whatever_is_downloaded_has_a_sha256_and_other_files_without_are_named():
    weak = [file for file in data_files() if not file.verified_by.startswith("sha256:")]
    assert all(file.archive and file.path.startswith(MD5_ALONE) for file in weak)
    policy = (ROOT / "SECURITY.md").read_text()
    assert all(f"`{path}`" in policy for path in MD5_ALONE)


def test_a_file_with_the_right_md5_and_another_sha256_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("BNNBENCH_DATA", str(tmp_path))
    (tmp_path / "file").write_bytes(b"collision")
    checksum = f"md5:{hashlib.md5(b'collision').hexdigest()}"
    assert files.read(DataFile("x", "file", checksum)) == b"collision"
    with pytest.raises(DataDamaged, match="sha256"):
        files.read(DataFile("x", "file", checksum, sha256="0" * 64))
    with pytest.raises(DataDamaged, match="sha256"):
        files.verified(DataFile("x", "file", checksum, sha256="0" * 64))


def test_http_is_tried_where_the_same_host_has_no_https(monkeypatch):
    monkeypatch.setattr(files, "_answered", {})
    monkeypatch.setattr(files, "_connects", lambda url: url.startswith("http:"))
    assert not files._is_reachable("https://host/file")
    assert files._is_reachable("http://host/file")
