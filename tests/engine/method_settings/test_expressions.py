"""Methods with settings as text, compared with Python's evaluation."""

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bnnbench.engine.method_settings.expressions import Misspelt, Spelled, parsed, parts
from bnnbench.engine.method_settings.labels import shown

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text("ab'\"\\ ;()"),
    lambda inner: st.lists(inner, max_size=3).map(tuple),
    max_leaves=6,
)


@given(st.lists(VALUES, max_size=4))
def test_literals_agree_with_python(values):
    settings = {f"setting_{n}": value for n, value in enumerate(values)}
    text = ", ".join(f"{name}={value!r}" for name, value in settings.items())
    assert parsed(f"method({text})") == Spelled("method", settings)


@given(VALUES.filter(lambda value: "," not in str(value).replace(", ", "").replace(",)", "")))
def test_what_a_label_shows_is_read_back(value):
    assert parsed(f"method(setting={shown(value)})").settings == {"setting": value}
    assert "," not in shown(value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a,b", ["a", "b"]),
        ("a(x=1, y=2), b", ["a(x=1, y=2)", "b"]),
        ("a(x=(1, 2), y='),('),b", ["a(x=(1, 2), y='),(')", "b"]),
        ("Graves' VI,Neal's(x='it,')", ["Graves' VI", "Neal's(x='it,')"]),
        (" , ", []),
    ],
)
def test_commas_in_brackets_and_quotes_separate_no_methods(text, expected):
    assert parts(text) == expected


def test_methods_stand_in_methods_in_tuples_and_behind_paths():
    text = "a.py:B(c=d(e=1), f=(g, h(i=[1, 2])), j.k=-3.5)"
    assert parsed(text) == Spelled(
        "a.py:B",
        {
            "c": Spelled("d", {"e": 1}),
            "f": (Spelled("g"), Spelled("h", {"i": (1, 2)})),
            "j.k": -3.5,
        },
    )


def test_a_label_with_brackets_may_be_a_name():
    assert parsed("AdamW (own noise)(epochs=3)") == Spelled("AdamW (own noise)", {"epochs": 3})


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("ivon(", r"\) is missing"),
        ("ivon)", "unmatched bracket"),
        ("ivon(a=(1]", "unmatched bracket"),
        ("ivon(a='x)", "' is missing"),
        ("ivon(3)", "settings such as epochs=200; got 3"),
        ("ivon(a=1, a=2)", "a is given twice"),
        ("ivon(a=)", "a has no value"),
        ("ivon(a b=1)", "settings such as"),
        ("ivon(a={1: 2)", "unmatched bracket"),
        ("ivon(a='b' 'c'[0])", "needed a Python literal"),
        ("ivon(a=__import__('os').system('true'))", "needed settings such as|Python literal"),
        ("(a=1)", "needed a name"),
    ],
)
def test_what_cannot_be_read_is_named_with_the_cure(text, reason):
    with pytest.raises(Misspelt, match=reason):
        parsed(text)


def test_nothing_is_evaluated(tmp_path):
    target = tmp_path / "file"
    text = f"ivon(a=open({str(target)!r}, 'w'))"
    with pytest.raises(Misspelt):
        parsed(text)
    assert ast.parse(text)  # Python itself would have opened it
    assert not target.exists()
