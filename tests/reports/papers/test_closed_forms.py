"""Printed numbers in closed form, compared with quadrature, draws and enumeration."""

import math
from collections import Counter

import numpy as np
import pytest
from scipy import integrate, optimize, stats

from bnnbench.methods.ciber.method import NEAREST
from bnnbench.reports.pages.site.paper_pages import paper_page
from bnnbench.reports.papers.closed_forms import FORMULAS, closed_form
from bnnbench.reports.papers.coverage import coverage
from bnnbench.reports.papers.published import every, table
from tests.reports.papers.test_coverage import COMMON, data_of


def triangle(v):
    return max(0.0, (1 - abs(v) / NEAREST) / NEAREST)


def relu(w):
    return max(w, 0.0)


def unit(total):
    return 1 / (1 + np.exp(-2 * math.log(19) * (total - 1.5)))


def test_the_triangle_is_the_nearest_to_a_normal_density():
    def distance(r):
        inside = integrate.quad(
            lambda v: (max(0.0, (1 - v / r) / r) - stats.norm.pdf(v)) ** 2, 0, r, epsabs=1e-13
        )[0]
        return inside + integrate.quad(lambda v: stats.norm.pdf(v) ** 2, r, 12, epsabs=1e-13)[0]

    assert optimize.minimize_scalar(distance, (2, 2.5)).x == pytest.approx(NEAREST, abs=1e-5)


def test_the_warm_up_of_paper_002_is_an_integral_over_the_weight():
    found = {p.metric: closed_form(p) for p in table("002", "sec 3")}
    density, mean = found["density"], found["expectation"]
    truth = integrate.quad(lambda w: triangle(1 - relu(w)) / 6, -3, 3, points=[0, 1], limit=400)[0]
    assert density.value == pytest.approx(truth, abs=1e-9)
    assert mean.value == pytest.approx(integrate.quad(lambda w: relu(w) / 6, -3, 3, points=[0])[0])
    linear = integrate.quad(lambda w: triangle(1 - w) / 6, -3, 3, points=[1 - NEAREST, 1])[0]
    (printed,) = (p for p in table("002", "sec 3") if p.metric == "density")
    assert abs(linear - printed.value) < 0.002 < abs(truth - printed.value), density.cause


def test_the_gate_of_paper_001_is_a_mean_over_draws():
    rng = np.random.default_rng(0)
    drawn = rng.random((2, 400_000))
    for printed in table("001", "1"):
        p, q = float(printed.protocol["p1"]), float(printed.protocol["p2"])
        a, b = drawn[0] < p, drawn[1] < q
        truth = {
            "e[x1 and x2] (exact)": (a & b).mean(),
            "logistic model (exact expectation)": unit(a.astype(float) + b).mean(),
            "ap1": unit(p + q),
        }[printed.method]
        assert closed_form(printed).value == pytest.approx(truth, abs=2e-3), printed


def test_rounding_alone_decides():
    (printed,) = (
        p for p in table("001", "1")
        if p.method == "ap1" and p.protocol == {"p1": "0.25", "p2": "0.25"}
    )  # fmt: skip
    found = closed_form(printed)
    assert (printed.value, round(found.value, 4)) == (0.0027, 0.0028)
    assert not found.agrees(printed)
    agreeing = Counter(closed_form(p).agrees(p) for p in table("001", "1"))
    assert agreeing == {True: 16, False: 2}


def test_every_formula_is_of_a_printed_number():
    found = {
        (p.paper, p.table.lower().removeprefix("table").strip(), p.method)
        for p in every()
        if closed_form(p)
    }
    assert found == set(FORMULAS)


def test_a_page_shows_them_without_a_run():
    (of_gate,) = (t for t in coverage({}) if (t.paper, t.number) == ("001", "1"))
    text = paper_page("001", "papers/001.html", [of_gate], {}, COMMON)
    explained = data_of(text)["numbers"]
    assert len(explained) == len(of_gate.numbers) == 18
    assert text.count("▲<small>") == 2
    assert all("no run" in sentences[1] for _, _, _, *sentences in explained)
    assert "18 are in closed form" in text
