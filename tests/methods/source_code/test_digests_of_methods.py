"""Digests of meaning of this project's methods, and of third-party packages."""

import ast
import random
import sys

import pytest

from bnnbench.methods import METHODS
from bnnbench.methods.adamw import AdamW
from bnnbench.methods.ensemble import Ensemble
from bnnbench.methods.laplace.method import Laplace
from bnnbench.methods.sgd import Sgd
from bnnbench.methods.source_code import (
    Class,
    Sources,
    classes_of,
    digest_in,
    digest_of,
    is_other_code,
    method_digest,
)
from bnnbench.methods.source_code.definitions import EFFECTS, KERNELS, WHOLE, Form
from bnnbench.methods.source_code.files import file_of, is_ours
from bnnbench.methods.tuning.method import Tuned
from tests.methods.source_code.fresh import forget


def ours(name):
    return file_of(name) if is_ours(name) else None


def test_methods_have_different_digests_and_equal_ones_at_every_call():
    digests = {}
    for name, path in METHODS.items():
        digests[name] = digest_of(Class.at(path))
    assert len(set(digests.values())) == len(digests)
    assert all(digest.startswith("m1:") and len(digest) == 67 for digest in digests.values())


def test_the_classes_of_a_method_are_its_own_and_those_in_its_settings():
    method = Tuned(Ensemble(2, Laplace(Sgd())), trials=2)
    assert [each.name for each in classes_of(method)][:4] == ["Tuned", "Ensemble", "Laplace", "Sgd"]
    assert classes_of(AdamW()) == (Class("bnnbench.methods.adamw", "AdamW"),)
    digests = {method_digest(m) for m in (method, method.method, Laplace(Sgd()), Sgd())}
    assert len(digests) == 4
    assert method_digest(AdamW(epochs=1)) == method_digest(AdamW(epochs=2))


def test_digests_of_an_earlier_scheme_tell_nothing():
    assert is_other_code("m1:ab", "m1:cd")
    assert not any(is_other_code(value, "m1:cd") for value in ("m1:cd", "ab", None))


@pytest.mark.long
def test_every_name_that_the_project_imports_from_itself_is_found(project):
    """Otherwise a digest would ignore it."""
    sources = Sources(ours)
    unresolved = []
    for room in ("methods", "datasets", "metrics"):
        for file in sorted((project / room).rglob("*.py")):
            parts = file.relative_to(project).with_suffix("").parts
            name = ".".join(["bnnbench", *parts]).removesuffix(".__init__")
            source = sources.source(name)
            assert source, name
            unresolved += [
                f"{name}: {bound}"
                for bound in source.bound.values()
                if not isinstance(bound, list) and sources.followed(bound) is None
            ]
    assert not unresolved


def test_no_module_of_the_project_is_named_by_a_formatted_string(project):
    """Digests would miss an import whose name is composed at run time."""
    for room in ("methods", "datasets"):
        for file in (project / room).rglob("*.py"):
            for node in ast.walk(ast.parse(file.read_bytes())):
                if isinstance(node, ast.JoinedStr) and isinstance(node.values[0], ast.Constant):
                    text = str(node.values[0].value)
                    assert not text.startswith("bnnbench.") or file.name == "names.py", file


MUTATED = ["pbp.method:Pbp", "adamw:AdamW"]


@pytest.mark.long
@pytest.mark.parametrize("path", MUTATED)
def test_random_mutations_of_the_code_that_a_method_reaches_are_noticed(path):
    """Change a constant, operator or comparison in a definition that the method reaches."""
    root = Class.at(f"bnnbench.methods.{path}")
    sources = Sources(ours)
    before = digest_in(sources, [root])
    rng = random.Random(0)
    places = sorted(d for d, _ in sources.forms if d.name not in (WHOLE, EFFECTS, KERNELS))
    noticed = tried = 0
    while tried < 5:
        definition = rng.choice(places)
        source = sources.source(definition.module)
        statements = source.bound[definition.name]
        nodes = [node for statement in statements for node in _mutable(statement)]
        if sources.forms.get((definition, False)) == Form(("registry",), False) or not nodes:
            continue
        undo = _mutate(rng.choice(nodes))
        sources.forms.clear()
        noticed += digest_in(sources, [root]) != before
        undo()
        tried += 1
    sources.forms.clear()
    assert digest_in(sources, [root]) == before
    assert noticed == tried


def _mutable(node):
    """Yield the nodes below one that may be changed, except in messages and annotations."""
    if isinstance(node, ast.Raise | ast.JoinedStr):
        return
    if isinstance(node, ast.BinOp | ast.Compare) or (
        isinstance(node, ast.Constant) and type(node.value) in (int, float)
    ):
        yield node
    for name, value in ast.iter_fields(node):
        if name not in ("annotation", "returns"):
            for inner in value if isinstance(value, list) else [value]:
                if isinstance(inner, ast.AST):
                    yield from _mutable(inner)


def _mutate(node):
    """Change a node and return a function that restores it."""
    name = {ast.Constant: "value", ast.BinOp: "op", ast.Compare: "ops"}[type(node)]
    before = getattr(node, name)
    if isinstance(node, ast.Constant):
        after = before + 1
    elif isinstance(node, ast.BinOp):
        after = ast.Sub() if isinstance(before, ast.Add) else ast.Add()
    else:
        after = [ast.Gt() if isinstance(before[0], ast.Lt) else ast.Lt(), *before[1:]]
    setattr(node, name, after)
    return lambda: setattr(node, name, before)


@pytest.fixture
def third_party(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    forget()
    yield tmp_path
    for name in [n for n in sys.modules if n.partition(".")[0] in ("theirs", "theirs_beside")]:
        del sys.modules[name]
    forget()


@pytest.mark.parametrize("changed", ["theirs/__init__.py", "theirs/settings.py", "theirs/part.py"])
def test_what_a_third_party_package_sets_on_import_counts(third_party, changed):
    (third_party / "theirs").mkdir()
    (third_party / "theirs" / "__init__.py").write_text("import os\n")
    (third_party / "theirs" / "settings.py").write_text("import torch\n")
    (third_party / "theirs" / "part.py").write_text("VALUE = 1\n")
    (third_party / "theirs" / "method.py").write_text(
        "from theirs import settings\nfrom .part import VALUE\n\n\nclass M:\n    value = VALUE\n"
    )
    before = digest_of(Class("theirs.method", "M"))
    file = third_party / changed
    file.write_text(
        "VALUE = 2\n" if "part" in changed else "torch.set_default_dtype(torch.float64)\n"
    )
    forget()
    assert digest_of(Class("theirs.method", "M")) != before


def test_a_file_beside_a_third_party_method_counts(third_party):
    (third_party / "theirs_beside.py").write_text("SHIFT = 1\n")
    (third_party / "theirs.py").write_text(
        "from theirs_beside import SHIFT\n\n\nclass M:\n    x = SHIFT\n"
    )
    before = digest_of(Class("theirs", "M"))
    (third_party / "theirs_beside.py").write_text("SHIFT = 2\n")
    forget()
    assert digest_of(Class("theirs", "M")) != before


def test_classes_without_a_source_have_a_digest_too():
    assert digest_of(Class("builtins", "int")).startswith("m1:")
    assert digest_of(Class("nowhere", "Nothing")) == digest_of(Class("builtins", "int"))
