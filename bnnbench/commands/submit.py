"""`bnnbench submit`: pack the finished runs of a method into one file for someone's bundle."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bnnbench.commands.terminal.parser import Parser
from bnnbench.datasets.reading.third_party_text import legible
from bnnbench.engine.store import submissions
from bnnbench.engine.store.inspection import stores
from bnnbench.engine.store.store import CorruptRecord, Store
from bnnbench.wording import counted

if TYPE_CHECKING:
    from bnnbench.engine.records.record import Record

ABOUT = """\
Write the runs of one method to one file, with their predictions and the method's own files. The
maintainer of a bundle of results can check it and add it with `bnnbench admit FILE`.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return 0, or 2 for wrong usage."""
    parser = Parser("bnnbench submit", description=ABOUT)
    parser.add_argument("method", help="file.py:Class, module:Class or a name")
    parser.add_argument(
        "results", type=Path, help="folder of results of one suite, such as results/try/uci"
    )
    parser.add_argument("--label", default="", help="only runs with this label; default: all")
    parser.add_argument("--out", type=Path, metavar="FILE", help="default: LABEL.SUITE plus suffix")
    options = parser.parse_args(arguments)
    try:
        return _submit(options.method, options.results, options.label, options.out)
    except (CorruptRecord, ValueError, OSError) as error:
        print(f"error: {legible(error)}", file=sys.stderr)
        return 2


def _submit(method: str, results: Path, label: str, out: Path | None) -> int:
    from bnnbench.commands.stored_runs.submitted import Submitted, check_names, code_digest
    from bnnbench.engine.declare.names import name_of, names_in
    from bnnbench.engine.method_settings.registry import class_of

    name = name_of(class_of(method))
    store = _only_store(results)
    records = [r for r in store.current() if name in names_in(r.run)]
    if label:
        records = [r for r in records if r.method == label]
    if not records:
        raise ValueError(f"{results} has no runs of {name}" + f" labelled {label!r}" * bool(label))
    labels = sorted({r.method for r in records})
    if len(labels) > 1:
        raise ValueError(
            f"{results} has runs labelled {', '.join(labels)}: choose one with --label"
        )
    files = _files(name)
    check_names(records, [file.stem for file in files])
    submitted = Submitted(store, tuple(records), files[0].parent if files else store.folder)
    _check(store, records)
    for data_set, described in submitted.methods.items():
        _check_code(
            [r for r in records if r.dataset == data_set], code_digest(described, submitted.code)
        )
    code = {file.name: file.read_bytes() for file in files}
    file = out or Path(f"{_slug(labels[0])}.{records[0].suite}{submissions.SUFFIX}")
    submissions.write(file, store, [r.key for r in records], code)
    asked = len(submitted.runs)
    missing = len(submitted.runs.keys() - {record.key for record in records})
    print(f"{file}: {counted(len(records))} of {labels[0]}, {file.stat().st_size / 1e3:,.0f} kB")
    for name in code:
        print(f"  with {name}")
    if missing:
        print(
            f"  {missing} of the {asked} runs that the profile asks for on these data sets are "
            "missing; a bundle takes only whole profiles"
        )
    return 0


def _only_store(folder: Path) -> Store:
    in_folder = stores(folder)
    if len(in_folder) != 1:
        names = ", ".join(str(store.folder) for store in in_folder) or "none"
        raise ValueError(f"needed the folder of one suite; {folder} has {names}")
    return in_folder[0]


def _files(name: str) -> list[Path]:
    """Return the files of the module of a third-party class and of all that it imports.

    Raises ValueError if they are in several folders, since a submission has one.
    """
    from bnnbench.methods.source_code import own_sources

    module, colon, _ = name.partition(":")
    files = sorted(own_sources(module)) if colon else []
    if "." in module or len({file.parent for file in files}) > 1:
        raise ValueError(
            f"{name} is in a package or imports from one: put its files next to each other in one "
            "folder, name the method by its file, and run it again"
        )
    return files


def _check(store: Store, records: Sequence["Record"]) -> None:
    """Raise ValueError unless all runs are complete and of one profile."""
    if len(profiles := sorted({r.profile for r in records})) > 1:
        raise ValueError(f"the runs are of profiles {', '.join(profiles)}; submit one at a time")
    if failed := [r for r in records if r.outcome.status == "failed"]:
        raise ValueError(f"{len(failed)} runs failed, such as {failed[0].key}: repeat them first")
    for record in records:
        if record.outcome.status == "completed":
            store.packed(record.key)  # raises CorruptRecord if predictions are missing


def _check_code(records: Sequence["Record"], digest: str) -> None:
    """Raise ValueError unless the runs were made by the code of this digest."""
    if any(r.circumstances.code_sha256 != digest for r in records):
        raise ValueError(
            "some runs were made by other code than today's; --refit changed re-runs them"
        )


def _slug(text: str) -> str:
    return "".join(c if c.isalnum() else "_" for c in text).strip("_").lower()
