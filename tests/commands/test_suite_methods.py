"""The methods that a command runs."""

from dataclasses import dataclass, replace

import pytest

from bnnbench.commands.planning.selection import selected
from bnnbench.commands.running.arguments import parse
from bnnbench.engine.store.store import Store
from bnnbench.methods.adamw import AdamW
from bnnbench.methods.tuning.method import Tuned
from bnnbench.suites import Entry
from bnnbench.wording import UsageError
from tests.methods.tuning.fakes import Parabola
from tests.suites import fakes
from tests.suites.commands import FAST, call, rows
from tests.suites.fakes import Mean


@pytest.mark.parametrize(
    ("names", "labels"),
    [
        ("mean", {"Mean"}),
        ("TOGETHER,Mean", {"Together", "Mean"}),
        ("tests.suites.fakes:Slow", {"Slow"}),
    ],
)
def test_methods_are_chosen_by_label_or_class(tmp_path, names, labels):
    assert call(tmp_path, "--methods", names, "--folds", "1").code == 0
    assert {row["method"] for row in rows(tmp_path)} == labels


def test_a_registry_key_chooses_every_label_of_its_class(tmp_path, monkeypatch):
    from bnnbench.engine.method_settings import registry, requested

    table = {"mean_field": "tests.suites.fakes:Mean", "slow": "tests.suites.fakes:Slow"}
    monkeypatch.setattr(registry, "METHODS", table)
    names = {Mean: "mean_field", fakes.Slow: "slow"}
    monkeypatch.setattr(requested, "name_of", lambda kind: names.get(kind, ""))
    suite = replace(FAST, methods={"A": Mean(), "B": Mean(2.0), "C": fakes.Together()}, folds=1)
    call(tmp_path, "--methods", "Mean_Field", suite=suite)
    assert {row["method"] for row in rows(tmp_path)} == {"A", "B"}
    call(tmp_path, "--methods", "slow", suite=suite)
    assert {row["method"] for row in rows(tmp_path)} == {"A", "B", "slow"}


def test_what_joins_a_tuned_profile_is_tuned_by_its_budget():
    quick = Tuned(AdamW(), trials=2, blocks=1, lengths=(1, 2))
    suite = replace(FAST, methods={"AdamW": quick}, folds=1)

    def chosen(names: str):
        entry = Entry(suite.title, (suite.profile,), sampled=False)
        options = parse("fast", entry, ["--profile", suite.profile, "--methods", names])
        return selected(suite, options).methods

    assert chosen("tests.methods.tuning.fakes:Parabola,adamw") == {
        "Parabola": replace(quick, method=Parabola()),
        "AdamW": quick,
    }
    with pytest.raises(UsageError, match=r"Mean declares no search space(.|\n)*space: ClassVar"):
        chosen("tests.suites.fakes:Mean")


def test_a_method_whose_lengths_cannot_be_counted_is_told_both_cures(tmp_path, monkeypatch):
    """Rungs of epochs follow from updates, rows and the batch size."""
    (tmp_path / "epochs_alone.py").write_text(
        "from dataclasses import dataclass\nfrom typing import ClassVar\n\n"
        "from bnnbench.methods.tuning.space import Space\n"
        "from tests.suites.fakes import Mean\n\n\n"
        "@dataclass(frozen=True)\nclass Counted(Mean):\n"
        "    epochs: int = 5\n    space: ClassVar[Space] = Space({}, length='epochs')\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    for given, fails in (((), True), ((1, 2), False)):
        tuned = Tuned(AdamW(), trials=2, blocks=1, lengths=given)
        suite = replace(FAST, methods={"AdamW": tuned}, folds=1)
        entry = Entry(suite.title, (suite.profile,), sampled=False)
        options = parse(
            "fast", entry, ["--profile", suite.profile, "--methods", "epochs_alone:Counted"]
        )
        if fails:
            with pytest.raises(UsageError, match=r"Counted has no setting batch_size.*lengths=\("):
                selected(suite, options)
        else:
            assert list(selected(suite, options).methods) == ["Counted"]


def test_classes_of_one_name_both_take_part(tmp_path, monkeypatch):
    text = "from tests.suites.fakes import Mean\n\n\nclass Twin(Mean):\n    pass\n"
    for name in ("twin_one", "twin_two"):
        (tmp_path / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    call(tmp_path, "--methods", "twin_one:Twin,twin_two:Twin,twin_one:Twin")
    assert {row["method"] for row in rows(tmp_path)} == {"Twin", "twin_two:Twin"}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("def broken(", "SyntaxError"),
        ("raise RuntimeError('at import')", "RuntimeError: at import"),
    ],
)
def test_a_method_whose_module_is_broken_is_named(tmp_path, monkeypatch, text, reason):
    name = f"broken_{reason[:6].lower()}"
    (tmp_path / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    answer = call(tmp_path, "--methods", f"{name}:Method")
    assert answer.code == 2
    assert f"cannot construct {name}:Method: {reason}" in answer.errors


@dataclass(frozen=True)
class Packaged(Mean):
    """Needs a package that is not installed anywhere."""

    lacks = "needs a package: pip install package"


PACKAGED = replace(FAST, methods={"Mean": Mean(), "Packaged": Packaged()})


def test_an_optional_method_without_its_package_is_left_out_with_the_cure(tmp_path):
    suite = replace(PACKAGED, optional_methods=("Packaged",))
    answer = call(tmp_path, suite=suite)
    assert answer.code == 0
    assert "Packaged: left out, it needs a package: pip install package" in answer.output
    assert {row["method"] for row in rows(tmp_path)} == {"Mean"}


@pytest.mark.parametrize("arguments", [(), ("--methods", "Packaged")])
def test_another_method_takes_part_whatever_it_lacks(arguments, tmp_path):
    optional = ("Packaged",) if arguments else ()
    answer = call(tmp_path, *arguments, suite=replace(PACKAGED, optional_methods=optional))
    assert "left out" not in answer.output
    assert "Packaged" in {row["method"] for row in rows(tmp_path)}


def test_an_optional_method_is_one_of_the_suite():
    with pytest.raises(ValueError, match="no method has the label Packed"):
        replace(PACKAGED, optional_methods=("Packed",))


def test_settings_for_a_source_go_with_the_methods_that_were_chosen(tmp_path):
    settings = {"line": {"Mean": Mean(shake=0.5), "Together": fakes.Together()}}
    answer = call(tmp_path, "--methods", "Mean", suite=replace(FAST, own_settings=settings))
    assert answer.code == 0
    (kept,) = {str(r.run["method"]) for r in Store(tmp_path / "miniature").records()}
    assert "0.5" in kept
