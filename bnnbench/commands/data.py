"""`bnnbench data`: list, download, pack, describe or check sources, or export the rows of one."""

import argparse
import os
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from bnnbench.commands.terminal.parser import Parser
from bnnbench.datasets import FILE_SETS, SOURCES, fetchable, source
from bnnbench.datasets.base import DataSource, ImageSource
from bnnbench.datasets.errors import DataDamaged, DataUnavailable
from bnnbench.datasets.export import export
from bnnbench.datasets.facts import of_source
from bnnbench.datasets.official.collected.table import CollectedTable
from bnnbench.datasets.reading import files, packed
from bnnbench.datasets.reading.files import FileSet
from bnnbench.datasets.reading.third_party_text import legible


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line, and return its exit code: 0, 1 if data is missing, 2 for usage."""
    options = _parser().parse_args(arguments)
    if options.data_dir:
        os.environ["BNNBENCH_DATA"] = options.data_dir
    if options.offline:
        os.environ["BNNBENCH_OFFLINE"] = "1"
    if options.command not in ("fetch", "facts", "health", "export", "pack", "unpack"):
        _list()
        return 0
    try:
        if options.command == "facts":
            return _facts(source(options.name), options.fold)
        if options.command == "health":
            return max([_health(source(name)) for name in options.names])
        if options.command == "export":
            return _export(source(options.name), options)
        if options.command == "unpack":
            return _unpack(options.parts)
        if options.command == "pack":
            return _pack(options.names, options.out, options.parts_of)
        requested = [fetchable(name) for name in options.names]
    except ValueError as error:
        print(legible(error), file=sys.stderr)
        return 2
    return max([_fetch(name, item) for name, item in zip(options.names, requested, strict=True)])


def _parser() -> Parser:
    shared = Parser(add_help=False)
    shared.add_argument(
        "--data-dir",
        default=argparse.SUPPRESS,
        help="folder of data files; default: BNNBENCH_DATA, else the user's cache",
    )
    shared.add_argument(
        "--offline",
        action="store_true",
        default=argparse.SUPPRESS,
        help="download nothing",
    )
    parser = Parser("bnnbench data", description=__doc__, parents=[shared])
    parser.set_defaults(data_dir=None, offline=False)
    commands = parser.add_subparsers(dest="command")
    commands.add_parser("list", help="list all sources (default)", parents=[shared])
    fetch = commands.add_parser("fetch", help="download and verify data sets", parents=[shared])
    fetch.add_argument(
        "names", nargs="+", metavar="NAME", help="names listed by `bnnbench data list`"
    )
    facts = commands.add_parser(
        "facts",
        help="print duplicate rows, constant columns, transforms, checksums",
        parents=[shared],
    )
    facts.add_argument("name", metavar="NAME", help="a source listed by `bnnbench data list`")
    facts.add_argument("--fold", type=int, default=0, help="default: %(default)s")
    health = commands.add_parser(
        "health",
        help="check collected tables by their rows and by simple models, and say which count",
        parents=[shared],
    )
    health.add_argument("names", nargs="+", metavar="NAME", help="collected tables")
    export_rows = commands.add_parser(
        "export",
        help="write training and test rows for another program, without the test targets",
        parents=[shared],
    )
    export_rows.add_argument("name", metavar="NAME", help="a source listed by `bnnbench data`")
    export_rows.add_argument("--fold", type=int, default=0, help="default: %(default)s")
    export_rows.add_argument(
        "--out", type=Path, metavar="DIR", help="new folder for the files; default: NAME-foldN"
    )
    export_rows.add_argument(
        "--format", choices=("csv", "npz", "parquet"), help="default: npz for images, else csv"
    )
    export_rows.add_argument(
        "--with-test-targets", action="store_true", help="also write the test targets"
    )
    pack = commands.add_parser(
        "pack",
        help="pack the files of data sets into parts, for a machine without a network",
        parents=[shared],
    )
    pack.add_argument("names", nargs="+", metavar="NAME", help="names listed by `bnnbench data`")
    pack.add_argument("--out", type=Path, metavar="DIR", required=True, help="folder for the parts")
    pack.add_argument(
        "--parts-of",
        type=_bytes,
        default="60M",
        metavar="SIZE",
        help="maximum size of a part, such as 48M (default: %(default)s)",
    )
    unpack = commands.add_parser(
        "unpack", help="restore packed files into the data folder, byte for byte", parents=[shared]
    )
    unpack.add_argument(
        "parts",
        nargs="+",
        type=Path,
        metavar="PART",
        help="all parts, or folders that contain them",
    )
    return parser


def _bytes(text: str) -> int:
    match = re.fullmatch(r"(\d+)([KMG])", text)
    if not match:
        raise argparse.ArgumentTypeError(f"needs a size such as 500K or 60M; got {text!r}")
    return int(match[1]) * {"K": 2**10, "M": 2**20, "G": 2**30}[match[2]]


def _list() -> None:
    rows = [("name", "origin", "size", "present", "licence")]
    for name in (*SOURCES, *FILE_SETS):
        item = fetchable(name)
        rows.append((name, item.origin, _size(item), _presence(item), item.licence))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    print(f"data folder: {files.folder()}\n")
    for row in rows:
        print(
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        )


def _size(item: DataSource | FileSet) -> str:
    if item.origin == "generated":
        return "none"
    if not (count := item.bytes):
        return "in scikit-learn" if item.origin == "stand-in" else "unknown"
    return f"{count / 1e6:,.0f} MB" if count >= 1e7 else f"{count / 1e3:,.0f} kB"


def _presence(item: DataSource | FileSet) -> str:
    if not item.missing():
        return "yes"
    if isinstance(item, ImageSource) and not item.missing("test"):
        return "test part"
    return "no"


def _fetch(name: str, item: DataSource | FileSet) -> int:
    try:
        item.fetch()
    except (DataUnavailable, DataDamaged) as error:
        print(legible(error), file=sys.stderr)
        return 1
    print(f"{name}: in {files.folder()}")
    return 0


def _facts(data_source: DataSource, fold: int) -> int:
    """Print the facts of a fold, as computed by `bnnbench.datasets.facts`."""
    try:
        data = data_source.load(fold)
    except (DataUnavailable, DataDamaged) as error:
        print(legible(error), file=sys.stderr)
        return 1
    print(f"{data_source.name}, fold {fold} of {data_source.folds}: {data.origin}")
    for name, value in {**data.facts, **of_source(data_source)}.items():
        for k, line in enumerate(_lines(value)):
            print(f"  {'' if k else name:30} {line}")
    return 0


def _health(data_source: DataSource) -> int:
    """Print the health checks of a collected table, and whether it meets the rule."""
    from bnnbench.datasets.health.checks import health_of
    from bnnbench.datasets.health.rule import failures

    if not isinstance(data_source, CollectedTable):
        raise ValueError(f"{data_source.name} is no collected table: `facts` describes it")
    try:
        health = health_of(data_source)
    except (DataUnavailable, DataDamaged) as error:
        print(legible(error), file=sys.stderr)
        return 1
    reasons = failures(data_source.entry, health)
    print(f"{data_source.name}: {'does not count: ' + '; '.join(reasons) if reasons else 'counts'}")
    for name, value in asdict(health).items():
        shown = f"{value:.4g}" if isinstance(value, float) else value
        print(f"  {name:20} {' '.join(value) if isinstance(value, tuple) else shown}")
    return 0


def _export(data_source: DataSource, options: argparse.Namespace) -> int:
    """Write the rows of a fold, and print their folder and their digest."""
    folder = options.out or Path(f"{data_source.name}-fold{options.fold}")
    try:
        rows = export(data_source, options.fold, folder, options.format, options.with_test_targets)
    except (DataUnavailable, DataDamaged) as error:
        print(legible(error), file=sys.stderr)
        return 1
    except (OSError, ImportError) as error:
        raise ValueError(error) from error
    print(f"{folder}: {len(rows.train_inputs)} training and {len(rows.test_inputs)} test rows")
    print(f"digest of the rows: {rows.rows_sha256}")
    return 0


def _pack(names: Sequence[str], out: Path, largest: int) -> int:
    """Pack all files of these data sets on this machine, and print which are missing."""
    paths: dict[str, Path] = {}
    try:
        for name in names:
            item = fetchable(name)
            listed = item.files if isinstance(item, FileSet) else getattr(item, "data_files", ())
            here = {file.path: file for file in listed if file.place.is_file()}
            paths |= {path: files.verified(file) for path, file in here.items()}
            others = [
                path for path in getattr(item, "paths", ()) if (files.folder() / path).exists()
            ]
            paths |= {path: files.folder() / path for path in others}
            if not here and not others:
                raise DataUnavailable(f"{name}: none of its files is in {files.folder()}")
            for missing in item.missing():
                print(f"{name}: missing, left out: {missing}")
        parts = packed.write(paths, out, largest)
    except (DataUnavailable, DataDamaged) as error:
        print(legible(error), file=sys.stderr)
        return 1
    except OSError as error:
        raise ValueError(error) from error
    for part in parts:
        print(f"{part}: {part.stat().st_size / 2**20:.1f} MiB")
    print(f"on the other machine: bnnbench data unpack {out} --data-dir DIR")
    return 0


def _unpack(given: Sequence[Path]) -> int:
    listed = [sorted(p.glob(f"*{packed.ENDING}")) if p.is_dir() else [p] for p in given]
    try:
        paths = packed.read([part for parts in listed for part in parts], files.folder())
    except (DataUnavailable, DataDamaged) as error:
        print(legible(error), file=sys.stderr)
        return 1
    except OSError as error:
        raise ValueError(error) from error
    print(f"{len(paths)} files restored unchanged in {files.folder()}")
    return 0


def _lines(value: object) -> list[str]:
    if isinstance(value, Mapping):
        return [f"{key}  {item}" for key, item in value.items()]
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return value or ["none"]
    return [str(value)]


if __name__ == "__main__":
    sys.exit(main())
