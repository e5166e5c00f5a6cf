"""Data sources by name. Paths are resolved on use."""

if __name__ == "datasets":  # `bnnbench data`, in a checkout
    from bnnbench.checkout import run_as_bnnbench

    run_as_bnnbench(__name__)

import dataclasses
import difflib
import importlib
from typing import TYPE_CHECKING, Any, Literal

from bnnbench.datasets.official.collected.entries import ENTRIES

if TYPE_CHECKING:
    from bnnbench.datasets.base import DataSource
    from bnnbench.datasets.reading.files import FileSet

Policy = Literal["auto", "original", "stand-in"]
"""`auto`: the source, downloaded if need be, else its first usable fallback.
`original`: the source or an error. `stand-in`: data that need no files."""

SOURCES = {
    "cifar10": "bnnbench.datasets.official.cifar10:Cifar10",
    "cifar100": "bnnbench.datasets.official.cifar100:Cifar100",
    "svhn": "bnnbench.datasets.official.svhn:Svhn",
    "svhn_first1083": "bnnbench.datasets.official.svhn:SvhnFirst1083",
    "mnist": "bnnbench.datasets.official.mnist:Mnist",
    "fashion_mnist": "bnnbench.datasets.official.fashion_mnist:FashionMnist",
    "stl10": "bnnbench.datasets.official.stl10:Stl10",
    "boston": "bnnbench.datasets.official.uci:Uci",
    "concrete": "bnnbench.datasets.official.uci:Uci",
    "energy": "bnnbench.datasets.official.uci:Uci",
    "kin8nm": "bnnbench.datasets.official.uci:Uci",
    "naval": "bnnbench.datasets.official.uci:Uci",
    "power": "bnnbench.datasets.official.uci:Uci",
    "protein": "bnnbench.datasets.official.uci:Uci",
    "wine_red": "bnnbench.datasets.official.uci:Uci",
    "yacht": "bnnbench.datasets.official.uci:Uci",
    "year": "bnnbench.datasets.official.uci:Uci",
    "elevators": "bnnbench.datasets.official.uci_large:UciLarge",
    "keggdirected": "bnnbench.datasets.official.uci_large:UciLarge",
    "keggundirected": "bnnbench.datasets.official.uci_large:UciLarge",
    "pol": "bnnbench.datasets.official.uci_large:UciLarge",
    "protein_large": "bnnbench.datasets.official.uci_large:UciLarge",
    "skillcraft": "bnnbench.datasets.official.uci_large:UciLarge",
    "adult": "bnnbench.datasets.official.uci_classification:UciClassification",
    "banknote": "bnnbench.datasets.official.uci_classification:UciClassification",
    "breast_cancer": "bnnbench.datasets.official.uci_classification:UciClassification",
    "ecoli": "bnnbench.datasets.official.uci_classification:UciClassification",
    "german": "bnnbench.datasets.official.uci_classification:UciClassification",
    "glass": "bnnbench.datasets.official.uci_classification:UciClassification",
    "haberman": "bnnbench.datasets.official.uci_classification:UciClassification",
    "ionosphere": "bnnbench.datasets.official.uci_classification:UciClassification",
    "mammography": "bnnbench.datasets.official.uci_classification:UciClassification",
    "oil_spill": "bnnbench.datasets.official.uci_classification:UciClassification",
    "phoneme": "bnnbench.datasets.official.uci_classification:UciClassification",
    "sonar": "bnnbench.datasets.official.uci_classification:UciClassification",
    "thyroid": "bnnbench.datasets.official.uci_classification:UciClassification",
    "wheat_seeds": "bnnbench.datasets.official.uci_classification:UciClassification",
    **dict.fromkeys(ENTRIES, "bnnbench.datasets.official.collected.table:CollectedTable"),
    "digits_as_mnist": "bnnbench.datasets.stand_ins:DigitsAsMnist",
    "digits_as_cifar10": "bnnbench.datasets.stand_ins:DigitsAsCifar10",
    "photograph_crops": "bnnbench.datasets.stand_ins:PhotographCrops",
    "digits_as_table": "bnnbench.datasets.stand_ins:DigitsAsTable",
    "diabetes": "bnnbench.datasets.stand_ins:DiabetesAsUci",
    "cubic": "bnnbench.datasets.generated.curves:Cubic",
    "cubic_gap": "bnnbench.datasets.generated.curves:CubicGap",
    "sine": "bnnbench.datasets.generated.curves:Sine",
    "sine_far": "bnnbench.datasets.generated.curves:SineFar",
}
"""Name → class; a class that serves several data sets is constructed with the entry's name."""

FILE_SETS = {
    "cifar10_c": "bnnbench.datasets.corruptions.files.official:CIFAR10_C_FILES",
    "cifar100_c": "bnnbench.datasets.corruptions.files.official:CIFAR100_C_FILES",
    "frost": "bnnbench.datasets.corruptions.files.textures:FILE_SET",
    "results": "bnnbench.datasets.reading.finished_runs:RESULTS",
}
"""Files of test conditions, and the finished runs; fetched by name like a source."""


def source(name: str) -> "DataSource":
    """Return a source by its name in `SOURCES`; raises ValueError, suggesting the nearest name."""
    if name not in SOURCES:
        near = difflib.get_close_matches(name, (*SOURCES, *FILE_SETS), 1)
        hint = f"do you mean {near[0]}?" if near else "`bnnbench data` lists them all"
        raise ValueError(f"no data set {name!r}: {hint}")
    source_class = _imported(SOURCES[name])
    named = any(field.name == "name" for field in dataclasses.fields(source_class))
    return source_class(name.removesuffix("_large")) if named else source_class()


def fetchable(name: str) -> "DataSource | FileSet":
    """Return a source or file set by its name; raises ValueError, suggesting the nearest name."""
    return _imported(FILE_SETS[name]) if name in FILE_SETS else source(name)


def _imported(path: str) -> Any:
    module, _, attribute = path.partition(":")
    return getattr(importlib.import_module(module), attribute)
