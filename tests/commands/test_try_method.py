"""`bnnbench try`: one method compared with finished runs."""

import re
from dataclasses import replace

import pytest

from bnnbench.commands import suite, try_method
from bnnbench.commands.reporting import rivals
from bnnbench.engine.declare.description import digest
from bnnbench.engine.run.sandbox import sandbox
from bnnbench.engine.store import bundles
from bnnbench.engine.store.store import Store
from bnnbench.engine.workers import separate
from bnnbench.suites.two_moons import SUITES
from tests.records import changed
from tests.reports.synthetic import record

FLAGS = ["--seeds", "3", "--executor", "serial", "--in-process"]


@pytest.fixture(scope="module")
def bundle(tmp_path_factory):
    """A bundle of two methods on two moons."""
    folder = tmp_path_factory.mktemp("bundle")
    flags = [*FLAGS, "--methods", "MAP,Ensemble", "--no-report", "--out", str(folder)]
    assert suite.command(SUITES, flags) == 0
    bundles.write(folder / "bundle" / "two_moons", Store(folder / "two_moons").current())
    return folder / "bundle"


def attempt(bundle, out, method, *flags):
    places = ["--suite", "two_moons", "--bundle", str(bundle), "--out", str(out)]
    return try_method.main([method, *places, *flags, *FLAGS])


@pytest.mark.long
def test_it_fits_that_method_alone_and_says_where_it_stands(bundle, tmp_path, capsys):
    assert attempt(bundle, tmp_path, "sgd(epochs=2)") == 0
    *_, place, first = capsys.readouterr().out.strip().splitlines()
    assert re.match(
        r"sgd \(epochs=2\): place \d of 3 methods of two_moons, quick profile, by", place
    )
    assert re.search(r"; the tests leave (\d to \d|no other) open\.$", place)
    assert "on two moons, one training set" in first or "do not tell the methods apart" in first
    assert "A fit of sgd (epochs=2) takes" in first
    assert {r.method for r in Store(tmp_path / "two_moons").records()} == {"sgd (epochs=2)"}
    page = (tmp_path / "two_moons" / "report.html").read_text()
    assert "Ensemble" in page


@pytest.mark.long
def test_earlier_tries_are_in_the_report_and_not_in_the_standing(bundle, tmp_path, capsys):
    assert attempt(bundle, tmp_path, "sgd(epochs=2)") == 0
    assert attempt(bundle, tmp_path, "sgd(epochs=1)") == 0
    capsys.readouterr()
    assert attempt(bundle, tmp_path, "sgd(epochs=2)") == 0
    told = capsys.readouterr().out
    assert told.count(" of 3 methods of two_moons") == 1
    assert "sgd (epochs=2): place" in told
    assert "sgd (epochs=1)" in (tmp_path / "two_moons" / "report.html").read_text()


@pytest.mark.long
def test_the_checks_in_a_sandbox_hide_data_results_and_the_bundle(tmp_path, monkeypatch, bundle):
    sandboxes = []

    def answer(*_, sandbox, **__):
        sandboxes.append(sandbox)
        return "a fault, so that nothing is fitted"

    monkeypatch.setattr(sandbox, "lacking", lambda: None)
    monkeypatch.setattr(separate, "answer", answer)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "guest_to_check.py").write_text(
        "from dataclasses import dataclass\n"
        "@dataclass(frozen=True)\n"
        "class Guest:\n"
        "    def fit(self, problem, rng): ...\n"
    )
    places = ["--bundle", str(bundle), "--out", str(tmp_path / "out")]
    flags = ["--data-dir", str(tmp_path / "data"), "--sandbox"]
    named = ["guest_to_check:Guest", "--suite", "two_moons"]
    assert try_method.main([*named, *places, *flags]) == 2
    places = tmp_path / "data", bundle, tmp_path / "out"
    assert [set(one.hidden) for one in sandboxes] == [set(map(str, places))]


def test_a_dry_run_writes_nothing(bundle, tmp_path, capsys):
    assert attempt(bundle, tmp_path, "sgd(epochs=2)", "--dry-run") == 0
    assert "Nothing was run or written" in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == []


def test_the_usual_profile_has_searched_settings_else_most_runs(bundle):
    (first, *_) = rivals.stored(bundle, "two_moons")
    large, small = (changed(first, profile=name, search=None) for name in ("large", "small"))
    tuned = changed(first, profile="tuned", search={"trials": []})
    assert rivals.usual_profile([small, large, large]) == "large"
    assert rivals.usual_profile([small, large, large, tuned]) == "tuned"
    wide = [changed(first, profile="wide", method=m, search=None) for m in ("A", "B")]
    assert rivals.usual_profile([large, large, large, *wide]) == "wide"


def test_a_suite_or_profile_without_runs_is_named(bundle, tmp_path, capsys):
    assert try_method.main(["adamw", "--suite", "cifar10", "--bundle", str(bundle)]) == 2
    assert "no runs of 'cifar10'; it has two_moons" in capsys.readouterr().err
    assert attempt(bundle, tmp_path, "adamw", "--profile", "paper") == 2
    assert "no profile 'paper' of two_moons; it has quick" in capsys.readouterr().err
    assert try_method.main(["adamw", "--suite", "two_moons", "--bundle", str(tmp_path)]) == 2
    assert "--bundle" in capsys.readouterr().err


def test_runs_without_settings_are_no_rivals(tmp_path):
    whole = record("AdamW")
    run = {name: value for name, value in whole.run.items() if name != "source"}
    bundles.write(tmp_path, [replace(whole, run=run, key=digest(run))])
    with pytest.raises(ValueError, match="no run of cifar10 in the bundle has its settings"):
        rivals.stored(tmp_path, "cifar10")


def test_an_unknown_option_is_named_by_the_suite(bundle, tmp_path, capsys):
    with pytest.raises(SystemExit):
        attempt(bundle, tmp_path, "adamw", "--seed", "3")
    assert "--seeds" in capsys.readouterr().err


def test_fewer_splits_are_compared_on_these_alone():
    """On the first three folds the new method is the best; the rival's other folds are easier."""

    def runs(method, scores):
        return [
            record(method, "boston", scores={"clean": {"rmse": score}}, suite="uci", fold=fold)
            for fold, score in enumerate(scores)
        ]

    others = [*runs("A", [3.0, 3.1, 3.2, *[1.0] * 7]), *runs("B", [4.0, 4.1, 4.2, *[2.0] * 7])]
    told = "\n".join(rivals.standing_of(runs("Mine", [2.0, 2.1, 2.2]), others, details=True))
    assert "All are compared on its 3 of 10 splits and seeds." in told
    assert "Mine: place 1 of 3 methods of uci" in told
    assert "all 2 others are worse" in told
    assert "RMSE: place 1 of 3 by mean, 2.1" in told
    assert "beats A and B" in told


def scored(method, score, kind, **changes):
    return [
        record(method, scores={"clean": {"nll": score + seed / 90}}, seed=seed,
               settings={"type": kind}, **changes)
        for seed in range(4)
    ]  # fmt: skip


def test_a_yardstick_of_the_bundle_is_passed_over_unless_asked():
    others = [*scored("Boosting", 1.0, "ngboost"), *scored("AdamW", 3.0, "adamw")]
    place, first = list(rivals.standing_of(scored("Mine", 2.0, "mine"), others))[1:]
    assert place.startswith("Mine: place 1 of 2 networks of cifar10, quick profile, by mean")
    assert first.startswith("Mine is best on CIFAR-10")
    everyone = rivals.standing_of(scored("Mine", 2.0, "mine"), others, with_yardsticks=True)
    place, first = list(everyone)[1:]
    assert place.startswith("Mine: place 2 of 3 methods of cifar10")
    assert first.startswith("Boosting is best on CIFAR-10")


def test_a_yardstick_that_is_tried_is_compared_with_all_methods():
    others = [*scored("Boosting", 1.0, "ngboost"), *scored("AdamW", 3.0, "adamw")]
    place = list(rivals.standing_of(scored("Forest", 2.0, "forest_density"), others))[1]
    assert place.startswith("Forest: place 2 of 3 methods of cifar10")


def test_fits_that_did_not_converge_have_a_place_and_are_named():
    mine = scored("Mine", 2.0, "mine", diagnostics={"converged": 0.0})
    others = [*scored("A", 1.0, "adamw"), *scored("B", 3.0, "adamw")]
    place, first = list(rivals.standing_of(mine, others))[1:]
    assert "place 2 of 3" in place
    assert "Counted by score, though they did not converge: 4 fits of Mine." in first


def test_a_failed_method_has_no_place():
    mine = scored("Mine", 2.0, "mine")
    mine[1] = changed(mine[1], status="diverged", scores={})
    others = [*scored("A", 1.0, "adamw"), *scored("B", 3.0, "adamw")]
    place = list(rivals.standing_of(mine, others))[1]
    told = (
        "Mine has no place among the methods of cifar10, quick profile: one of four runs diverged."
    )
    assert place == told


def test_a_method_of_the_bundle_stands_with_its_new_runs_alone():
    old = [record("A", seed=seed, scores={"clean": {"nll": 9.0}}) for seed in range(3)]
    rival = [record("B", seed=seed, scores={"clean": {"nll": 2.0 + seed / 9}}) for seed in range(3)]
    new = [record("A", seed=seed, scores={"clean": {"nll": 1.0 + seed / 9}}) for seed in range(3)]
    told = "\n".join(rivals.standing_of(new, [*old, *rival], details=True))
    assert "The finished runs of A are replaced by the new ones here." in told
    assert "place 1 of 2 by mean, 1.111" in told


def test_a_method_that_cannot_be_scored_is_named_before_any_fit(bundle, tmp_path, capsys):
    assert attempt(bundle, tmp_path, "tests.suites.fakes:Blank") == 2
    told = capsys.readouterr().err
    assert "tests.suites.fakes:Blank cannot be scored: " in told
    assert "`bnnbench check tests.suites.fakes:Blank`" in told
    assert not list(tmp_path.iterdir())


def test_mistakes_are_named_before_the_bundle_is_read(tmp_path, capsys):
    with pytest.raises(SystemExit):
        attempt(tmp_path / "none", tmp_path, "adamw", "--fold", "1")
    assert "did you mean --folds?" in capsys.readouterr().err
    assert attempt(tmp_path / "none", tmp_path, "tests.suites.fakes:Missing") == 2
    assert "has no class Missing" in capsys.readouterr().err
    assert attempt(tmp_path / "none", tmp_path, "tests.suites.fakes:blank") == 2
    assert "has no class blank; did you mean Blank?" in capsys.readouterr().err


def test_several_methods_are_looked_at_each(bundle, tmp_path, capsys):
    assert attempt(bundle, tmp_path, "adamw,tests.suites.fakes:Blank") == 2
    assert "tests.suites.fakes:Blank cannot be scored: " in capsys.readouterr().err


def test_a_second_method_in_the_same_folder_is_compared_on_its_own_data_sets():
    def runs(method, dataset, score):
        return [
            record(method, dataset, scores={"clean": {"rmse": score + k}}, suite="uci", seed=k)
            for k in range(3)
        ]

    others = [*runs("A", "boston", 3.0), *runs("A", "yacht", 3.0), *runs("B", "yacht", 4.0)]
    new = [*runs("First", "boston", 2.0), *runs("First", "yacht", 2.0), *runs("B", "yacht", 1.0)]
    told = "\n".join(rivals.standing_of(new, others, details=True))
    first, second = told.split("B compared with each method:")
    assert "compared on its" not in told
    assert "place 1 of 2" in first
    assert "place 2 of 3" in first
    assert "place 1 of 3" in second
    kept = rivals.beside(new, others)
    assert [r.method for r in kept] == ["A"] * 6
