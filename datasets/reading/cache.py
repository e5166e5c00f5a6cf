"""Caches of loaded data shared by many runs."""

import functools
import weakref
from collections.abc import Callable

from bnnbench.datasets.reading import files, withheld

_forget: list[Callable[[], None]] = []
"""Functions that empty a cache."""


def cached(size: int) -> Callable:
    """Cache the last `size` results of a source's method, separately for each data folder.

    Callers share the result and must not change it.
    """

    def decorate(method: Callable) -> Callable:
        @functools.lru_cache(maxsize=size)
        def cached_call(folder: object, source: object, *arguments: object) -> object:
            return method(source, *arguments)

        _forget.append(cached_call.cache_clear)

        @functools.wraps(method)
        def recall(source: object, *arguments: object) -> object:
            withheld.refuse()
            return cached_call(files.folder(), source, *arguments)

        return recall

    return decorate


def forget() -> None:
    """Empty all caches defined here."""
    for empty in _forget:
        empty()


def cached_per_dataset(select: Callable) -> Callable:
    """Cache each condition's split of the latest data set, as long as that data set is alive."""
    splits: dict[object, tuple[weakref.ref, object]] = {}
    _forget.append(splits.clear)

    @functools.wraps(select)
    def recall(condition: object, dataset: object) -> object:
        if condition in splits and splits[condition][0]() is dataset:
            return splits[condition][1]
        split = select(condition, dataset)
        splits[condition] = (weakref.ref(dataset, lambda _: splits.pop(condition, None)), split)
        return split

    return recall
