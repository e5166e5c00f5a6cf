"""The protocols of the source papers and of our runs."""

import functools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from bnnbench.engine.declare.description import canonical_json, describe
from bnnbench.engine.records.record import Record
from bnnbench.methods.networks.architectures import Architecture, NormalCdf, Tanh
from bnnbench.methods.networks.catalogue import (
    LEAKY,
    cnn_000,
    lecun_mlp_003,
    mlp,
    mlp_003,
    preresnet164,
    resnet18,
    vgg16,
    wideresnet28_10,
)
from bnnbench.reports.papers.published import Published
from bnnbench.reports.style.descriptions import class_name


@dataclass(frozen=True)
class Protocol:
    """The circumstances of a printed number as text; "" if the paper does not state them."""

    split: str
    units: str
    training: str
    network: str
    augmentation: str
    spread: str
    """The meaning of ±, and the number of repeats."""

    @property
    def entries(self) -> Mapping[str, str]:
        """Name → text; "not stated" if the paper does not state it."""
        return {name: text or "not stated" for name, text in vars(self).items()}


@dataclass(frozen=True)
class Declared:
    """A paper's protocol as text, and the parts of it that can be checked against runs."""

    protocol: Protocol
    epochs: Mapping[str, int]
    """method in lower case → epochs of training; "" for all others"""
    train_rows: int | None = None
    test_share: float | None = None
    """The share of test rows among all rows, if rows are split at random."""
    augmented: bool | None = None

    def differences(self, printed: Published, runs: Sequence[Record]) -> Iterator[str]:
        """Yield the deviations of our runs of a method from the paper's protocol."""
        epochs = self.epochs.get(printed.method, self.epochs.get(""))
        trained = {count for run in runs if (count := epochs_of(run)) is not None}
        if epochs and trained - {epochs}:
            yield f"{', '.join(map(str, sorted(trained)))} epochs, not {epochs}"
        rows = {run.circumstances.facts.get("train_rows") for run in runs} - {None}
        if self.train_rows and rows - {self.train_rows}:
            yield f"{', '.join(map(str, rows))} training rows, not {self.train_rows}"
        shares = [share for run in runs if (share := _test_share(run)) is not None]
        if self.test_share and any(abs(share - self.test_share) > 0.01 for share in shares):
            tested, required = (f"{100 * share:.0f} %" for share in (shares[0], self.test_share))
            yield f"{tested} of the rows for testing, not {required}"
        if self.augmented is not None and any(_augmented(r) != self.augmented for r in runs):
            yield "images are not augmented" if self.augmented else "images are augmented"
        if any(has_network(run, printed.model) is False for run in runs):
            yield f"a network other than the paper's ({printed.model.replace('_', ' ')})"


def declared(printed: Published) -> Declared | None:
    """Return the protocol of a printed number's table; None if unknown."""
    return DECLARED.get((printed.paper, printed.table.lower()))


def ours(runs: Sequence[Record]) -> Protocol:
    """Return the protocol of the runs of one method on one data set, from their records."""
    rows = [
        (r.circumstances.facts.get("train_rows"), r.circumstances.facts.get("test_rows"))
        for r in runs
    ]
    rows = [pair for pair in rows if None not in pair]
    folds, seeds = len({r.fold for r in runs}), len({r.seed for r in runs})
    size = f"{rows[0][0]} + {rows[0][1]} rows" if rows else ""
    split = (
        f"{folds} folds of {size}" if folds > 1 and size else f"one split of {size}" if size else ""
    )
    epochs = sorted({count for r in runs if (count := epochs_of(r)) is not None})
    layers = runs[0].run.get("architecture")
    described = layers if isinstance(layers, Sequence) and not isinstance(layers, str) else ()
    kinds = [_layer(layer) for layer in described]
    spread = (
        f"standard error over {folds} folds" if folds > 1 else f"standard error over {seeds} seeds"
    )
    return Protocol(
        split=split,
        units="the paper's",
        training=f"{', '.join(map(str, epochs))} epochs" if epochs else "no epochs",
        network=", ".join(kind for kind in kinds if kind),
        augmentation="crops and mirrors" if any(map(_augmented, runs)) else "none",
        spread=spread if folds * seeds > 1 else "one run",
    )


def epochs_of(run: Record) -> int | None:
    """Return the number of epochs in the settings of a method; None if not set."""
    return max(_all_epochs(run.run.get("method")), default=None)


def _all_epochs(described: object) -> Iterator[int]:
    """Yield every setting named "epochs", of inner methods too, and the count of `iterations`.

    Iterations are the rounds of message passing, epoch by epoch.
    """
    if isinstance(described, Mapping):
        for name, value in described.items():
            if name == "epochs" and isinstance(value, int):
                yield value
            if name == "iterations" and isinstance(value, (list, tuple)):
                yield len(value)
            yield from _all_epochs(value)
    elif isinstance(described, (list, tuple)):
        for item in described:
            yield from _all_epochs(item)


def _test_share(run: Record) -> float | None:
    train, test = (
        run.circumstances.facts.get("train_rows"),
        run.circumstances.facts.get("test_rows"),
    )
    if not isinstance(train, int) or not isinstance(test, int) or train + test == 0:
        return None
    return test / (train + test)


def _augmented(run: Record) -> bool:
    source = run.run.get("source")
    while isinstance(source, Mapping):
        if class_name(source) == "Augmented":
            return True
        source = source.get("source")
    return False


def _layer(layer: object) -> str:
    """Return a short text for a layer: its kind, and its width if it has one."""
    if not isinstance(layer, Mapping):
        return ""
    width = layer.get("outputs", layer.get("channels"))
    return class_name(layer) + (f" {width}" if width is not None else "")


def has_network(run: Record, model: str) -> bool | None:
    """Return whether a run has a paper's network; None for a network that is not listed here."""
    known = _networks().get(model)
    return None if known is None else run.outcome.own_network is None and _network(run) in known


def _network(run: Record) -> str:
    """Return a run's layers without dropout, which some methods add."""
    return _as_compared(canonical_json(run.run.get("architecture")))


@functools.cache
def _as_compared(layers: str) -> str:
    """Return canonical JSON of layers without dropout; thousands of runs share a network."""
    return canonical_json(_without_dropout(json.loads(layers)))


def _without_dropout(part: object) -> object:
    if isinstance(part, Mapping):
        return {name: _without_dropout(item) for name, item in part.items()}
    if isinstance(part, (list, tuple)):
        return [_without_dropout(item) for item in part if class_name(item) != "Dropout"]
    return part


@functools.cache
def _networks() -> Mapping[str, frozenset[str]]:
    """Return a paper's network → its descriptions; unlisted networks are not checked."""
    by_name: dict[str, Sequence[Architecture]] = {
        "cnn_6layer_890k": (cnn_000(),),
        "mlp_1x50_relu": (mlp([50], 1),),
        "mlp_1x100_relu": (mlp([100], 1),),
        "mlp_1x10_relu": (mlp([10], 1),),
        "mlp_1x10_tanh": (mlp([10], 1, Tanh()),),
        "mlp_1x10_probit": (mlp([10], 1, NormalCdf()),),
        "mlp_3layer_width32_lrelu0.1": (mlp([32, 32], 1, LEAKY),),
        "mlp_2x50_relu": (mlp_003(), lecun_mlp_003()),
        "resnet18_cifar": (resnet18(10), resnet18(100)),
        "vgg16": (vgg16(10), vgg16(100)),
        "preresnet164": (preresnet164(10), preresnet164(100)),
        "wideresnet": (wideresnet28_10(10), wideresnet28_10(100)),
        "mlp_1000_1000_500_50_2_relu_heteroscedastic": (mlp([1000, 1000, 500, 50, 2], 1),),
        "mlp_1000_500_50_2_relu_heteroscedastic": (mlp([1000, 500, 50, 2], 1),),
    }
    return {
        name: frozenset(canonical_json(_without_dropout(describe(of))) for of in networks)
        for name, networks in by_name.items()
    }


OFFICIAL = "the official training and test images"
SHIFT = Declared(
    Protocol(
        OFFICIAL + ", 50,000 + 10,000",
        "percent, nats and fractions",
        "SGD with momentum, 200 epochs, 250 for Rank1, batch 128",
        "ResNet-18 for CIFAR",
        "random crops after padding by 4, mirrored in half of the cases",
        "standard error over 10 seeds",
    ),
    {"": 200, "rank1": 250, "rank1 fvi": 250},
    train_rows=50_000,
    augmented=True,
)
ROTATED = Declared(
    Protocol(
        OFFICIAL + ", 60,000 + 10,000, rotated by a fixed angle",
        "percent, nats and fractions",
        "30 epochs, learning rate 0.001, batch 256",
        "two hidden layers of 50 units, ReLU",
        "none",
        "standard error over 10 seeds",
    ),
    {"": 30},
    train_rows=60_000,
    augmented=False,
)


def _trajectory(units: str, network: str, trials: int) -> Declared:
    split = f"{trials} trials, set up as in earlier work"
    spread = f"over {trials} trials; the kind of ± is not stated"
    return Declared(Protocol(split, units, "", network, "none", spread), {})


def _images(split: str, units: str) -> Declared:
    networks = "VGG-16, PreResNet-164 or WideResNet"
    spread = "neither the kind of ± nor the number of runs is stated"
    return Declared(Protocol(split, units, "SGD, 300 epochs", networks, "", spread), {"": 300})


def _moments(network: str) -> Declared:
    units = "errors in mean standard deviations of the samples, KL"
    training = "Adam, batch 128, the number of epochs is not stated"
    split = "official images, 10 % of the training images held out"
    spread = "none printed; one network, as a fixed seed is used for all experiments"
    return Declared(Protocol(split, units, training, network, "", spread), {})


FAR = Declared(
    Protocol(
        "one data set of 200 rows, inputs in (−0.5, 0.5); tested from −20 to 20",
        "shares of 100 networks; correlations",
        "500 rounds over one batch",
        "three layers of width 32, leaky ReLU",
        "none",
        "none printed; one data set",
    ),
    {},
    train_rows=200,
)
FIVE_LAYERS = "hidden layers of 1000, 1000, 500, 50 and 2 units, ReLU"
DECLARED: Mapping[tuple[str, str], Declared] = {
    ("000", "1"): Declared(
        Protocol(
            OFFICIAL + ", 50,000 + 10,000",
            "fractions and nats; Brier score as a sum over classes",
            "25 epochs, batch 128, cosine annealing",
            "six layers, about 890,000 parameters",
            "",
            "none printed; the number of runs is not stated",
        ),
        {"": 25},
        train_rows=50_000,
    ),
    ("000", "sec 5.1"): FAR,
    ("000", "app c"): FAR,
    ("001", "2"): _moments("LeNet of convolutions, MNIST"),
    ("001", "3"): _moments("All-conv, CIFAR-10"),
    ("001", "4"): _moments("LeNet of convolutions, before training"),
    ("002", "1"): _trajectory("nats, targets in their units", "one hidden layer of 50 units", 20),
    ("002", "5"): _trajectory("RMSE in target units", "one hidden layer of 50 units", 20),
    ("002", "2"): _trajectory("nats, standardised targets", FIVE_LAYERS, 10),
    ("002", "6"): _trajectory(
        "RMSE; its scale is not stated, and is that of the prepared targets by its size",
        FIVE_LAYERS,
        10,
    ),
    ("002", "3"): _images(OFFICIAL, "nats"),
    ("002", "7"): _images(OFFICIAL, "nats"),
    ("002", "8"): _images(OFFICIAL, "percent"),
    ("002", "9"): _images(OFFICIAL, "fractions"),
    ("002", "4"): _images("trained on CIFAR-10, tested on STL-10", "nats and percent"),
    ("002", "10"): _images("trained on CIFAR-10, tested on STL-10", "nats and percent"),
    **{("003", str(number)): ROTATED for number in range(2, 11)},
    ("003", "app f"): ROTATED,
    **{("003", str(number)): SHIFT for number in range(11, 23)},
    ("004", "1"): Declared(
        Protocol(
            "20 random splits of 90 and 10 %, 5 of protein, 1 of year",
            "RMSE in target units; nats, targets in their units",
            "40 passes, updated after every row",
            "one hidden layer of 50 units, 100 for protein and year, ReLU",
            "none",
            "standard error over the splits",
        ),
        {"": 40},
        test_share=0.1,
        augmented=False,
    ),
    ("004", "2"): Declared(
        Protocol(
            "40 random partitions: 20 rows to begin with, 100 to test, the rest a pool",
            "RMSE in target units, after the ninth acquisition",
            "",
            "one hidden layer of 10 units",
            "none",
            "standard error over 40 partitions",
        ),
        {},
        augmented=False,
    ),
}
"""paper, table → its protocol"""
