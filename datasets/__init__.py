"""Data sources by name. Paths are resolved on use."""

import dataclasses
import difflib
import importlib
from typing import Any

from datasets.base import DataSource
from datasets.files import FileSet

SOURCES = {
    "cifar10": "datasets.cifar10:Cifar10",
    "cifar100": "datasets.cifar100:Cifar100",
    "svhn": "datasets.svhn:Svhn",
    "svhn_first1083": "datasets.svhn_first1083:SvhnFirst1083",
    "mnist": "datasets.mnist:Mnist",
    "fashion_mnist": "datasets.fashion_mnist:FashionMnist",
    "stl10": "datasets.stl10:Stl10",
    "boston": "datasets.uci:Uci",
    "concrete": "datasets.uci:Uci",
    "energy": "datasets.uci:Uci",
    "kin8nm": "datasets.uci:Uci",
    "naval": "datasets.uci:Uci",
    "power": "datasets.uci:Uci",
    "protein": "datasets.uci:Uci",
    "wine_red": "datasets.uci:Uci",
    "yacht": "datasets.uci:Uci",
    "year": "datasets.uci:Uci",
    "elevators": "datasets.uci_large:UciLarge",
    "keggdirected": "datasets.uci_large:UciLarge",
    "keggundirected": "datasets.uci_large:UciLarge",
    "pol": "datasets.uci_large:UciLarge",
    "protein_large": "datasets.uci_large:UciLarge",
    "skillcraft": "datasets.uci_large:UciLarge",
    "digits_as_mnist": "datasets.stand_ins:DigitsAsMnist",
    "digits_as_cifar10": "datasets.stand_ins:DigitsAsCifar10",
    "photograph_crops": "datasets.stand_ins:PhotographCrops",
    "diabetes": "datasets.stand_ins:DiabetesAsUci",
    "cubic": "datasets.toys:Cubic",
    "cubic_gap": "datasets.toys:CubicGap",
    "sine": "datasets.sine:Sine",
    "sine_far": "datasets.sine:SineFar",
}
"""A class that stands for several sets is given the entry's name."""

FILE_SETS = {
    "cifar10_c": "datasets.corruptions.official:CIFAR10_C_FILES",
    "cifar100_c": "datasets.corruptions.official:CIFAR100_C_FILES",
    "frost": "datasets.corruptions.textures:FILE_SET",
}
"""What test conditions use and no method learns; fetched by name like a source."""


def source(name: str) -> DataSource:
    """Return a source by its name in `SOURCES`; raises ValueError with the nearest name."""
    if name not in SOURCES:
        near = difflib.get_close_matches(name, (*SOURCES, *FILE_SETS), 1)
        hint = f"do you mean {near[0]}?" if near else "`python -m datasets` lists them all"
        raise ValueError(f"no data set {name!r}: {hint}")
    kind = _imported(SOURCES[name])
    named = any(field.name == "name" for field in dataclasses.fields(kind))
    return kind(name.removesuffix("_large")) if named else kind()


def fetchable(name: str) -> DataSource | FileSet:
    """Return a source or a set of files by its name; raises ValueError with the nearest name."""
    return _imported(FILE_SETS[name]) if name in FILE_SETS else source(name)


def _imported(path: str) -> Any:
    module, _, attribute = path.partition(":")
    return getattr(importlib.import_module(module), attribute)
