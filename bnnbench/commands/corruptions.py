"""`bnnbench corruptions`: write corrupted test sets as files, or preview one image."""

import argparse
import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path

import numpy as np

from bnnbench.commands.terminal.parser import Parser
from bnnbench.datasets import source
from bnnbench.datasets.base import ImageSource
from bnnbench.datasets.corruptions import CORRUPTIONS, check
from bnnbench.datasets.corruptions.contact_sheet import contact_sheet
from bnnbench.datasets.corruptions.files import official
from bnnbench.datasets.corruptions.files.generation import WrittenFile, make_cifar_c
from bnnbench.datasets.corruptions.files.textures import textures
from bnnbench.datasets.errors import DataDamaged, DataUnavailable
from bnnbench.datasets.reading import files
from bnnbench.engine.workers.pool import Pool

SOURCES = ("cifar10", "cifar100", "digits_as_cifar10")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line, and return its exit code: 0, 1 for errors, 130 if interrupted."""
    options = _options(arguments)
    if options.data_dir:
        os.environ["BNNBENCH_DATA"] = str(options.data_dir)
    if options.offline:
        os.environ["BNNBENCH_OFFLINE"] = "1"
    try:
        image_source = source(options.source)
        assert isinstance(image_source, ImageSource)
        if image_source.missing("test"):
            image_source.fetch("test")
        if "frost" in options.only or options.contact_sheet:
            textures()  # checked before anything is computed
        images, labels = image_source.images("test")
        if options.contact_sheet:
            options.contact_sheet.parent.mkdir(parents=True, exist_ok=True)
            contact_sheet(images[options.image], options.seed).save(options.contact_sheet)
            print(options.contact_sheet)
        if options.out:
            _make(np.ascontiguousarray(images), labels, options)
    except (DataUnavailable, DataDamaged, ValueError, IndexError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\ninterrupted; repeat the command to continue", file=sys.stderr)
        return 130
    return 0


def _make(images: np.ndarray, labels: np.ndarray, options: argparse.Namespace) -> None:
    reserved = [files.folder() / Path(o.files.files[0].path).parent for o in official.OFFICIAL]
    if options.out.absolute() in [path.absolute() for path in reserved]:
        raise ValueError(
            f"{options.out} is reserved for the official files, which `bnnbench data fetch` puts "
            "there; choose another folder with --out"
        )
    with Pool(options.workers) if options.workers > 1 else nullcontext() as pool:
        written = make_cifar_c(images, labels, options.out, options.only, options.seed, pool)
        _print_each(written, total=1 + len(options.only))


def _print_each(written_files: Iterator[tuple[str, WrittenFile]], total: int) -> None:
    start = time.perf_counter()
    for count, (name, written) in enumerate(written_files, 1):
        seconds = time.perf_counter() - start
        progress = f"[{count:2}/{total}] {name:18} {written.origin:9} {written.md5}"
        print(f"{progress} {seconds:6.0f} s", flush=True)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = Parser("bnnbench corruptions", description=__doc__)
    add = parser.add_argument
    add(
        "--out",
        type=Path,
        metavar="DIR",
        help="write NAME.npy and labels.npy to this folder: 2.9 GB",
    )
    add(
        "--contact-sheet",
        type=Path,
        metavar="FILE",
        help="write a preview of one image to this PNG",
    )
    add("--image", type=int, default=0, metavar="N", help="test image shown in the preview")
    add("--source", choices=SOURCES, default="cifar10", help="data set of the test images")
    add("--only", type=_names, default=tuple(CORRUPTIONS), metavar="A,B", help="corruptions")
    add("--seed", type=int, default=0, help="seed of the random corruptions")
    add(
        "--workers",
        type=int,
        default=_cores(),
        metavar="N",
        help="worker processes; default: one per core",
    )
    add("--data-dir", type=Path, help="data folder; default: BNNBENCH_DATA, else the user's cache")
    add("--offline", action="store_true", help="never touch the network")
    options = parser.parse_args(arguments)
    if not (options.out or options.contact_sheet):
        parser.error("needs --out DIR or --contact-sheet FILE")
    if options.workers < 1:
        parser.error(f"--workers must be at least 1; got {options.workers}")
    return options


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _names(text: str) -> tuple[str, ...]:
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    try:
        for name in names:
            check(name, 1)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    return names


if __name__ == "__main__":
    sys.exit(main())
