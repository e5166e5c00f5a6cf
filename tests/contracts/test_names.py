"""Names in records survive a move of files: keys and random streams depend on nothing else."""

import dataclasses
import importlib
import pickle

import pytest
import torch

from bnnbench import suites
from bnnbench.engine.declare import names
from bnnbench.engine.declare.description import describe
from bnnbench.engine.declare.streams import stream
from bnnbench.methods import METHODS

PATHS = {name: path for table in names.TABLES for name, path in table.items()}
SUITES = {
    f"{module}:{profile}": (module, profile)
    for module, entry in suites.SUITES.items()
    for profile in entry.profiles
}


def declared(module: str, profile: str):
    return importlib.import_module(f"bnnbench.suites.{module}").SUITES[profile]


def test_no_name_stands_for_two_classes_and_no_class_has_two_names():
    assert len(PATHS) == sum(map(len, names.TABLES))
    assert len(set(PATHS.values())) == len(PATHS)


@pytest.mark.parametrize("name", PATHS)
def test_every_name_leads_to_a_frozen_dataclass_and_back(name):
    kind = names.kind_of(name)
    assert dataclasses.is_dataclass(kind)
    assert kind.__dataclass_params__.frozen
    assert names.name_of(kind) == name
    assert names.class_name(name) == kind.__name__


@pytest.mark.parametrize("suite", SUITES)
def test_everything_that_a_suite_says_has_a_registered_name(suite):
    runs = {(run.case.name, run.label): run for run in declared(*SUITES[suite]).runs()}
    described = describe([run.description for run in runs.values()])
    described = [described, describe(list(declared(*SUITES[suite]).evaluations))]
    assert set(types_in(described)) <= PATHS.keys()


def types_in(described: object):
    if isinstance(described, dict):
        yield from [described["type"]] if "type" in described else []
        for value in described.values():
            yield from types_in(value)
    elif isinstance(described, list):
        for item in described:
            yield from types_in(item)


@pytest.fixture
def rehomed(monkeypatch):
    """Move every registered class into another module."""

    def move() -> None:
        moved = {name: f"elsewhere.of_{name}:{names.class_name(name)}" for name in PATHS}
        kinds = {name: names.kind_of(name) for name in PATHS}
        for name, kind in kinds.items():
            monkeypatch.setattr(kind, "__module__", f"elsewhere.of_{name}")
        monkeypatch.setattr(names, "TABLES", (moved,))
        names._paths.cache_clear()
        names._names.cache_clear()

    yield move
    monkeypatch.undo()
    names._paths.cache_clear()
    names._names.cache_clear()


def test_moving_every_class_changes_no_key_and_no_stream(rehomed):
    made = [names.kind_of(METHODS[name])() for name in ("adamw", "ivon", "pbp", "ciber", "laplace")]
    runs = [next(declared(*place).runs()) for place in SUITES.values()]
    conditions = [e.condition for place in SUITES.values() for e in declared(*place).evaluations]

    def identities():
        fresh = [dataclasses.replace(run) for run in runs]
        keys = [run.key for run in fresh]
        streams = [torch.rand(2, generator=stream("fit", r.source, r.fold, r.seed)) for r in fresh]
        return keys, torch.stack(streams), describe([*made, *conditions])

    before = identities()
    rehomed()
    after = identities()
    assert after[0] == before[0]
    assert torch.equal(after[1], before[1])
    assert after[2] == before[2]


def test_a_class_of_this_project_without_a_name_is_refused():
    from bnnbench.engine.run.task import Task

    with pytest.raises(TypeError, match="no registered name: add a line"):
        names.name_of(Task)


def test_a_third_party_class_goes_by_its_path():
    from tests.suites.fakes import Mean

    assert names.name_of(Mean) == "tests.suites.fakes:Mean"
    assert names.kind_of("tests.suites.fakes:Mean") is Mean
    assert pickle.loads(pickle.dumps(Mean())) == Mean()


@pytest.mark.parametrize("module", suites.SUITES)
def test_the_list_of_suites_says_what_they_declare(module):
    profiles = importlib.import_module(f"bnnbench.suites.{module}").SUITES
    first = profiles.get("quick", next(iter(profiles.values())))
    entry = suites.SUITES[module]
    assert entry.profiles == tuple(profiles)
    assert entry.title == first.title
    assert all(suite.profile == name for name, suite in profiles.items())
