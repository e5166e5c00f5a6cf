"""The rows that `--methods` and `--settings` request."""

from dataclasses import dataclass, replace

import pytest

from bnnbench.engine.method_settings.files import read
from bnnbench.engine.method_settings.requested import with_methods
from bnnbench.engine.store.store import Store
from bnnbench.methods.adamw import AdamW
from bnnbench.methods.ensemble import Ensemble
from bnnbench.methods.networks.architectures import Linear
from bnnbench.methods.tuning.method import Tuned
from bnnbench.wording import UsageError
from tests.suites.commands import FAST, call, rows
from tests.suites.fakes import Mean

SUITE = replace(
    FAST,
    methods={
        "AdamW": AdamW(epochs=40),
        "AdamW (slow)": AdamW(learning_rate=1e-5),
        "Ensemble": Ensemble(5, AdamW(epochs=40)),
        "Mean": Mean(),
    },
)


def chosen(*requests: str, suite=SUITE):
    return with_methods(suite, requests)["methods"]


def test_a_label_begins_from_the_settings_of_the_suite():
    assert chosen("AdamW(weight_decay=1)") == {
        "AdamW (weight_decay=1.0)": AdamW(epochs=40, weight_decay=1.0)
    }
    assert chosen("Ensemble(member.batch_size=8)") == {
        "Ensemble (member.batch_size=8)": Ensemble(5, AdamW(epochs=40, batch_size=8))
    }


def test_a_method_inside_begins_from_its_defaults():
    assert chosen("ensemble(member=adamw(epochs=40, batch_size=8))") == {
        "Ensemble (member.batch_size=8)": Ensemble(5, AdamW(epochs=40, batch_size=8))
    }


def test_a_label_that_looks_like_settings_is_a_label():
    assert chosen("AdamW (slow)") == {"AdamW (slow)": AdamW(learning_rate=1e-5)}
    assert chosen("AdamW (slow)(epochs=3)") == {
        "AdamW (slow) (epochs=3)": AdamW(learning_rate=1e-5, epochs=3)
    }


def test_rows_of_one_method_have_labels_of_their_own():
    names = ["adamw", "adamw(epochs=80)", "adamw(epochs=80, schedule='constant')"]
    assert list(chosen(*names)) == [
        "AdamW",
        "AdamW (epochs=80)",
        "AdamW (epochs=80; schedule='constant')",
    ]


@dataclass(frozen=True)
class Labelled(Mean):
    label: int = 3


def test_a_setting_named_label_is_no_label_of_a_row():
    request = f"{Labelled.__module__}:Labelled"
    assert [name for name in chosen(request) if "Labelled" in name] == ["Labelled"]
    assert "scikit-learn: random forest" in chosen("sklearn_forest")


def test_a_label_can_be_given_back():
    (label,) = first = chosen("Ensemble(size=2, member.schedule='constant')")
    assert chosen(label) == first


def test_settings_that_change_nothing_make_no_other_row():
    assert chosen("AdamW", "AdamW(epochs=40)") == {"AdamW": AdamW(epochs=40)}


def test_a_registered_name_changes_every_label_of_its_class():
    suite = replace(SUITE, methods={"A": Ensemble(2), "B": Ensemble(3)})
    assert chosen("ensemble(member.epochs=9)", suite=suite) == {
        "A (member.epochs=9)": Ensemble(2, AdamW(epochs=9)),
        "B (member.epochs=9)": Ensemble(3, AdamW(epochs=9)),
    }
    assert chosen("ensemble(size=4)", suite=suite) == {"A (size=4)": Ensemble(4)}


def test_settings_for_a_source_and_networks_go_with_the_new_label():
    own = {"line": {"AdamW": AdamW(epochs=7)}}
    networks = {"AdamW": (Linear(1),)}
    suite = replace(SUITE, own_settings=own, own_architectures=networks)
    made = replace(suite, **with_methods(suite, ["AdamW(batch_size=4)", "AdamW"]))
    label = "AdamW (batch_size=4)"
    assert made.own_settings == {"line": {label: AdamW(epochs=7, batch_size=4)} | own["line"]}
    assert made.own_architectures == {label: (Linear(1),)} | networks
    assert made.methods[label] == AdamW(epochs=40, batch_size=4)


TUNED = Tuned(AdamW(batch_size=16), trials=2)


def test_a_tuned_method_takes_settings_of_the_search_and_of_what_it_tunes():
    suite = replace(FAST, methods={"AdamW": TUNED})
    assert chosen("adamw(trials=4, batch_size=8)", suite=suite) == {
        "AdamW (method.batch_size=8; trials=4)": Tuned(AdamW(batch_size=8), trials=4)
    }
    assert chosen("ivon(draws=3, trials=4)", suite=suite) == {
        "ivon (draws=3; trials=4)": replace(
            TUNED, method=replace(chosen("ivon")["ivon"], draws=3), trials=4
        )
    }


@pytest.mark.parametrize("name", ["adamw(learning_rate=1)", "adamw(epochs=3)", "ivon(epochs=3)"])
def test_a_searched_setting_cannot_be_given(name):
    suite = replace(FAST, methods={"AdamW": TUNED})
    with pytest.raises(UsageError, match="has no effect: this profile searches for it"):
        chosen(name, suite=suite)


@dataclass
class Loose:
    """Lacks frozen=True."""

    shake: float = 1.0
    fit = Mean.fit


def test_a_class_that_cannot_be_hashed_is_named_with_the_cure():
    with pytest.raises(UsageError, match=r"unhashable type: 'Loose': write @dataclass\(frozen"):
        chosen(f"{__name__}:Loose")


FILE = """
["AdamW (slow)"]

[[AdamW]]
epochs = 80

[[AdamW]]
learning_rate = 1

[ensemble]
size = 3
member = "adamw(epochs=5)"

["tests.suites.fakes:Mean"]
shake = 0.5
"""


def test_a_file_means_what_the_command_line_means(tmp_path):
    file = tmp_path / "settings.toml"
    file.write_text(FILE)
    names = ["AdamW (slow)", "AdamW(epochs=80)", "AdamW(learning_rate=1)"]
    names += ["ensemble(size=3, member=adamw(epochs=5))", "tests.suites.fakes:Mean(shake=0.5)"]
    assert with_methods(SUITE, read(file)) == with_methods(SUITE, names)
    assert list(chosen(*names))[-1] == "tests.suites.fakes:Mean (shake=0.5)"
    file.write_text("[Ensemble.member]\nepochs = 3\n")
    assert with_methods(SUITE, read(file)) == with_methods(SUITE, ["Ensemble(member.epochs=3)"])


def test_runs_have_the_keys_and_records_of_a_suite_that_says_so_itself(tmp_path):
    settings = tmp_path / "settings.toml"
    settings.write_text("[Mean]\nshake = 0.25\n")
    flags = ("--folds", "1", "--methods", "mean,mean(shake=2)", "--settings", str(settings))
    answer = call(tmp_path / "out", *flags)
    assert answer.code == 0, answer.errors
    labels = {"Mean": Mean(), "Mean (shake=2.0)": Mean(2.0), "Mean (shake=0.25)": Mean(0.25)}
    assert {row["method"] for row in rows(tmp_path / "out")} == labels.keys()
    declared = replace(FAST, methods=labels, folds=1)
    keys = {run.key: run.label for run in declared.runs()}
    records = Store(tmp_path / "out" / "miniature").records()
    assert {record.key: record.method for record in records} == keys


@pytest.mark.parametrize(
    ("flags", "reason"),
    [
        (["--methods", "mean(shak=1)"], "has no setting 'shak', did you mean 'shake'?"),
        (["--methods", "mean(shake='a')"], "shake: needed a number; got 'a'"),
        (["--methods", "mean(shake=1"], ") is missing at the end"),
        (["--methods", "mean(1)"], "needed settings such as"),
        (["--settings", "absent.toml"], "--settings: [Errno 2]"),
        (["--method", "mean"], "--method mean; did you mean --methods?"),
        (["--seed=3"], "did you mean --seeds?"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_usage_errors_exit_with_2_and_the_reason(tmp_path, flags, reason):
    answer = call(tmp_path, *flags)
    assert answer.code == 2
    assert reason in answer.errors
    assert not (tmp_path / "miniature").exists()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[Mean\n", "is not TOML"),
        ("", "names no method; write, for example, [ivon]"),
        ("shake = 1\n", "shake is outside any method"),
        ("[Mean]\nshak = 1\n", "no setting 'shak'"),
        ("[Maen]\n", "did you mean 'Mean'?"),
    ],
)
def test_a_wrong_file_is_named_with_the_cure(tmp_path, text, reason):
    (tmp_path / "settings.toml").write_text(text)
    answer = call(tmp_path, "--settings", str(tmp_path / "settings.toml"))
    assert answer.code == 2
    assert "--settings" in answer.errors
    assert reason in answer.errors
