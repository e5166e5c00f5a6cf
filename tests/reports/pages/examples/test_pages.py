"""Pages of examples without a browser: their content, sizes and addresses."""

import base64
import io
import itertools
import pathlib

import numpy as np
import pytest
import torch
from PIL import Image
from scipy.stats import norm

from bnnbench.commands.bundle import main as bundle
from bnnbench.commands.report import main as report
from bnnbench.commands.site import main as site
from bnnbench.reports.pages.examples.book import MOST_METHODS
from bnnbench.reports.pages.examples.pages import Setting, example_pages, spans
from bnnbench.reports.pages.layout import LIMIT
from bnnbench.reports.read.benchmarks import benchmarks
from bnnbench.reports.read.predictions.bundled import spans_in
from tests.reports.pages.drilldown.test_run_pages import COMMON, data_of
from tests.reports.pages.examples.stores import (
    CLEAN,
    COLOURS,
    DIGITS,
    NAMES,
    PATIENTS,
    TURNED,
    of_digits,
    of_patients,
)
from tests.reports.synthetic import keep


def pages_of(store):
    (benchmark,) = benchmarks(store.records())
    setting = Setting("suite", benchmark, "runs/it.html", lambda _: COMMON)
    return example_pages(setting, store)


def runs_of(store, method):
    return sorted(
        (r for r in store.records() if r.method == method), key=lambda r: (r.fold, r.seed)
    )


def pairs_of(data):
    """Yield the names of both methods of each pair, and the page's content for it."""
    for name, pair in data["pairs"].items():
        assert name == "-".join(map(str, pair["methods"]))
        yield *(data["methods"][k] for k in pair["methods"]), pair


def test_images_and_numbers_are_those_found_by_hand(tmp_path):
    store = of_digits(tmp_path / "digits")
    (text,) = pages_of(store).values()
    data = data_of(text)
    images, labels = DIGITS.images("test")
    probabilities, logs = {}, {}
    for method in NAMES:
        each = [store.predictions(r.key)["clean"][0].log_probs[0].double()
                for r in runs_of(store, method)]  # fmt: skip
        probabilities[method] = torch.stack([e.exp() for e in each]).mean(0).numpy()
        logs[method] = torch.stack(each).mean(0).numpy()[np.arange(60), labels]
    assert data["methods"] == sorted(NAMES, key=lambda m: -logs[m].mean())
    assert len(data["pairs"]) == 3
    for first, second, pair in pairs_of(data):
        p, q = probabilities[first], probabilities[second]
        distance = np.abs(p - q).sum(1) / 2
        expected = sorted(range(60), key=lambda i: (-distance[i], i))[:12]
        assert [name for name, _ in pair["different"]] == [f"0.{i}" for i in expected]
        shown = [value for _, value in pair["different"]]
        np.testing.assert_allclose(shown, distance[expected], rtol=1e-3)
        for method, worst in zip((first, second), pair["worst"], strict=True):
            order = sorted(range(60), key=lambda i, m=method: (logs[m][i], i))
            assert worst == [f"0.{i}" for i in order[:6]]
        right = p.argmax(1) == labels, q.argmax(1) == labels
        both = [(right[0] & right[1]), (right[0] & ~right[1]), (~right[0] & right[1])]
        assert pair["counts"][:3] == [int(b.sum()) for b in both]
        assert sum(pair["counts"]) == pair["examples"] == 60
    for name, example in data["examples"].items():
        row = int(name.split(".")[1])
        content = base64.b64decode(example["image"].split(",")[1])
        np.testing.assert_array_equal(Image.open(io.BytesIO(content)), images[row, :, :, 0])
        assert example["target"] == labels[row]
    for method, said in zip(data["methods"], data["said"], strict=True):
        for name, (top, largest, of_target, score) in said.items():
            row = int(name.split(".")[1])
            p = probabilities[method][row]
            assert top == p.argmax()
            found = [largest, of_target, score]
            expected = [p.max(), p[labels[row]], logs[method][row]]
            np.testing.assert_allclose(found, expected, rtol=1e-3)


def test_rows_and_numbers_are_those_found_by_hand(tmp_path):
    store = of_patients(tmp_path / "patients")
    (text,) = pages_of(store).values()
    data = data_of(text)
    scores, moments = {}, {}
    for method, (fold, row) in itertools.product(
        NAMES, [(f, r) for f in (0, 1) for r in range(44)]
    ):
        target = PATIENTS.load(fold).target
        found, means, variances = [], [], []
        for run in (r for r in runs_of(store, method) if r.fold == fold):
            prediction, targets = store.predictions(run.key)["clean"]
            mean = target.mean + target.std * float(prediction.means[0, row, 0])
            std = target.std * float(prediction.variances[0, row, 0]) ** 0.5
            value = target.mean + target.std * float(targets[row, 0])
            found.append(norm.logpdf(value, mean, std))
            means.append(mean)
            variances.append(std**2)
        scores[method, fold, row] = np.mean(found)
        spread = np.mean(variances) + np.var(means)
        moments[method, fold, row] = np.mean(means), spread**0.5
    places = [(fold, row) for fold in (0, 1) for row in range(44)]
    raw = {place: PATIENTS.table(place[0]).test_inputs[place[1]] for place in places}
    for first, second, pair in pairs_of(data):
        gap = {place: scores[first, *place] - scores[second, *place] for place in places}
        chosen = []
        for place in sorted(places, key=lambda p: (-abs(gap[p]), p)):
            if not any(np.array_equal(raw[place], raw[other]) for other in chosen):
                chosen.append(place)
        assert [name for name, _ in pair["different"]] == [f"{f}.{r}" for f, r in chosen[:12]]
        assert pair["counts"][1:3] == [sum(g > 0 for g in gap.values()),
                                       sum(g < 0 for g in gap.values())]  # fmt: skip
        assert pair["folds"] == "0 to 1"
    for method, said in zip(data["methods"], data["said"], strict=True):
        for name, (mean, deviation, score) in said.items():
            place = tuple(map(int, name.split(".")))
            expected = [*moments[method, *place], scores[method, *place]]
            np.testing.assert_allclose([mean, deviation, score], expected, rtol=1e-4)
    for name, example in data["examples"].items():
        place = tuple(map(int, name.split(".")))
        values = [float(value) for _, value in example["features"]]
        np.testing.assert_allclose(values, raw[place], rtol=1e-4)
    assert data["target"] == ["disease progression after one year", "index points"]


def test_a_mismatch_of_the_data_is_said_and_no_image_is_shown(tmp_path):
    store = of_digits(tmp_path / "digits", data_sha256="0" * 64)
    (text,) = pages_of(store).values()
    assert "Inputs are not shown." in text
    assert "checksums differ" in text
    assert "data:image" not in text
    assert data_of(text)["pairs"]["0-1"]["different"]


@pytest.mark.parametrize("names", [{}, {"AdamW": 1.0}])
def test_without_predictions_of_two_methods_there_is_no_page(tmp_path, names):
    store = of_digits(tmp_path / "digits", names=names)
    keep(store.folder, [r for r in of_digits(tmp_path / "all" / "digits").records()
                        if r.method not in names])  # fmt: skip
    assert pages_of(store) == {}


def test_large_pages_are_divided_and_each_knows_the_others_pairs(tmp_path):
    names = {f"method {k}": 0.5 + 0.1 * k for k in range(MOST_METHODS + 1)}
    pages = pages_of(of_digits(tmp_path / "digits", COLOURS, names=names, seeds=1))
    assert len(pages) > 1
    found = {address: data_of(text) for address, text in pages.items()}
    every = {f"{i}-{j}" for j in range(MOST_METHODS) for i in range(j)}
    shown = [name for data in found.values() for name in data["pairs"]]
    assert sorted(shown) == sorted(every)
    for address, data in found.items():
        assert len(pages[address].encode()) <= LIMIT
        elsewhere = {name for one in data["neighbours"] for name in one["pairs"]}
        assert elsewhere == every - data["pairs"].keys()
        for pair in data["pairs"].values():
            for example in [*(n for n, _ in pair["different"]), *itertools.chain(*pair["worst"])]:
                assert "image" in data["examples"][example]
                for k in pair["methods"]:
                    assert example in data["said"][k]
    assert "Not shown, since their mean log scores are the lowest: method" in next(
        iter(pages.values())
    )


def test_every_condition_has_a_page_and_only_the_largest_size_of_a_family(tmp_path):
    smaller = TURNED.__class__(45)
    pages = pages_of(of_digits(tmp_path / "digits", conditions=(CLEAN, smaller, TURNED)))
    assert list(pages) == ["examples/it.html", "examples/it-rotated-90.html"]
    for text in pages.values():
        assert all(f'href="../{address}"' in text for address in pages)
    assert data_of(pages["examples/it-rotated-90.html"])["examples"]


def test_ascending_numbers_in_words():
    assert spans([0]) == "0"
    assert spans([0, 1, 2, 4, 6, 7]) == "0 to 2, 4 and 6 to 7"


def built(arguments, out):
    assert site([*arguments, "--out", str(out)]) == 0
    return out


@pytest.mark.long
def test_a_bundle_has_pages_of_examples_with_its_predictions_alone(tmp_path, capsys):
    of_digits(tmp_path / "results" / "digits")
    made = [str(tmp_path / "results"), "--out", str(tmp_path / "bundle"), "--predictions"]
    assert bundle([*made, "--earlier-code"]) == 0
    kept, archive = str(tmp_path / "bundle"), str(tmp_path / "bundle" / "predictions.tar")
    without = built([kept], tmp_path / "without")
    assert not (without / "examples").exists()
    assert not [p for p in without.rglob("*.html") if "examples/" in p.read_text()]
    with_them = built([kept, "--predictions", archive], tmp_path / "with")
    of_store = built([str(tmp_path / "results")], tmp_path / "of_store")
    (page,) = (with_them / "examples").glob("*.html")
    assert page.read_bytes() == (of_store / "examples" / page.name).read_bytes()
    linked = f"examples/{page.name}"
    for name in ("data/digits-as-mnist.html", f"runs/{page.name}"):
        assert linked in (with_them / name).read_text()
        assert linked not in (without / name).read_text()
    moved = pathlib.Path(archive).rename(tmp_path / "moved.tar")
    built([kept], tmp_path / "twice")
    twice = built([kept, "--predictions", str(moved)], tmp_path / "twice")
    report_of_suite = (with_them / "digits" / "report.html").read_bytes()
    assert report_of_suite != (without / "digits" / "report.html").read_bytes()
    assert report_of_suite == (twice / "digits" / "report.html").read_bytes()


def test_predictions_of_other_runs_or_of_none_are_refused(tmp_path, capsys):
    of_digits(tmp_path / "results" / "digits")
    of_patients(tmp_path / "others" / "patients")
    for name in ("results", "others"):
        made = [str(tmp_path / name), "--out", str(tmp_path / f"{name}_bundle"), "--predictions"]
        assert bundle([*made, "--earlier-code"]) == 0
    kept, out = str(tmp_path / "results_bundle"), ["--out", str(tmp_path / "site")]
    other = tmp_path / "others_bundle" / "predictions.tar"
    assert report([kept, "--predictions", str(other), *out]) == 2
    assert "none of the bundled runs" in capsys.readouterr().err
    (tmp_path / "no.tar").write_bytes(b"no archive")
    assert report([kept, "--predictions", str(tmp_path / "no.tar"), *out]) == 2
    assert "not an archive of predictions" in capsys.readouterr().err


def test_altered_predictions_are_named_and_not_read(tmp_path, capsys):
    of_digits(tmp_path / "results" / "digits")
    made = [str(tmp_path / "results"), "--out", str(tmp_path / "bundle"), "--predictions"]
    assert bundle([*made, "--earlier-code"]) == 0
    path = tmp_path / "bundle" / "predictions.tar"
    content = bytearray(path.read_bytes())
    for span in spans_in([path]).values():
        content[span.start + span.size // 2] ^= 1
    path.write_bytes(content)
    kept, out = str(tmp_path / "bundle"), str(tmp_path / "site")
    assert report([kept, "--predictions", str(path), "--out", out]) == 3
    said = capsys.readouterr().err
    assert "do not match the checksum in its record; copy the archive again" in said
    assert not (tmp_path / "site" / "examples").exists()
