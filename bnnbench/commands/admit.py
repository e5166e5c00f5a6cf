"""`bnnbench admit`: check submitted runs and add them to a bundle."""

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from bnnbench.commands.running import sandboxing
from bnnbench.commands.terminal.parser import Parser
from bnnbench.datasets.reading import files
from bnnbench.datasets.reading.third_party_text import legible
from bnnbench.engine.records.record import Record
from bnnbench.engine.run.sandbox.sandbox import lacking
from bnnbench.engine.store import bundles, submissions
from bnnbench.engine.store.store import CorruptRecord
from bnnbench.wording import counted

ABOUT = """\
Check the runs in a file from `bnnbench submit`, then add them to a bundle. The checks: checksums;
exactly the runs of the profile; a label that no other method has; the digest of the code; data and
targets; every score, from the predictions; and a random tenth of the fits, re-run and compared
bitwise or within rounding, with their marks, diagnostics and cost. If a headline of the board would
change, every fit is re-run.

The file's code runs with your permissions, in separate processes, unless --sandbox confines them.
Read it first, and use a machine or container without secrets (SECURITY.md).
"""

REFUSED = 3


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return 0, 2 for wrong usage, 3 if the runs are refused."""
    parser = Parser("bnnbench admit", description=ABOUT)
    parser.add_argument("file", type=Path, help="file written by `bnnbench submit`")
    parser.add_argument(
        "--bundle", type=Path, default=Path("docs/bundle"), metavar="DIR",
        help="bundle to add the runs to (docs/bundle)",
    )  # fmt: skip
    parser.add_argument(
        "--share", type=float, default=0.1, help="share of the fits to re-run (0.1)"
    )
    parser.add_argument("--check", action="store_true", help="only check, add nothing")
    parser.add_argument("--sandbox", action="store_true", help=sandboxing.HELP)
    options = parser.parse_args(arguments)
    if options.sandbox and (reason := lacking()):
        parser.error(f"--sandbox: {reason}")
    if not 0 < options.share <= 1:
        parser.error("--share must be more than 0 and at most 1")
    with tempfile.TemporaryDirectory(prefix="bnnbench-") as folder:
        try:
            return _admit(options.file, Path(folder), options)
        except (CorruptRecord, ValueError, OSError) as error:
            print(f"error: {legible(error)}", file=sys.stderr)
            return 2


def _admit(file: Path, folder: Path, options: argparse.Namespace) -> int:
    from bnnbench.commands.stored_runs.admission import checked
    from bnnbench.commands.stored_runs.headlines import suites_concerned
    from bnnbench.commands.stored_runs.labels_taken import plain
    from bnnbench.engine.workers.base import prepare_process

    prepare_process()
    store = submissions.unpack(file, folder)
    code = folder / "code"
    records = list(store.records())
    if not records:
        raise ValueError(f"{file} contains no runs")
    first = records[0]
    bundle: Path = options.bundle
    place = bundle / file.name.removesuffix(submissions.SUFFIX).replace(".", "_")
    if place.exists() and not options.check:
        raise ValueError(f"{place} exists; remove it to replace its runs by these")
    concerned, others = suites_concerned(first), list[Record]()
    for other in bundles.folders(bundle) if bundle.is_dir() else ():
        for record in bundles.read(other) if other != place else ():
            if record.suite in concerned or plain(record.method) == plain(first.method):
                others.append(record)
    print(legible(f"{counted(len(records))} of {first.method}, {first.suite}, {first.profile}"))
    sandbox = sandboxing.around([files.folder(), bundle]) if options.sandbox else None
    for finding in checked(store, others, options.share, sandbox=sandbox):
        print(legible(f"  {'refused' if finding.problem else 'ok':8}{finding.check}"))
        if finding.problem:
            print(legible(f"refused: {finding.problem}"), file=sys.stderr)
            return REFUSED
    if options.check:
        return 0
    path = bundles.write(place, records)
    for source in sorted(code.glob("*")) if code.is_dir() else ():
        (place / "code").mkdir(exist_ok=True)
        (place / "code" / source.name).write_bytes(source.read_bytes())
    print(f"{path}: added; `bnnbench site {bundle} --out site` builds the pages")
    return 0
