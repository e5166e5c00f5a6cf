"""Inputs of examples come from the data; else a reason is shown."""

import base64
import dataclasses
import gzip
import io

import numpy as np
import pytest
from PIL import Image
from sklearn.datasets import load_diabetes

from bnnbench.datasets.cuts.limited import Limited
from bnnbench.datasets.official.mnist import Mnist
from bnnbench.datasets.official.uci import Uci
from bnnbench.datasets.reading import files, tables
from bnnbench.datasets.stand_ins import DigitsAsTable
from bnnbench.engine.declare.attacks import Fgsm
from bnnbench.engine.declare.description import describe
from bnnbench.engine.declare.grid import Evaluation
from bnnbench.reports.pages.examples.inputs import MOST_FEATURES, NotShown, data_uri, inputs_of
from tests.records import changed
from tests.reports.pages.examples.stores import CLEAN, COLOURS, DIGITS, PATIENTS, TURNED, run_on


def targets_of(source, fold=0):
    """Return test targets in their unit, as pages store them."""
    data = source.load(fold)
    targets = data.test.targets.numpy()
    return targets if data.target is None else data.target.mean + data.target.std * targets[:, 0]


def pixels(uri):
    """Return the pixels of a picture in an address."""
    kind, text = uri.split(",")
    assert kind == "data:image/png;base64"
    image = np.array(Image.open(io.BytesIO(base64.b64decode(text))))
    return image if image.ndim == 3 else image[..., None]


@pytest.mark.parametrize("source", [DIGITS, COLOURS])
def test_pictures_have_the_very_pixels_of_the_data(source):
    inputs = inputs_of([run_on(source, (CLEAN,), "AdamW")], "clean", targets_of(source))
    images, labels = source.images("test")
    assert inputs.are_images
    for row in (0, 7, len(labels) - 1):
        np.testing.assert_array_equal(pixels(data_uri(inputs.image(row))), images[row])


def test_pictures_of_mnist_have_the_very_pixels_of_its_file(data_folder):
    source = Limited(Mnist(), train=50, test=20)
    inputs = inputs_of([run_on(source, (CLEAN,), "AdamW")], "clean", targets_of(source))
    content = files.read(Mnist.FILES["test"][0])

    raw = np.frombuffer(gzip.decompress(content), np.uint8, offset=16).reshape(-1, 28, 28, 1)
    for row in range(20):
        np.testing.assert_array_equal(pixels(data_uri(inputs.image(row))), raw[row])


def test_pictures_of_a_condition_are_the_changed_ones():
    run = run_on(DIGITS, (CLEAN, TURNED), "AdamW")
    inputs = inputs_of([run], TURNED.name, targets_of(DIGITS))
    images, _ = DIGITS.images("test")
    for row in (0, 7, 59):
        turned = np.rot90(images[row])
        assert np.abs(inputs.image(row).astype(int) - turned.astype(int)).max() <= 1


def test_rows_have_the_values_of_the_file():
    fold = 3
    run = run_on(PATIENTS, (CLEAN,), "AdamW", fold)
    inputs = inputs_of([run], "clean", targets_of(PATIENTS, fold))
    raw = load_diabetes(scaled=False).data
    _, test = tables.gal_split(len(raw), fold)
    for row, place in enumerate(test):
        values = inputs.features_of(row).values
        assert [name for name, _ in values] == [f"x{k}" for k in range(10)]
        np.testing.assert_allclose([float(v) for _, v in values], raw[place], rtol=1e-4)


def test_of_many_features_the_most_unusual_are_shown():
    source = DigitsAsTable()
    inputs = inputs_of([run_on(source, (CLEAN,), "AdamW")], "clean", targets_of(source))
    table = source.table(0)
    spread = table.train_inputs.std(0)
    spread[spread == 0] = 1
    for row in range(10):
        deviations = np.abs((table.test_inputs[row] - table.train_inputs.mean(0)) / spread)
        least = np.sort(deviations)[-MOST_FEATURES]
        shown = inputs.features_of(row).values
        assert len(shown) == MOST_FEATURES
        for name, value in shown:
            place = int(name[1:])
            assert deviations[place] >= least - 1e-4
            assert float(value) == table.test_inputs[row, place]


def test_features_of_boston_have_their_names(data_folder):
    source = Uci("boston")
    inputs = inputs_of([run_on(source, (CLEAN,), "AdamW")], "clean", targets_of(source))
    for row in range(51):
        values = dict(inputs.features_of(row).values)
        assert list(values)[:2] == ["CRIM", "ZN"]
        assert values["CHAS"] in ("0", "1")
        assert 0 < float(values["LSTAT"]) < 40


def test_other_data_than_those_of_the_runs_are_not_shown():
    run = run_on(DIGITS, (CLEAN,), "AdamW", data_sha256="0" * 64)
    with pytest.raises(NotShown, match="are not the runs' data"):
        inputs_of([run], "clean", targets_of(DIGITS))


def test_runs_on_different_data_have_no_common_inputs():
    run = run_on(DIGITS, (CLEAN,), "AdamW")
    with pytest.raises(NotShown, match="different data"):
        inputs_of([run, changed(run, data_sha256="1" * 64)], "clean", np.zeros(60))


def test_records_that_do_not_name_their_data_have_no_inputs():
    run = run_on(DIGITS, (CLEAN,), "AdamW")
    bare = changed(run, data_sha256=None, facts={})
    with pytest.raises(NotShown, match="do not say"):
        inputs_of([bare], "clean", targets_of(DIGITS))


def test_other_targets_than_those_kept_are_noticed():
    with pytest.raises(NotShown, match="targets"):
        inputs_of([run_on(DIGITS, (CLEAN,), "AdamW")], "clean", targets_of(DIGITS)[::-1])


def test_a_condition_that_comes_out_differently_is_not_shown():
    run = run_on(DIGITS, (CLEAN, TURNED), "AdamW")
    run = changed(run, condition_data={TURNED.name: "0" * 64})
    with pytest.raises(NotShown, match="are different on this machine"):
        inputs_of([run], TURNED.name, targets_of(DIGITS))


def test_inputs_of_an_attack_are_not_kept():
    attack = Fgsm(0.1)
    run = run_on(DIGITS, (CLEAN,), "AdamW")
    run = dataclasses.replace(run, evaluations=(describe(Evaluation(attack, ("nll",))),))
    with pytest.raises(NotShown, match="attack"):
        inputs_of([run], attack.name, targets_of(DIGITS))


def test_data_that_are_not_here_are_named_and_not_downloaded(folder, monkeypatch):
    run = run_on(DIGITS, (CLEAN,), "AdamW")
    run = dataclasses.replace(run, run=run.run | {"source": describe(Uci("boston"))})
    monkeypatch.delenv("BNNBENCH_OFFLINE", raising=False)
    monkeypatch.setattr(files, "fetch", lambda *_: pytest.fail("it was to be downloaded"))
    with pytest.raises(NotShown, match=r"not on this machine: .*data\.txt"):
        inputs_of([run], "clean", np.zeros(51))
    assert not files.offline()


def test_a_source_of_another_program_is_not_made():
    run = run_on(DIGITS, (CLEAN,), "AdamW")
    for described in ({"type": "their.module:Source"}, {"type": "mnist", "colour": "red"}):
        with pytest.raises(NotShown, match="cannot be made here"):
            inputs_of(
                [dataclasses.replace(run, run=run.run | {"source": described})],
                "clean",
                targets_of(DIGITS),
            )
