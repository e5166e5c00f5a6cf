"""Entries of a record's mappings that readers rely on, with their types."""

from collections.abc import Mapping, Sequence
from typing import NotRequired, TypedDict


class Settings(TypedDict, total=False):
    """The parts of a run's description that readers rely on."""

    suite: str
    profile: str
    source: Mapping[str, object]
    method: Mapping[str, object]
    acquisition: Mapping[str, object]
    fold: int
    seed: int


class Facts(TypedDict, total=False):
    """The facts of a data set (`bnnbench.datasets.facts`) that readers use."""

    train_rows: int
    test_rows: int
    features: int
    test_twins_in_train: float
    test_twins: int
    train_repeats: int
    transforms: Sequence[str]
    constant_columns: Sequence[int]
    largest_input_deviation_train: float
    largest_input_deviation_test: float
    classes: int
    class_counts_train: Sequence[int]
    class_counts_test: Sequence[int]
    target: str
    target_unit: str
    target_std: float
    sha256: str
    licence: str
    files: Mapping[str, str]
    download_bytes: int


class TargetTable(TypedDict):
    """The plain data of `bnnbench.engine.declare.grid.Reproduces`."""

    paper: str
    table: str
    departures: NotRequired[Sequence[str]]
    whole: NotRequired[bool]


class Scale(TypedDict):
    """The plain data of `datasets.base.Target`."""

    name: str
    unit: str
    mean: float
    std: float


class Provenance(TypedDict, total=False):
    """The entries of a provenance that readers rely on."""

    packages: Mapping[str, str]
    finished: str
    chosen: str
    in_process: bool
    sandbox: bool
    shortened: str


class External(TypedDict):
    """The submitter's statement on external predictions; "" for no answer."""

    by: str
    """The submitter."""
    code: str
    cost: str
    """The code and the cost of the method, as free text."""
    file: str
    file_sha256: str
