"""Tasks with several seeds per split: the mean over seeds gives the same decision."""

import base64
import json
import zlib

import numpy as np
import pytest

from bnnbench.reports.pages.site.compare_pages import scores_data
from bnnbench.reports.pages.site.questions import OF_CLASSES, OF_NUMBERS, Place, Question, clean
from bnnbench.reports.pages.site.ranking import ranked
from bnnbench.reports.pages.site.tasks import task_of
from bnnbench.reports.read.benchmarks import benchmarks
from tests.records import changed
from tests.reports.synthetic import record

FOLDS, SEEDS = 12, 3
METHODS = ("AdamW", "SGD", "PBP")


def runs(rng):
    return [
        record(
            *(method, "yacht", fold, seed),
            suite="uci",
            profile="league",
            scores={
                "clean": {"log_likelihood": rng.normal(-4 * k), "rmse": 4**k * rng.uniform(1, 2)}
            },
            target={"name": "resistance", "unit": "", "mean": 0.0, "std": 1.0},
        )
        for fold in range(FOLDS)
        for k, method in enumerate(METHODS)
        for seed in range(SEEDS)
    ]


def task(records, by_split):
    place = Place("uci", "league", clean, by_split=by_split)
    question = Question("regression", "few rows", "searched", OF_NUMBERS, (place,))
    found = task_of(question, {"uci": benchmarks(records)})
    assert found
    return found


@pytest.fixture
def records():
    return runs(np.random.default_rng(0))


def test_scores_are_means_over_the_seeds_of_a_split(records):
    found = task(records, by_split=True)
    (column,) = found.columns
    assert column.seeds == SEEDS
    scores = found.scores["likelihood"][column.name]["SGD"]
    assert list(scores) == [(fold, 0) for fold in range(FOLDS)]
    of_split = [r for r in records if (r.method, r.fold) == ("SGD", 4)]
    expected = np.mean([r.outcome.scores["clean"]["log_likelihood"] for r in of_split])
    assert scores[4, 0] == pytest.approx(expected, rel=1e-4)
    assert found.keys[column.name]["SGD"][4, 0].key == of_split[0].key


@pytest.mark.parametrize("criterion", ["likelihood", "error"])
def test_they_decide_what_all_runs_decide(records, criterion):
    by_split, by_run = (ranked(task(records, way), criterion) for way in (True, False))
    for one, other in zip(by_split.rows, by_run.rows, strict=True):
        assert (one.method, one.standing.state) == (other.method, other.standing.state)
        assert one.margin == pytest.approx(other.margin, abs=0.02)  # five digits of an RMSE, in %
        assert (one.low, one.high) == pytest.approx((other.low, other.high), abs=0.02)
    assert "worse" in {row.standing.state for row in by_split.rows}


def test_a_seed_that_diverged_is_the_one_that_is_shown(records):
    (lost,) = [k for k, r in enumerate(records) if (r.method, r.fold, r.seed) == ("PBP", 2, 1)]
    records[lost] = changed(records[lost], status="diverged", scores={})
    found = task(records, by_split=True)
    (column,) = found.columns
    shown = found.keys[column.name]["PBP"][2, 0]
    assert (shown.key, shown.status) == (records[lost].key, "diverged")
    assert (2, 0) not in found.scores["likelihood"][column.name]["PBP"]
    assert "PBP" in found.barred[column.name]


def test_each_run_counts_by_itself_elsewhere(records):
    found = task(records, by_split=False)
    (column,) = found.columns
    assert column.seeds == 1
    assert len(found.scores["likelihood"][column.name]["SGD"]) == FOLDS * SEEDS


def test_data_sets_of_one_name_in_two_suites_are_two_columns():
    scores = {"mnist": 0.5, "cifar10": 1.5}
    runs = {
        suite: benchmarks(
            [
                record(
                    "AdamW", "digits", suite=suite, profile="quick", scores={"clean": {"nll": nll}}
                )
            ]
        )
        for suite, nll in scores.items()
    }
    places = tuple(Place(suite, "quick", clean) for suite in scores)
    task = task_of(Question("classification", "all", "searched", OF_CLASSES, places), runs)
    assert len({column.name for column in task.columns}) == len(scores)
    assert len({column.title for column in task.columns}) == len(scores)
    for column in task.columns:
        (value,) = task.scores["likelihood"][column.name]["AdamW"].values()
        assert value == scores[column.suite]


def test_a_data_set_that_few_methods_have_takes_none_out_of_a_ranking():
    of = [(m, "digits") for m in METHODS] + [("AdamW", "many digits")]
    records = [
        record(m, name, suite="mnist", profile="quick", scores={"clean": {"nll": 1.0 + k}})
        for k, (m, name) in enumerate(of)
    ]
    place = Place("mnist", "quick", clean, but=("many digits",))
    question = Question("classification", "digits", "searched", OF_CLASSES, (place,))
    task = task_of(question, {"mnist": benchmarks(records)})
    (column,) = task.columns
    assert set(task.scores["likelihood"][column.name]) == set(METHODS)


def test_scores_to_compare_keep_a_digit_more_than_their_differences_show(records):
    huge = changed(records[0], scores={"clean": {"log_likelihood": -1e12, "rmse": 1e9}})
    lost = task(records[:-1], by_split=False)
    beyond = task([huge, *records[1:]], by_split=False)
    data = {name: zlib.decompress(base64.b64decode(text))
            for name, text in scores_data([lost, beyond]).items()}  # fmt: skip
    planes = np.frombuffer(data["scores"], np.uint8).reshape(4, -1).astype(np.int64)
    codes = iter(256 ** np.arange(4) @ planes)
    missing = 0
    for one, plain in zip((lost, beyond), json.loads(data["tasks"])["tasks"], strict=True):
        for criterion, nearest in (("likelihood", 5.1e-5), ("error", 5.1e-4)):
            ((column, (decimals, least, numbers)),) = plain["scores"][criterion].items()
            for method in (plain["methods"][k] for k in numbers):
                for run in (tuple(map(int, run.split("."))) for run in plain["runs"][column]):
                    score = one.scores[criterion][column][method].get(run)
                    if not (code := next(codes)):
                        missing += 1
                        assert score is None
                        continue
                    within = nearest if one is lost else 300.0
                    assert abs((least + code - 1) / 10.0**decimals - score) <= within
    assert next(codes, None) is None
    assert missing == 2  # both scores of the run that was lost
