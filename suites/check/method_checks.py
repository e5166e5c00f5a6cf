"""Checks without a single fit: settings are plain data; `fit_many` must equal single fits."""

import dataclasses
import json
import pickle
from typing import Any

import torch

from bnnbench.datasets.base import Split
from bnnbench.engine.declare import names
from bnnbench.engine.declare.description import canonical_json, describe, implied_by
from bnnbench.methods.base import InferenceDiverged
from bnnbench.methods.tuning.space import Space, configured, setting
from bnnbench.suites.check.fits import Broken, Fits, require, require_identical, said
from bnnbench.suites.check.problems import stream, streams

PLAIN = {spelled: kind for kind in (int, float, bool, str) for spelled in (kind, kind.__name__)}
"""Annotation of a setting, as a type or as its name → the type."""


def has_plain_settings(method: Any) -> None:
    """The method's settings are plain data that describe it completely."""
    require(
        dataclasses.is_dataclass(method),
        "it is not a dataclass: write @dataclass(frozen=True) above the class",
    )
    frozen = type(method).__dataclass_params__.frozen
    require(frozen, "it is mutable: write @dataclass(frozen=True) above the class")
    try:
        description = describe(method)
    except TypeError as error:
        raise Broken(str(error)) from error
    require(json.loads(canonical_json(description)) == description, "settings do not survive JSON")
    require(
        rebuilt(description) == method,
        "a method rebuilt from its recorded settings is not equal to it: use only numbers, "
        "strings, tuples and frozen dataclasses as settings; derive everything else in methods",
    )


def has_settings_of_their_types(method: Any) -> None:
    """The method's settings, and its search space, have values of the declared types."""
    if not dataclasses.is_dataclass(method):
        return
    for field in dataclasses.fields(method):
        kind, value = PLAIN.get(field.type), getattr(method, field.name)
        if kind is not None:
            allowed = (int, float) if kind is float else kind
            fits = isinstance(value, allowed) and (kind is bool or not isinstance(value, bool))
            declared = f"the setting {field.name} is declared as {kind.__name__}"
            require(fits, f"{declared}, and is {value!r}")
    space = getattr(method, "space", None)
    if not isinstance(space, Space):
        return
    for path, law in space.fields.items():
        for value in (law.at(0.0), law.at(0.5)):
            try:
                configured(method, {path: value})
                whole = isinstance(setting(method, path), int)
            except (Exception, SystemExit) as error:
                raise Broken(f"its space has {path} = {value!r}, which fails: {error}") from error
            cure = f"its space has {path} = {value!r}, not an integer: use Integers or Choice"
            require(not (whole and isinstance(value, float)), cure)


def travels(method: Any) -> None:
    """The method compares, hashes, prints and can be sent to other processes."""
    twin = pickle.loads(pickle.dumps(method))
    require(twin == method, "its pickled copy is not equal to it")
    require(hash(twin) == hash(method), "its pickled copy has another hash")
    kinds = {type(one).__name__: type(one) for one in nested(method)}
    constants = {"inf": float("inf"), "nan": float("nan")}
    require(eval(repr(method), kinds | constants) == method, f"it differs from its repr: {method}")


def rebuilt(description: Any) -> Any:
    """Return the value described by a description."""
    if isinstance(description, list):
        return tuple(map(rebuilt, description))
    if not isinstance(description, dict):
        return description
    fields = {name: rebuilt(value) for name, value in description.items() if name != "type"}
    kind = names.kind_of(description["type"])
    return kind(**implied_by(kind) | fields)


def nested(method: Any) -> list[Any]:
    """Return a dataclass instance and all dataclass instances that it contains."""
    fields = [getattr(method, field.name) for field in dataclasses.fields(method)]
    values = [v for value in fields for v in (value if isinstance(value, tuple) else (value,))]
    inner = (v for value in values if dataclasses.is_dataclass(value) for v in nested(value))
    return [method, *inner]


ALONE = "a problem fitted together with others must equal a single fit, to the last bit"


def equals_fits_alone(fits: Fits) -> None:
    """Fitting together equals fitting separately, bit for bit."""
    for number, posterior in enumerate(fits.together):
        inputs = fits.make(number).train.inputs
        require_identical(posterior, fits.alone(number), inputs, ALONE)


def equals_fits_alone_in_float64(fits: Fits) -> None:
    """Fitting together equals fitting separately in float64, too."""
    problems = [fits.make(seed, dtype=torch.float64) for seed in range(2)]
    together = fits.method.fit_many(problems, streams(10, 11))
    for number, (problem, posterior) in enumerate(zip(problems, together, strict=True)):
        single = fits.method.fit(problem, stream(10 + number))
        require_identical(posterior, single, problem.train.inputs, ALONE)


def is_not_coupled_by_the_last_batch(fits: Fits) -> None:
    """The size of the last batch does not couple problems."""
    for rows in (16, 17, 31):
        problems = [fits.make(seed, rows) for seed in range(2)]
        together = fits.method.fit_many(problems, streams(10, 11))
        single = fits.method.fit(problems[1], stream(11))
        message = f"{ALONE}; with {rows} rows it does not"
        require_identical(together[1], single, problems[1].train.inputs, message)


def does_not_depend_on_company(fits: Fits) -> None:
    """A problem's fit does not depend on the other problems or on their order."""
    a, c = fits.make(0), fits.make(2)
    together = fits.method.fit_many([c, a], streams(12, 10))
    require_identical(together[0], fits.alone(2), c.train.inputs, ALONE)
    require_identical(together[1], fits.alone(0), a.train.inputs, ALONE)


def shares_data_between_seeds(fits: Fits) -> None:
    """Seeds of one fold may share its data."""
    shared = fits.make(0)
    together = fits.method.fit_many([shared, shared], streams(9, 10))
    require_identical(together[1], fits.alone(0), shared.train.inputs, ALONE)


def fails_alone(fits: Fits) -> None:
    """A failing problem does not affect the others."""
    problems = [fits.make(seed) for seed in range(3)]
    sick = problems[1].train
    infinite = Split(sick.inputs.clone().fill_(torch.inf), sick.targets)
    problems[1] = dataclasses.replace(problems[1], train=infinite)
    together = fits.method.fit_many(problems, streams(10, 11, 12))
    if not isinstance(together[1], InferenceDiverged):
        tensors, _ = said(together[1], problems[0].train.inputs)
        finite = all(tensor.isfinite().all() for tensor in tensors)
        require(finite, "a fit to infinite inputs must return InferenceDiverged in its place")
    for number in (0, 2):
        message = f"{ALONE}, even if another problem's inference fails"
        inputs = problems[number].train.inputs
        require_identical(together[number], fits.alone(number), inputs, message)
