"""Stores of the runs in docs/bundle: `python -m tests.reports.bundle FOLDER`."""

import sys
from pathlib import Path

from bnnbench.reports.read.bundles import read_bundle
from tests.reports.synthetic import keep

BUNDLE = Path(__file__).parents[2] / "docs" / "bundle"


def main() -> None:
    """Keep a store of every suite of the bundle in the folder."""
    folder = Path(sys.argv[1])
    for suite, results in read_bundle(BUNDLE).items():
        keep(folder / suite, results.records)
        print(folder / suite)


if __name__ == "__main__":
    main()
