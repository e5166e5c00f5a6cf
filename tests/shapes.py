"""Checks of types and shapes, at a third of what jaxtyping's own decorator costs.

That one binds arguments by `inspect` in every call, and checks each argument twice: before the
call, and again beside what the function returned. Here beartype wraps the function itself, within
the context that gives an axis of one name one length; a function whose annotations say nothing of
axes needs no context. In each test the first calls of a function are checked, and not the thousands
that follow in a loop: `begin` starts a test. A function within a function is made anew whenever
the outer one is called, and beartype takes a millisecond to wrap it: likewise the first ones of a
test are wrapped.
"""

import dataclasses
import functools
import inspect
import re
import typing
from collections import Counter
from collections.abc import Callable
from contextlib import nullcontext
from types import CodeType
from typing import Any

import jaxtyping
from beartype import BeartypeConf, beartype

CHECK = beartype(
    # An int is a float here, as it is to every type checker.
    conf=BeartypeConf(is_pep484_tower=True, violation_type=jaxtyping.TypeCheckError)
)
BY_JAXTYPING = jaxtyping.jaxtyped


CALLS = 3
"""The calls of a function that are checked in each test."""

MADE = 1
"""How many times an inner function is checked among those that each test makes anew."""

UNCHECKED = ("bnnbench.datasets.reading.shape",)
"""Modules whose functions are called for every value of every record: a wrapper, even of a call
that is not checked, costs as much as they do."""

_test = 0
_made: Counter[CodeType] = Counter()
_made_in = 0


def begin() -> None:
    """Check the first calls of every function anew."""
    global _test
    _test += 1


def install(package: str) -> None:
    """Check whatever is imported of a package from now on."""
    jaxtyping.jaxtyped = jaxtyped
    jaxtyping.install_import_hook([package], "tests.shapes.CHECK")


def jaxtyped(*target: Any, **options: Any) -> Any:
    """Return jaxtyping's decorator, or the one below for what the import hook decorates."""
    return checked if options and not target else BY_JAXTYPING(*target, **options)


def checked(target: Any) -> Any:
    """Return the function with checks, or the class, with checks of a dataclass's fields."""
    if target.__module__ in UNCHECKED:
        return target
    if not inspect.isclass(target):
        return _checked(target) if _is_due(target) else target
    made = target.__dict__.get("__init__")
    if dataclasses.is_dataclass(target) and made and not hasattr(made, "__wrapped__"):
        target.__init__ = _checked(made)
    return target


def _is_due(function: Callable[..., Any]) -> bool:
    """Return whether a function says what it takes, and, if it is an inner one, is a first one."""
    if not function.__annotations__:
        return False
    if "<locals>" not in function.__qualname__:
        return True
    global _made_in
    if _made_in != _test:
        _made_in = _test
        _made.clear()
    _made[function.__code__] += 1
    return _made[function.__code__] <= MADE


def _checked(function: Callable[..., Any]) -> Callable[..., Any]:
    try:
        hints = str(typing.get_type_hints(function, include_extras=True))
    except NameError:  # of a class that is not there yet, or for type checkers alone
        hints = None
    if hints is None or re.search(r"jaxtyping\.\w+\[[^]]*{", hints):  # as long as an argument says
        inner, context = BY_JAXTYPING(function, typechecker=CHECK), nullcontext()
    else:
        inner = CHECK(function)
        context = BY_JAXTYPING("context") if "jaxtyping" in hints else nullcontext()

    test, left = -1, 0

    @functools.wraps(function)
    def with_checks(*args: Any, **kwargs: Any) -> Any:
        nonlocal test, left
        __tracebackhide__ = True
        if test != _test:
            test, left = _test, CALLS
        left -= 1
        if left < 0 or jaxtyping.config.jaxtyping_disable:
            return function(*args, **kwargs)
        with context:
            return inner(*args, **kwargs)

    return with_checks
