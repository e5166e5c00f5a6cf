"""`python -m docs.generate.code_digests`: digests of meaning of the code behind recorded runs.

Older records contain digests of files, and those of methods that shared a fit the digest of the
first of these methods. The digests of meaning are computed from the commit that each record names,
found in the history, and stored in `docs/bundle/code_digests.csv`.
"""

import ast
import csv
import io
import subprocess
import tarfile
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from bnnbench.datasets.reading.whole_files import write_whole
from bnnbench.engine.store import bundles
from bnnbench.engine.store.code_digests import FILE, CodeDigest, class_names
from bnnbench.methods.source_code import CONTRACT, SCHEME, Class, Sources, digest_in, is_ours
from bnnbench.methods.source_code.files import file_in

ROOT = Path(__file__).parents[2]
BUNDLES = ROOT / "docs" / "bundle"
ROOMS = ("bnnbench", "datasets", "methods", "metrics", "suites")


def main() -> None:
    """Write the table of all bundled records whose digest is not that of their classes."""
    recorded: set[tuple[str, str, str]] = set()
    classes_by_digest: dict[str, set[str]] = defaultdict(set)
    for folder in bundles.folders(BUNDLES):
        for record in bundles.read(folder):
            commit, old = (
                record.circumstances.provenance.get("commit"),
                record.circumstances.code_sha256,
            )
            clean = record.circumstances.provenance.get("dirty") is False
            if clean and commit and old:
                recorded.add((str(commit), old, class_names(record)))
                classes_by_digest[old].add(class_names(record))
    wanted: dict[str, set[tuple[str, str]]] = defaultdict(set)
    for commit, old, classes in recorded:
        if not old.startswith(SCHEME) or len(classes_by_digest[old]) > 1:
            wanted[commit].add((old, classes))
    lines: set[CodeDigest] = set()
    for commit, pairs in wanted.items():
        with TemporaryDirectory() as folder:
            if not _restored(commit, Path(folder)):
                print(f"{commit} is not in the history: {len(pairs)} digests stay unknown")
                continue
            lines |= set(_digests(Path(folder), pairs))
    lines = {line for line in lines if line.old != line.new}
    if len({line[:2] for line in lines}) < len(lines):
        raise ValueError("one recorded digest stands for several versions of a method's code")
    text = io.StringIO(newline="")
    table = csv.writer(text, lineterminator="\n")
    table.writerow(CodeDigest._fields)
    table.writerows(sorted(lines))
    write_whole(BUNDLES / FILE, text.getvalue().encode())


def _restored(commit: str, folder: Path) -> bool:
    """Extract the project's packages at a commit; return whether the commit is known."""
    command = ["git", "-C", str(ROOT), "archive", commit, *ROOMS]
    archive = subprocess.run(command, capture_output=True)
    if archive.returncode:
        return False
    with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as files:
        files.extractall(folder, filter="data")
    return True


def _digests(folder: Path, pairs: Iterable[tuple[str, str]]) -> Iterable[CodeDigest]:
    """Yield the digests of pairs whose classes are all of this project."""

    def find(name: str) -> Path | None:
        if not is_ours(name):
            return None
        return file_in(folder / "bnnbench", name) or file_in(folder, name)

    sources, paths = Sources(find), _registered(folder)
    for old, names in pairs:
        if unknown := [name for name in names.split() if name not in paths]:
            print(f"no class is registered as {', '.join(unknown)}: {old} stays unknown")
            continue
        classes = [Class.at(paths[name]) for name in names.split()]
        yield CodeDigest(old, names, digest_in(sources, [*classes, *CONTRACT]))


def _registered(folder: Path) -> Mapping[str, str]:
    """Return the registered names of classes, from all tables of names and paths in the tree."""
    paths: dict[str, str] = {}
    for room in ROOMS:
        for file in (folder / room).rglob("*.py"):
            for node in ast.walk(ast.parse(file.read_bytes())):
                if isinstance(node, ast.Dict):
                    paths |= _entries(node)
    return paths


def _entries(table: ast.Dict) -> Iterable[tuple[str, str]]:
    """Yield the names in a table, with the paths of their classes."""
    for key, value in zip(table.keys, table.values, strict=True):
        if isinstance(key, ast.Constant) and isinstance(value, ast.Constant):
            path = str(value.value)
            if is_ours(path) and path.count(":") == 1:
                yield str(key.value), path


if __name__ == "__main__":
    main()
