"""`bnnbench bundle`: store finished runs as one small file, and their predictions beside it."""

import functools
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from bnnbench.commands.terminal.parser import Parser
from bnnbench.datasets.reading.third_party_text import legible
from bnnbench.engine.records.record import Record, newest
from bnnbench.engine.store import bundles, rounded
from bnnbench.engine.store.inspection import stores
from bnnbench.engine.store.rebuilding import NotRepeatable, rebuilt_run
from bnnbench.engine.store.store import PREDICTIONS, CorruptRecord, Store
from bnnbench.wording import counted

ABOUT = """\
Write the records of finished runs to FOLDER/runs.tar.xz: scores, settings, searches, costs and
provenance, but no predictions. `bnnbench site` makes pages of bundles.

With --predictions, the predictions of these runs go to FOLDER/predictions.tar next to it. This
file is large and does not belong in a repository. Unpacked into one folder by `tar xf`, both files
form a store, which `bnnbench store verify --rescore` checks and `bnnbench report` shows.

With --rounded, they go to FOLDER/rounded.tar.xz, rounded so far that every score computed from them
keeps four digits; `bnnbench site` shows figures and examples of them. The file has at most 3 MB:
the predictions of as many folds as fit, from the first on.

Refused: runs made with uncommitted changes, and runs of a method by different versions of the
code, or by other code than this program's (--earlier-code accepts these).
"""

REFUSED = 3


class Refused(ValueError):
    """Runs that do not belong in a bundle; the message gives the reason and the remedy."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return 0, 2 for wrong usage, 3 if runs are refused."""
    parser = Parser("bnnbench bundle", description=ABOUT)
    parser.add_argument(
        "results", nargs="+", type=Path, help="folders of results of one suite; they are merged"
    )
    parser.add_argument(
        "--out", type=Path, required=True, metavar="FOLDER", help="folder of the bundle"
    )
    parser.add_argument("--datasets", default="", metavar="A,B", help="only these data sets")
    parser.add_argument("--profile", default="", help="only this profile")
    parser.add_argument(
        "--earlier-code", action="store_true", help="accept runs made by earlier code"
    )
    parser.add_argument(
        "--predictions", action="store_true", help="write the predictions to a second file"
    )
    parser.add_argument(
        "--rounded", action="store_true", help="write rounded predictions to a second, small file"
    )
    options = parser.parse_args(arguments)
    datasets = set(filter(None, options.datasets.split(",")))
    try:
        folders = [store for folder in options.results for store in stores(folder)]
        records = [
            record
            for record in newest(_records(folders))
            if (not datasets or record.dataset in datasets)
            and options.profile in ("", record.profile)
        ]
        check(records, options.earlier_code)
        path = bundles.write(options.out, records)
        lines = [f"{path}: {counted(len(records))}, {path.stat().st_size / 1e3:,.0f} kB"]
        if options.predictions:
            lines += _write_predictions(options.out, folders, records)
        if options.rounded:
            lines.append(_write_rounded(options.out, folders, records))
    except Refused as error:
        print(f"refused: {legible(error)}", file=sys.stderr)
        return REFUSED
    except (CorruptRecord, ValueError, OSError) as error:
        print(f"error: {legible(error)}", file=sys.stderr)
        return 2
    for line in lines:
        print(legible(line))
    return 0


def _write_predictions(
    out: Path, folders: Sequence[Store], records: Sequence[Record]
) -> Iterator[str]:
    """Write the predictions of these runs; yield lines on what was written and what is missing."""
    packed = {
        key: functools.partial(store.packed, key)
        for key, store in _holders(folders, records).items()
    }
    path = bundles.write_predictions(out, packed)
    yield f"{path}: predictions of {counted(len(packed))}, {path.stat().st_size / 1e6:,.1f} MB"
    if lacking := sum(record.outcome.predictions_sha256 is not None for record in records) - len(
        packed
    ):
        yield f"  predictions of {counted(lacking)} are missing"


def _write_rounded(out: Path, folders: Sequence[Store], records: Sequence[Record]) -> str:
    """Write the rounded predictions of these runs; return a line on what was written."""
    from bnnbench.engine.run.rounding import pack_rounded  # this imports torch

    holders = _holders(folders, records)
    count = rounded.write(
        out,
        [record for record in records if record.key in holders],
        lambda record: pack_rounded(holders[record.key].predictions(record.key), record),
    )
    path = out / rounded.NAME
    size = path.stat().st_size / 1e3
    return f"{path}: rounded predictions of {counted(count)}, {size:,.0f} kB"


def _holders(folders: Sequence[Store], records: Sequence[Record]) -> dict[str, Store]:
    """Return key → the store with the predictions that a record was scored from."""
    return {
        record.key: store
        for record in records
        for store in folders
        if record.outcome.predictions_sha256 and _holds(store, record)
    }


def _records(folders: Iterable[Store]) -> list[Record]:
    return [record for store in folders for record in store.records()]


def _holds(store: Store, record: Record) -> bool:
    """Return whether a store has the same predictions that a record was scored from."""
    here = (store.runs / record.key / PREDICTIONS).is_file() and store.read(record.key)
    return bool(here) and here.outcome.predictions_sha256 == record.outcome.predictions_sha256


def check(records: Sequence[Record], earlier_code: bool = False) -> None:
    """Raise `Refused` unless the records are of one suite and one committed code per method."""
    if not records:
        raise Refused("no run is left; check --datasets and --profile")
    if len(suites := sorted({record.suite for record in records})) > 1:
        raise Refused(f"several suites, {', '.join(suites)}; make a bundle of each")
    if changed := [r.key for r in records if r.circumstances.provenance.get("dirty") is not False]:
        raise Refused(
            f"{counted(len(changed))}, such as {changed[0]}: made with uncommitted changes, or "
            "without a record that there were none; commit, and run again"
        )
    digests: dict[tuple[str, str], set[str | None]] = defaultdict(set)
    firsts: dict[tuple[str, str], Record] = {}
    for record in records:
        name = record.profile, record.method
        digests[name].add(record.circumstances.code_sha256)
        firsts.setdefault(name, record)
    for (profile, method), versions in digests.items():
        if len(versions) > 1:
            raise Refused(
                f"the runs of {method!r} in the profile {profile!r} were made by "
                f"{len(versions)} versions of its code; --refit changed re-runs the earlier ones"
            )
    if earlier_code:
        return
    for (profile, method), record in firsts.items():
        if record.external is not None:
            continue
        named = f"the runs of {method!r} in the profile {profile!r}"
        try:
            today = _digest_today(record)
        except NotRepeatable as error:
            raise Refused(
                f"{named} cannot be re-run: {error}; --earlier-code accepts them"
            ) from error
        if record.circumstances.code_sha256 != today:
            raise Refused(
                f"{named} were made by other code than today's; --refit changed re-runs them, "
                "--earlier-code accepts them"
            )


def _digest_today(record: Record) -> str:
    """Return the digest of the code that would re-run a run. Raises `NotRepeatable`."""
    from bnnbench.methods.source_code import method_digest

    return method_digest(rebuilt_run(record).method)
