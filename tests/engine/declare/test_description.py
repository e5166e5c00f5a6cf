"""Runs as canonical JSON."""

import sys
from dataclasses import dataclass, field
from importlib.machinery import ModuleSpec

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bnnbench.engine.declare.description import canonical_json, describe, digest
from bnnbench.engine.declare.names import type_path
from bnnbench.engine.store.rebuilding import rebuilt
from bnnbench.methods.fitting.settings import LATER
from bnnbench.methods.mc_dropout import McDropout
from bnnbench.methods.tuning.space import Integers
from tests.suites.fakes import Line, Mean

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.floats(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@given(PLAIN)
def test_a_description_describes_itself(value):
    described = describe(value)
    assert canonical_json(describe(described)) == canonical_json(described)


@given(st.dictionaries(st.text(), st.integers(), min_size=2))
def test_the_order_of_a_mapping_does_not_matter(mapping):
    backwards = dict(reversed(mapping.items()))
    assert digest(describe(mapping)) == digest(describe(backwards))


def test_a_dataclass_is_its_type_and_its_fields():
    assert describe(Mean(shake=0.5)) == {"type": "tests.suites.fakes:Mean", "shake": 0.5}


def test_two_types_with_equal_fields_differ():
    @dataclass(frozen=True)
    class Other:
        shake: float = 1.0

    assert digest(describe(Other())) != digest(describe(Mean()))


def test_the_default_of_a_setting_that_came_later_leaves_a_run_its_name():
    @dataclass(frozen=True)
    class Before:
        rate: float = 0.5

    @dataclass(frozen=True)
    class After:
        rate: float = 0.5
        rule: str = field(default="old", metadata=LATER)

    Before.__qualname__ = After.__qualname__
    assert describe(After()) == describe(Before())
    assert describe(After(rule="new")) == {**describe(Before()), "rule": "new"}


def test_every_field_counts():
    assert digest(describe(Line(rows=24))) != digest(describe(Line(rows=25)))


@pytest.mark.parametrize(
    "value", [len, object(), {1, 2}, Line], ids=["function", "object", "set", "type"]
)
def test_what_has_no_canonical_form_is_refused(value):
    with pytest.raises(TypeError, match="no canonical description"):
        describe({"setting": value})


def test_a_space_that_is_a_setting_is_told_how_to_be_none():
    with pytest.raises(TypeError, match=r"write space: ClassVar\[Space\]"):
        describe(Integers(2, 50))


@pytest.mark.parametrize("name", ["__main__", "__mp_main__"])
def test_a_class_of_the_main_module_has_one_name_in_every_process(monkeypatch, name):
    kind = type("Toy", (), {"__module__": name})
    main = type(sys)("__main__")
    main.__spec__ = ModuleSpec("my.suite", None)
    monkeypatch.setitem(sys.modules, "__main__", main)
    assert type_path(kind) == "my.suite:Toy"


def test_a_setting_that_came_later_leaves_earlier_descriptions_and_their_meaning_as_they_were():
    before = describe(McDropout(where="every"))
    assert "where" not in before
    assert rebuilt(before) == McDropout(where="every")
    now = describe(McDropout())
    assert now["where"] == "hidden"
    assert rebuilt(now) == McDropout()
    assert {name: value for name, value in now.items() if name != "where"} == before
