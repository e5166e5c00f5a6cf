"""What was loaded or computed lately, so that many runs share it."""

import functools
import weakref
from collections.abc import Callable

from bnnbench.datasets.reading import files

_caches: list[functools._lru_cache_wrapper] = []


def cached(size: int) -> Callable:
    """Keep the last `size` results of a source's method, apart for each data folder.

    Callers share the result and must not change it.
    """

    def decorate(method: Callable) -> Callable:
        @functools.lru_cache(maxsize=size)
        def kept(folder: object, source: object, *arguments: object) -> object:
            return method(source, *arguments)

        _caches.append(kept)

        @functools.wraps(method)
        def recall(source: object, *arguments: object) -> object:
            return kept(files.folder(), source, *arguments)

        return recall

    return decorate


def forget() -> None:
    """Drop all results that `cached` keeps."""
    for kept in _caches:
        kept.cache_clear()


def cached_per_dataset(select: Callable) -> Callable:
    """Keep each condition's split of the data set it saw last, as long as that lives."""
    kept: dict[object, tuple[weakref.ref, object]] = {}

    @functools.wraps(select)
    def recall(condition: object, dataset: object) -> object:
        if condition in kept and kept[condition][0]() is dataset:
            return kept[condition][1]
        split = select(condition, dataset)
        kept[condition] = (weakref.ref(dataset, lambda _: kept.pop(condition, None)), split)
        return split

    return recall
