"""The code on the pages of methods is Python that fits the method that was run."""

import ast
from contextlib import suppress

import pytest
import torch

from bnnbench.engine.declare.description import canonical_json, describe
from bnnbench.engine.method_settings.search_spaces import searched
from bnnbench.methods import METHODS, method_type
from bnnbench.methods.base import PackageMissing, Unsupported
from bnnbench.methods.card import card_of
from bnnbench.reports.pages.methods.about import about
from bnnbench.reports.pages.methods.snippets import snippet
from bnnbench.suites.check.problems import problems_of
from bnnbench.suites.check.small import small
from docs.generate import finished_runs


def descriptions():
    """Return the different settings of methods in docs/bundle, by their canonical text."""
    found = [
        runs[0].run["method"]
        for benchmarks in finished_runs.suites().values()
        for benchmark in benchmarks
        for runs in benchmark.runs.values()
    ]
    return {canonical_json(description): description for description in found}


def executed(code, names):
    """Execute lines of code one by one, with small settings after the method is constructed."""
    for statement in ast.parse(code).body:
        exec(compile(ast.Module([statement], []), "page", "exec"), names)
        if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == "method":
            names["method"] = small(names["method"])
    return names


@pytest.mark.long
def test_every_snippet_makes_the_method_that_was_run():
    made = 0
    for description in descriptions().values():
        code = snippet(description)
        names = {}
        exec(code.partition("\nposterior")[0], names)
        if len(description) > 1:  # the bundle's folder of settings
            assert describe(names["method"]) == description
            made += 1
        assert all(len(line) <= 100 for line in code.splitlines())
    assert made > 100


def test_many_numbers_fill_their_lines():
    code = snippet({"type": "message_passing", "iterations": [*range(1, 61)]})
    lines = code.splitlines()
    assert 0 < sum(line.strip()[:1].isdigit() for line in lines) < 5
    names = {}
    exec(code.partition("\nposterior")[0], names)
    assert names["method"].iterations == (*range(1, 61),)


def predicted(code, name):
    """Return the prediction for the first kind of problem that the lines' settings allow."""
    problems = problems_of(method_type(METHODS[name])())
    for kind in card_of(name).problems:
        problem, rng = problems[kind](), torch.Generator().manual_seed(0)
        given = {"problem": problem, "rng": rng, "inputs": problem.train.inputs[:3]}
        with suppress(Unsupported):  # a search needs a density, which trees may lack
            return executed(code, given)["prediction"]
    return None


@pytest.mark.long
@pytest.mark.parametrize("name", METHODS)
def test_the_lines_fit_and_predict(name):
    found = [d for d in descriptions().values() if about(d).name == name and len(d) > 1]
    shortest = min(found, key=lambda d: len(canonical_json(d)), default={"type": name})
    try:
        prediction = predicted(snippet(shortest), name)
    except PackageMissing as missing:
        pytest.skip(str(missing))  # a library that is an optional extra of this project
    except ModuleNotFoundError as missing:
        if (missing.name or "bnnbench").startswith("bnnbench"):
            raise
        pytest.skip(str(missing))
    assert prediction is not None


def test_what_is_not_here_has_no_snippet():
    assert snippet({"type": "nowhere.at_all:Method"}) == ""
    assert snippet(None) == ""


def test_numbers_without_an_end_are_written_as_python_has_them():
    code = snippet({"type": "adamw", "learning_rate": "inf"})
    assert 'AdamW(learning_rate=float("inf"))' in code


def test_the_search_space_is_what_the_class_declares():
    from bnnbench.methods.mc_dropout import McDropout

    space = McDropout().space
    assert [path for path, _ in searched("mc_dropout")] == [*space.fields, space.length]
    assert searched("marginal") == []
