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
    from bnnbench.commands.stored_runs.admission import packages_in, runs_of
    from bnnbench.engine.declare.names import name_of, names_in
    from bnnbench.engine.method_settings.registry import class_of
    from bnnbench.engine.store.rebuilding import rebuilt_run
    from bnnbench.methods.source_code import classes_of, method_digest, own_sources

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
    rebuilt = rebuilt_run(records[0], packages_in(records)).method
    files = {file for each in classes_of(rebuilt) for file in own_sources(each.module)}
    code = {file.name: file.read_bytes() for file in sorted(files)}
    _check(store, records, method_digest(rebuilt))
    file = out or Path(f"{_slug(labels[0])}.{records[0].suite}{submissions.SUFFIX}")
    submissions.write(file, store, [r.key for r in records], code)
    asked, missing = runs_of(records)
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


def _check(store: Store, records: Sequence["Record"], digest: str) -> None:
    """Raise ValueError unless all runs are complete, of one profile and of the present code."""
    if len(profiles := sorted({r.profile for r in records})) > 1:
        raise ValueError(f"the runs are of profiles {', '.join(profiles)}; submit one at a time")
    if failed := [r for r in records if r.outcome.status == "failed"]:
        raise ValueError(f"{len(failed)} runs failed, such as {failed[0].key}: repeat them first")
    for record in records:
        if record.outcome.status == "completed":
            store.packed(record.key)  # raises CorruptRecord if predictions are missing
    if any(r.circumstances.code_sha256 != digest for r in records):
        raise ValueError(
            "some runs were made by other code than today's; --refit changed re-runs them"
        )


def _slug(text: str) -> str:
    return "".join(c if c.isalnum() else "_" for c in text).strip("_").lower()
