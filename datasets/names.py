"""Registered names of data sources, of sources derived from them, and of test conditions.

Records identify a class by its name here. Moving a class changes its path but no run key.
"""

from collections.abc import Mapping
from typing import Any

KINDS: Mapping[str, str] = {
    "cifar10": "bnnbench.datasets.official.cifar10:Cifar10",
    "cifar100": "bnnbench.datasets.official.cifar100:Cifar100",
    "svhn": "bnnbench.datasets.official.svhn:Svhn",
    "svhn_first1083": "bnnbench.datasets.official.svhn:SvhnFirst1083",
    "mnist": "bnnbench.datasets.official.mnist:Mnist",
    "fashion_mnist": "bnnbench.datasets.official.fashion_mnist:FashionMnist",
    "stl10": "bnnbench.datasets.official.stl10:Stl10",
    "uci": "bnnbench.datasets.official.uci:Uci",
    "uci_large": "bnnbench.datasets.official.uci_large:UciLarge",
    "uci_classification": "bnnbench.datasets.official.uci_classification:UciClassification",
    "collected_table": "bnnbench.datasets.official.collected.table:CollectedTable",
    "digits_as_mnist": "bnnbench.datasets.stand_ins:DigitsAsMnist",
    "digits_as_cifar10": "bnnbench.datasets.stand_ins:DigitsAsCifar10",
    "photograph_crops": "bnnbench.datasets.stand_ins:PhotographCrops",
    "digits_as_table": "bnnbench.datasets.stand_ins:DigitsAsTable",
    "diabetes_as_uci": "bnnbench.datasets.stand_ins:DiabetesAsUci",
    "bend": "bnnbench.datasets.generated.bend:Bend",
    "cubic": "bnnbench.datasets.generated.curves:Cubic",
    "cubic_gap": "bnnbench.datasets.generated.curves:CubicGap",
    "linear_truth": "bnnbench.datasets.generated.linear:LinearTruth",
    "sine": "bnnbench.datasets.generated.curves:Sine",
    "sine_far": "bnnbench.datasets.generated.curves:SineFar",
    "two_moons": "bnnbench.datasets.generated.two_moons:TwoMoons",
    "augmented": "bnnbench.datasets.cuts.augmented:Augmented",
    "deduplicated": "bnnbench.datasets.cuts.folds:Deduplicated",
    "features": "bnnbench.datasets.cuts.features:Features",
    "gap": "bnnbench.datasets.cuts.folds:Gap",
    "disjoint": "bnnbench.datasets.cuts.disjoint:Disjoint",
    "own_images": "bnnbench.datasets.own.images:OwnImages",
    "own_table": "bnnbench.datasets.own.table:OwnTable",
    "trained_on": "bnnbench.datasets.own.trained:TrainedOn",
    "drawn": "bnnbench.datasets.oracles.drawn:Drawn",
    "intensities": "bnnbench.datasets.cuts.intensities:Intensities",
    "held_out": "bnnbench.datasets.cuts.held_out:HeldOut",
    "known_noise": "bnnbench.datasets.cuts.known_noise:KnownNoise",
    "limited": "bnnbench.datasets.cuts.limited:Limited",
    "active_pool": "bnnbench.datasets.cuts.pool:ActivePool",
    "shuffled_folds": "bnnbench.datasets.cuts.shuffled_folds:ShuffledFolds",
    "signed": "bnnbench.datasets.cuts.intensities:Signed",
    "stl10_shared": "bnnbench.datasets.cuts.stl10_shared:Stl10Shared",
    "clean": "bnnbench.datasets.conditions.clean:Clean",
    "first_rows": "bnnbench.datasets.conditions.parts:First",
    "inside": "bnnbench.datasets.conditions.parts:Inside",
    "out_of_distribution": "bnnbench.datasets.conditions.out_of_distribution:OutOfDistribution",
    "other_rows": "bnnbench.datasets.conditions.other_rows:OtherRows",
    "features_out_of_distribution": (
        "bnnbench.datasets.conditions.out_of_distribution:FeaturesOutOfDistribution"
    ),
    "rotated": "bnnbench.datasets.conditions.rotated:Rotated",
    "rotated_to_nearest": "bnnbench.datasets.conditions.rotated:RotatedToNearest",
    "acquired": "bnnbench.datasets.conditions.acquired:Acquired",
    "corrupted": "bnnbench.datasets.conditions.corrupted:Corrupted",
    "noisy": "bnnbench.datasets.conditions.perturbations:GaussianNoise",
    "sign_noise": "bnnbench.datasets.conditions.perturbations:SignNoise",
    "plane": "bnnbench.datasets.conditions.plane:Plane",
    "transfer": "bnnbench.datasets.conditions.transfer:Transfer",
}

TITLES: Mapping[str, str] = {
    "cifar10": "CIFAR-10",
    "cifar100": "CIFAR-100",
    "svhn": "SVHN",
    "svhn_first1083": "SVHN, first 1083",
    "mnist": "MNIST",
    "fashion_mnist": "Fashion-MNIST",
    "stl10": "STL-10",
    "stl10_with_monkeys": "STL-10 with its monkeys as frogs",
    "digits_as_cifar10": "digits as CIFAR-10",
    "cifar10_features": "features of CIFAR-10",
    "digits_as_cifar10_features": "features of digits as CIFAR-10",
    "cubic_gap": "cubic with a gap",
    **{f"linear_correlation_{c}": f"linear, correlation {c}" for c in ("0", "0.5", "0.9")},
    "sine_far": "sine, far outside",
}
"""Names of data in running text, if they differ from the registered names."""


def title_of(name: str) -> str:
    """Return the name of a data set in running text."""
    return TITLES.get(name, name.replace("_", " "))


def uncut_name(source: Any) -> str:
    """Return the name of the source from which a source is cut, or its own name."""
    if variant_of := getattr(source, "variant_of", ""):
        return variant_of
    return uncut_name(source.source) if hasattr(source, "source") else source.name
