"""Errors by the number of draws, from artificial runs."""

import math

import numpy as np
import pytest

from bnnbench.commands.report import main
from bnnbench.reports.judge.table import Cell
from bnnbench.reports.pages.exports.tables import printed
from bnnbench.reports.read.benchmarks import benchmarks
from bnnbench.reports.sections.suites.few_samples import (
    MONTE_CARLO,
    FewDraws,
    count_drawings,
    divergence_table,
    equal_draws,
    equal_table,
    other_tables,
)
from bnnbench.reports.style.palette import styles
from tests.reports.drawings import groups
from tests.reports.synthetic import keep, record

COUNTS = (2, 5, 10, 20, 40, 80)
CLAIM = ({"paper": "002", "table": "sec 4.3", "departures": ["of ours"]},)
BOX = "box_integral"


def run(method="Monte Carlo", fold=0, level=1.0, power=1.0, counts=COUNTS, **changes):
    """Return a run whose divergence is level / draws ** power, and a tenth more per fold."""
    scores = {"clean": {"picp_90": 0.9}}
    for n in counts:
        kl = level * (1 + 0.1 * fold) / n**power
        scores[f"samples_{n}"] = {"kl_to_exact": kl, "logistic_error": kl / 2}
        if method == "Monte Carlo":
            scores[f"samples_{n}"]["kl_from_exact"] = 2 * kl
    integral = MONTE_CARLO if method == "Monte Carlo" else BOX
    described = {"method": {"type": "linear_from_draws",
                            "integral": {"type": integral}, "label": method}}  # fmt: skip
    fields = {"suite": "few_samples", "scores": scores, "run": described, "origin": "generated"}
    return record(method, "linear_correlation_0", fold, **fields | changes)


def of(*records):
    (found,) = map(FewDraws, benchmarks(records))
    return found


def both(**changes):
    """Return three repeats of each: the box has half the divergence of Monte Carlo."""
    return of(*(run(fold=k, **changes) for k in range(3)),
              *(run("CIBER moment", k, level=0.5, **changes) for k in range(3)))  # fmt: skip


def test_counts_are_columns_in_ascending_order_and_methods_rows():
    shown = divergence_table(both())
    assert [column.heading for column in shown.columns] == ["2", "5", "10", "20", "40", "80"]
    assert [row.method for row in shown.rows] == ["Monte Carlo", "CIBER moment"]
    cell = shown.rows[0].cells[2]
    assert isinstance(cell, Cell)
    assert (cell.runs, cell.mean) == (3, pytest.approx(0.11))
    assert cell.standard_error == pytest.approx(0.01 / 3**0.5)
    assert printed(cell, shown.columns[2])[0] == "0.11"


def test_half_the_divergence_is_worth_twice_the_draws():
    shown = equal_table(both())
    assert shown is not None
    assert [row.method for row in shown.rows] == [f"CIBER moment, n = {n}" for n in (5, 10, 20)]
    own, once, twice, four, equal = shown.rows[0].cells
    assert isinstance(own, Cell)
    assert own.mean == pytest.approx(0.11)
    for cell, n in ((once, 5), (twice, 10), (four, 20)):
        assert isinstance(cell, Cell)
        assert cell.mean == pytest.approx(1.1 / n)
    # Repeats differ by a factor that both share, so that the interval is a point.
    assert equal == "10 (10 to 10)"


def test_an_equal_number_lies_on_straight_lines_between_logarithms():
    base = np.array([[1.0, 0.1, 0.05]] * 4)
    for level, number in ((1.0, "1"), (10**-0.5, "10"), (0.1, "100"), (0.08, "125")):
        found = equal_draws(np.full(4, level), base, (1, 100, 200))
        assert found.split(" ")[0] == number
    assert equal_draws(np.full(4, 2.0), base, (1, 100, 200)) == "< 1 (< 1 to < 1)"
    assert equal_draws(np.full(4, 0.01), base, (1, 100, 200)) == "> 200 (> 200 to > 200)"


def test_the_interval_of_an_equal_number_agrees_with_resampled_repeats():
    """Levels with a known spread on a line of slope 1, by the normal approximation."""
    rng = np.random.default_rng(1)
    counts = tuple(2**k for k in range(12))
    base = np.ones((200, 1)) / np.array(counts)
    own = 0.02 * np.exp(0.3 * rng.standard_normal(200))
    text = equal_draws(own, base, counts)
    at, low, high = (float(part.strip("()")) for part in text.replace(" to ", " ").split(" "))
    assert at == pytest.approx(1 / own.mean(), rel=0.01)
    error = own.std(ddof=1) / math.sqrt(200) / own.mean()
    assert low == pytest.approx(at * (1 - 1.96 * error), rel=0.02)
    assert high == pytest.approx(at * (1 + 1.96 * error), rel=0.02)


def test_one_repeat_has_no_interval():
    shown = equal_table(of(run(), run("CIBER moment", level=0.5)))
    assert shown is not None
    assert [row.cells[-1] for row in shown.rows] == ["10", "20", "40"]


def test_without_monte_carlo_nothing_is_equal_to_it():
    assert equal_table(of(run("CIBER moment"), run("CIBER min/max"))) is None


def test_other_errors_have_a_table_of_the_methods_that_have_them():
    tables = {shown.title.partition(": ")[2]: shown for shown in other_tables(both())}
    back = tables["KL from the exact predictive against draws"]
    assert [row.method for row in back.rows] == ["Monte Carlo"]
    logistic = tables["Error of the mean logistic against draws"]
    assert len(logistic.rows) == 2
    assert len(tables) == 2


def test_repeats_that_lack_a_count_are_left_out():
    found = of(run(fold=0), run(fold=1, counts=COUNTS[:3]), run(fold=2))
    assert found.counts == COUNTS
    assert found.curves("Monte Carlo", "kl_to_exact").shape == (2, len(COUNTS))


def test_what_the_paper_prints_is_said_where_it_is_claimed():
    claimed = both(reproduces=CLAIM)
    assert "0.069 for CIBER and 0.130 for Monte Carlo" in claimed.explanation
    assert "prints" not in both().explanation
    assert "3 repeats" in both().explanation
    assert both().benchmark.condition("samples_5") == "5 draws"


def test_a_benchmark_whose_draws_were_not_counted_has_none():
    (found,) = map(FewDraws, benchmarks([record("AdamW")]))
    assert not found.counts


def test_a_drawing_has_a_line_and_a_band_for_each_method():
    method_styles = styles(["Monte Carlo", "CIBER moment"])
    drawn = count_drawings(both(), method_styles, "a", "linear")
    assert [drawing.heading.split(",")[0] for drawing in drawn] == [
        "KL to the exact predictive", "Error of the mean logistic",
    ]  # fmt: skip
    assert "Monte Carlo from 0.55 to 0.0138; CIBER moment from 0.275" in drawn[0].svg
    assert all(groups(drawn[0].svg, m) and groups(drawn[0].svg, m, "band") for m in method_styles)
    (alone, _) = count_drawings(of(run()), method_styles, "a", "linear")
    assert "fill-opacity: 0.2" not in alone.svg


def test_the_page_shows_tables_and_figures(tmp_path):
    records = [run(m, k, level=v, reproduces=CLAIM) for m, v in
               (("Monte Carlo", 1.0), ("CIBER moment", 0.5)) for k in range(3)]  # fmt: skip
    keep(tmp_path / "few_samples", records)
    assert main([str(tmp_path)]) == 0
    page = (tmp_path / "few_samples" / "report.html").read_text()
    for text in ("Few draws compared with the exact predictive", "Errors by draws", "n = 5",
                 "10 (10 to 10)", "KL to the exact predictive (5 draws)"):  # fmt: skip
        assert text in page
