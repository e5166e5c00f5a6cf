"""Decision regions over a plane: stored data and drawings."""

import base64
import io
import re
import shutil
from dataclasses import replace

import matplotlib.image
import numpy as np
import pytest
import torch

from bnnbench.commands.report import main
from bnnbench.commands.suite import command
from bnnbench.datasets.conditions.clean import Clean
from bnnbench.datasets.conditions.plane import Plane
from bnnbench.datasets.generated.two_moons import TwoMoons
from bnnbench.engine.declare.case import Case
from bnnbench.engine.declare.grid import Evaluation, Suite
from bnnbench.engine.store.data_points import PlanePoints, keep_planes, plane_points
from bnnbench.engine.store.inspection import inspect_curves
from bnnbench.engine.store.store import Store
from bnnbench.methods.marginal import Marginal
from bnnbench.methods.predictions.predictive import CategoricalPredictive
from bnnbench.reports.read.benchmarks import benchmarks
from bnnbench.reports.read.load import read
from bnnbench.reports.read.merge import merged
from bnnbench.reports.sections.suites.regions import draw_regions, region_drawings, shades
from tests.suites.fakes import Coins

PLANE = Plane((-2.0, -1.5), (3.0, 2.0), 0.5, distance=0.5)
SUITE = Suite(
    name="moons",
    title="Moons",
    profile="quick",
    cases=(Case(TwoMoons(), ()),),
    methods={"Frequency": Marginal()},
    evaluations=(Evaluation(Clean(), ("nll",)), Evaluation(PLANE, ("auroc_ood",))),
    folds=2,
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("moons")
    arguments = ["--out", str(place), "--no-report", "--executor", "serial", "--in-process"]
    assert command({"quick": SUITE}, arguments) == 0
    return place


@pytest.fixture
def store(folder, tmp_path):
    """A copy that a test may damage."""
    return Store(shutil.copytree(folder / "moons", tmp_path / "results" / "moons"))


def test_the_points_of_each_fold_are_kept(folder):
    store = Store(folder / "moons")
    assert len(list((store.folder / "curves").iterdir())) == 2
    assert list(inspect_curves(store)) == []
    for record in store.records():
        points, data = plane_points(store, record), TwoMoons().load(record.fold)
        np.testing.assert_allclose(points.train_inputs, data.train.inputs.numpy())
        np.testing.assert_array_equal(points.train_targets, data.train.targets.numpy())
        np.testing.assert_allclose(points.first, np.arange(-2.0, 3.25, 0.5))
        np.testing.assert_allclose(points.second, np.arange(-1.5, 2.25, 0.5))


def test_an_image_has_the_second_input_upwards():
    points = PlanePoints(np.zeros((1, 2)), np.zeros(1, int), np.arange(3.0), np.arange(2.0))
    grid = PLANE.select(TwoMoons().load(0)).inputs.double().numpy()
    kept = PlanePoints(np.zeros((1, 2)), np.zeros(1, int), np.arange(11.0), np.arange(8.0))
    np.testing.assert_array_equal(kept.image(grid[:, 0])[0], np.arange(-2.0, 3.25, 0.5))
    np.testing.assert_array_equal(kept.image(grid[:, 1])[:, 0], np.arange(-1.5, 2.25, 0.5))
    np.testing.assert_array_equal(points.image(np.arange(6.0)), [[0, 2, 4], [1, 3, 5]])


def test_suites_without_a_plane_keep_nothing(tmp_path):
    clean = replace(SUITE, cases=(Case(Coins(), ()),), evaluations=SUITE.evaluations[:1])
    keep_planes(clean, Store(tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_shades_are_clear_where_the_classes_are_equal_and_full_where_one_is_sure():
    blue, none, orange = shades(np.array([[0.0, 0.5, 1.0]]))[0]
    assert none[3] == 0
    assert blue[3] == orange[3] == pytest.approx(0.85)
    assert blue[2] > blue[0]
    assert orange[0] > orange[2]
    assert shades(np.array([[np.nan]]))[0, 0, 3] == 0


def test_the_raster_shows_the_sure_half_of_the_plane():
    points = PlanePoints(
        np.array([[0.0, 0.0], [2.0, 1.0]]), np.array([0, 1]), np.arange(3.0), np.arange(2.0)
    )
    probability = np.repeat([0.0, 0.5, 1.0], 2)
    drawn = draw_regions("A", points, probability, "x", "moons", "")
    (data,) = re.findall(r'data:image/png;base64,([^"]+)"', str(drawn.svg))
    pixels = matplotlib.image.imread(io.BytesIO(base64.b64decode(data)))
    assert pixels.shape == (2, 3, 4)
    np.testing.assert_allclose(pixels[:, :, 3], [[0.85, 0, 0.85]] * 2, atol=0.01)
    assert "between 0.1 and 0.9 in 33 % of it" in drawn.svg


def test_every_method_has_its_regions_on_the_page(store, tmp_path):
    assert main([str(tmp_path / "results")]) == 0
    page = (store.folder / "report.html").read_text()
    assert "Decision regions, two moons (generated)" in page
    assert page.count("data:image/png;base64,") == 1
    assert "AUROC of far points 0.5" in page


def test_damaged_points_cost_the_figure_and_not_the_page(store, tmp_path):
    for path in (store.folder / "curves").iterdir():
        path.write_bytes(path.read_bytes()[:100])
    assert main([str(tmp_path / "results")]) == 0
    assert "Decision regions" not in (store.folder / "report.html").read_text()


def test_predictions_on_another_grid_are_not_drawn(store):
    (benchmark,) = benchmarks(store.current())
    (first, *_) = (r for r in store.current() if r.fold == 0)
    kept = store.predictions(first.key)
    prediction, target = kept["plane"]
    fewer = CategoricalPredictive(prediction.log_probs[:, :-1])

    class Other(Store):
        def predictions(self, key):
            return {**kept, "plane": (fewer, target[:-1])}

    assert region_drawings(store, benchmark, "x", "moons")
    assert region_drawings(Other(store.folder), benchmark, "x", "moons") is None


def test_merged_stores_have_the_points_of_their_own(folder, tmp_path):
    halves = [Store(shutil.copytree(folder / "moons", tmp_path / n / "moons")) for n in "ab"]
    for fold, half in enumerate(halves):
        for record in list(half.records()):
            if record.fold != fold:
                shutil.rmtree(half.runs / record.key)
        for path in (half.folder / "curves").iterdir():
            record = next(half.records())
            if plane_points(half, record) is not None:
                path.rename(path.with_suffix(".kept"))
                if plane_points(half, record) is not None:
                    path.with_suffix(".kept").unlink()
                else:
                    path.with_suffix(".kept").rename(path)
    both = merged({"b": read(halves[1].folder), "a": read(halves[0].folder)})
    (benchmark,) = benchmarks(both.records)
    drawn = region_drawings(both.store, benchmark, "x", "moons")
    assert drawn.fold == 0
    assert len(drawn.drawings) == 1


def test_three_classes_have_no_regions(store):
    (benchmark,) = benchmarks(store.current())
    three = CategoricalPredictive(torch.full((1, 88, 3), 1 / 3).log())

    class Other(Store):
        def predictions(self, key):
            return {"plane": (three, torch.zeros(88, dtype=torch.long))}

    assert region_drawings(Other(store.folder), benchmark, "x", "moons") is None
