"""Data sources by name. Paths are resolved on use."""

import dataclasses
import difflib
import importlib

from datasets.base import DataSource

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


def source(name: str) -> DataSource:
    """Return a source by its name in `SOURCES`; raises ValueError with the nearest name."""
    if name not in SOURCES:
        near = difflib.get_close_matches(name, SOURCES, 1)
        hint = f"do you mean {near[0]}?" if near else "`python -m datasets` lists them all"
        raise ValueError(f"no data set {name!r}: {hint}")
    module, _, attribute = SOURCES[name].partition(":")
    kind = getattr(importlib.import_module(module), attribute)
    named = any(field.name == "name" for field in dataclasses.fields(kind))
    return kind(name.removesuffix("_large")) if named else kind()
