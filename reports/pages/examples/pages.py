"""The pages of examples of a benchmark: one per condition, or several if they are large."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

import numpy as np

from bnnbench.engine.store.store import Store
from bnnbench.reports.pages.drilldown.run_pages import ORIGINS
from bnnbench.reports.pages.examples.book import Book, Place, books
from bnnbench.reports.pages.examples.choice import BINS
from bnnbench.reports.pages.examples.inputs import MOST_FEATURES, data_uri
from bnnbench.reports.pages.layout import LIMIT, embedded, page, slugs
from bnnbench.reports.read.benchmarks import Benchmark
from bnnbench.reports.style import labels
from bnnbench.reports.style.families import family_of
from bnnbench.reports.style.shapes import OUTLINES
from bnnbench.reports.style.words import joined

SLACK = 4_000
"""Bytes by which pages of one condition may differ apart from their pairs."""

Plain = dict[str, Any]
Common = Callable[[str], Plain]
"""A function from an address to the data common to all pages."""


@dataclass(frozen=True)
class Setting:
    """The benchmark of the pages, and the addresses of its other pages."""

    suite: str
    benchmark: Benchmark
    runs: str
    """The address of its page of runs."""
    common: Common


def example_pages(setting: Setting, store: Store) -> dict[str, str]:
    """Return address → page, the main condition first; empty without predictions."""
    all_books = books(setting.benchmark, store)
    stem = f"examples/{PurePosixPath(setting.runs).stem}"
    names = slugs([book.condition for book in all_books])
    addresses = [
        f"{stem}{f'-{names[book.condition]}' * (i > 0)}.html" for i, book in enumerate(all_books)
    ]
    titles = [setting.benchmark.condition(book.condition) for book in all_books]
    links = list(zip(titles, addresses, strict=True))
    pages: dict[str, str] = {}
    for book, address in zip(all_books, addresses, strict=True):
        pages |= _pages_of(Chapter(setting, book, address, links))
    return pages


@dataclass(frozen=True)
class Chapter:
    """One condition of a benchmark, with the addresses of all its conditions' pages."""

    setting: Setting
    book: Book
    address: str
    """The address of the first page of this condition."""
    links: Sequence[tuple[str, str]]
    """Title and address of each condition."""


@dataclass
class Portion:
    """The pairs of methods on one page, and the examples that they need."""

    pairs: dict[str, Plain] = field(default_factory=dict)
    examples: dict[str, Plain] = field(default_factory=dict)
    said: list[dict[str, list[object]]] = field(default_factory=list)
    size: int = 0

    def grown(self, other: "Portion") -> "Portion":
        """Return the portion merged with another."""
        said = [a | b for a, b in zip(self.said, other.said, strict=True)]
        new = Portion(self.pairs | other.pairs, self.examples | other.examples, said)
        new.size = self.size + other.size_beside(self)
        return new

    def size_beside(self, other: "Portion") -> int:
        """Return the number of bytes that this portion adds to another."""
        examples = {k: v for k, v in self.examples.items() if k not in other.examples}
        said = [{k: v for k, v in a.items() if k not in b}
                for a, b in zip(self.said, other.said, strict=True)]  # fmt: skip
        return _size([self.pairs, examples, said])

    @property
    def data(self) -> Plain:
        """The portion for the page's script."""
        return {"pairs": self.pairs, "examples": self.examples, "said": self.said}


def _pages_of(chapter: Chapter) -> dict[str, str]:
    """Return the pages of a condition, each with as many pairs as fit."""
    every = list(_pairs(chapter.book))
    head = _head(chapter.setting, chapter.book)
    empty = Portion(said=[{} for _ in chapter.book.methods])
    room = _room(chapter, head, empty, every)
    portions = [empty]
    for one in every:
        if portions[-1].pairs and portions[-1].size + one.size_beside(portions[-1]) > room:
            portions.append(empty)
        portions[-1] = portions[-1].grown(one)
    path = PurePosixPath(chapter.address)
    more = (str(path.with_suffix(f".{k}.html")) for k in range(2, len(portions) + 1))
    places = dict(zip((chapter.address, *more), portions, strict=True))
    return {
        address: _page(
            chapter,
            address,
            head
            | portion.data
            | {"neighbours": [_neighbour(a, p) for a, p in places.items() if a != address]},
        )
        for address, portion in places.items()
    }


def _room(chapter: Chapter, head: Plain, empty: Portion, every: Sequence[Portion]) -> int:
    """Return the bytes available for pairs on a page, besides one pair's text without a script."""
    whole = Portion({name: {} for one in every for name in one.pairs})
    neighbours = {"neighbours": [_neighbour(chapter.address, whole)]}
    page = _page(chapter, chapter.address, head | every[0].data | neighbours)
    return LIMIT - SLACK - len(page.encode()) + every[0].size_beside(empty)


def _neighbour(address: str, portion: Portion) -> Plain:
    return {"address": PurePosixPath(address).name, "pairs": list(portion.pairs)}


def _head(setting: Setting, book: Book) -> Plain:
    """Return the data common to all pages of a condition."""
    target = (
        next(
            (r.circumstances.target for r in setting.benchmark.records if r.circumstances.target),
            None,
        )
        or {}
    )
    inputs = [known for fold in book.runs if (known := book.inputs(fold))]
    count = next(iter(next(iter(book.methods.values())).values())).answers.shape[1]
    classes = list(inputs[0].classes) if inputs else [str(k) for k in range(count)]
    runs = setting.benchmark.runs
    return {
        "kind": book.kind,
        "target": [str(target.get("name", "target")), str(target.get("unit", ""))],
        "classes": classes if book.kind == "classes" else [],
        "methods": list(book.methods),
        "families": [family_of(runs[m][0].run.get("method")) for m in book.methods],
        "seeds": [_seeds(folds.values()) for folds in book.methods.values()],
        "features": list(inputs[0].features) if inputs else [],
        "ends": [_digits(end, 5) for end in book.ends],
        "bins": BINS,
        "outlines": OUTLINES,
    }


def _pairs(book: Book) -> Iterator[Portion]:
    """Yield each pair of methods with the data it needs, the best methods first."""
    names = list(book.methods)
    for j, second in enumerate(names):
        for i, first in enumerate(names[:j]):
            folds = book.common_folds(first, second)
            if not folds:
                continue
            pair, places, cells = book.pair(first, second)
            chosen = [places[k] for k in dict.fromkeys(
                [*pair.different, *pair.worst[0], *pair.worst[1]])]  # fmt: skip
            said: list[dict[str, list[object]]] = [{} for _ in names]
            for k, name in ((i, first), (j, second)):
                said[k] = {_id(place): _said(book, name, place) for place in chosen}
            data = {
                "methods": [i, j],
                "examples": len(places),
                "folds": spans(folds),
                "counts": list(pair.counts),
                "parted": pair.parted,
                "means": [_digits(mean, 5) for mean in pair.means],
                "different": [
                    [_id(places[k]), _digits(float(pair.distances[k]), 4)] for k in pair.different
                ],
                "worst": [[_id(places[k]) for k in worst] for worst in pair.worst],
                "cells": [number for cell in cells for number in cell],
            }
            examples = {_id(place): _example(book, place) for place in chosen}
            yield Portion({f"{i}-{j}": data}, examples, said)


def _example(book: Book, place: Place) -> Plain:
    """Return the place, the target and the input of an example."""
    fold, row = place
    target = book.target(place)
    data: Plain = {"at": [fold, row]}
    data["target"] = int(target) if book.kind == "classes" else _digits(target, 5)
    inputs = book.inputs(fold)
    if inputs is None:
        return data
    if inputs.are_images:
        image = inputs.image(row)
        return data | {"image": data_uri(image), "size": list(image.shape[1::-1])}
    numbers = {name: k for k, name in enumerate(inputs.features)}
    shown = inputs.features_of(row).values
    return data | {"features": [[numbers[name], value] for name, value in shown]}


def _said(book: Book, method: str, place: Place) -> list[object]:
    """Return a method's most probable class, its probability and the target's, or mean and
    deviation; then its log score."""
    one = book.said(method, place)
    (answer,), (score,), (target,) = one.answers, one.scores, one.targets
    if one.kind == "classes":
        top = int(answer.argmax())
        values = [top, _digits(float(answer[top]), 4), _digits(float(answer[int(target)]), 4)]
    else:
        values = [_digits(float(value), 5) for value in answer]
    return [*values, _digits(float(score), 5)]


def _id(place: Place) -> str:
    fold, row = place
    return f"{fold}.{row}"


def _digits(value: float, digits: int) -> float | None:
    """Return a number rounded to a few digits; None for an infinity."""
    return float(f"{value:.{digits}g}") if np.isfinite(value) else None


def spans(numbers: Sequence[int]) -> str:
    """Return ascending numbers as text: "0", "0 to 4", "0 to 2 and 5"."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return joined([f"{r[0]} to {r[-1]}" if len(r) > 1 else str(r[0]) for r in runs])


def _seeds(folds: Any) -> str:
    """Return text with the seeds behind a method's predictions."""
    each = {one.seeds for one in folds}
    every = sorted({seed for seeds in each for seed in seeds})
    noun = "seed" if len(every) == 1 else "seeds"
    return f"{noun} {spans(every)}" + (", not all in every fold" if len(each) > 1 else "")


def _size(data: object) -> int:
    return len(embedded(data).encode())


def _page(chapter: Chapter, address: str, data: Plain) -> str:
    setting, book = chapter.setting, chapter.book
    benchmark = setting.benchmark
    condition = benchmark.condition(book.condition)
    title = f"Examples of {benchmark.title}" + f", {condition}" * (len(chapter.links) > 1)
    licence = benchmark.records[0].circumstances.facts.get("licence")
    return page(
        *("examples.html", address, f"{title} · bnnbench", "Data sets"),
        data | setting.common(address),
        heading=benchmark.title,
        suite=setting.suite,
        suite_title=labels.suite(setting.suite),
        profile=labels.profile(benchmark.profile),
        origin=benchmark.origin,
        on_data=ORIGINS.get(benchmark.origin, f"{benchmark.origin} data"),
        condition=condition,
        links=chapter.links,
        first=chapter.address,
        runs=setting.runs,
        licence=licence if isinstance(licence, str) else "",
        not_shown=list(book.not_shown),
        rounded=book.rounded,
        left_out=joined(book.left_out),
        kind=book.kind,
        features=len(data["features"]),
        most_features=MOST_FEATURES,
        plain=_without_script(data),
    )


def _without_script(data: Plain) -> Plain:
    """Return the first pair of a page as a text table."""
    pair = next(iter(data["pairs"].values()))
    i, j = pair["methods"]
    named = data["classes"]

    def answer(k: int, example: str) -> str:
        values = data["said"][k][example]
        if data["kind"] == "reals":
            return f"{values[0]:g} ± {values[1]:g}"
        return f"{named[values[0]]} ({100 * values[1]:.1f} %)"

    def row(example: str) -> Sequence[str]:
        known = data["examples"][example]
        target = known["target"]
        fold, place = known["at"]
        shown = named[target] if data["kind"] == "classes" else f"{target:g}"
        return f"{place} of fold {fold}", shown, answer(i, example), answer(j, example)

    return {
        "methods": [data["methods"][k] for k in (i, j)],
        "examples": pair["examples"],
        "rows": [row(example) for example, _ in pair["different"]],
    }
