"""Fixtures of the browser tests: three suites, and what pages say about themselves."""

import math
from pathlib import Path

import numpy as np
from axe_playwright_python.sync_playwright import Axe

from bnnbench.commands.report import main
from tests.reports.showcase import cifar10
from tests.reports.synthetic import classified, detected, keep, record, regressed

SUITES = ["cifar10", "hostile", "uci"]
HOSTILE = [
    "<script>window.hit=1</script>",
    '<img src=x onerror="window.hit=1">',
    "x" * 200,
    "constructor",
]
"""Names that a page must show without executing them."""

CONTRAST = """() => {
  const parse = c => c.match(/[\\d.]+/g).slice(0, 3).map(Number);
  const light = c => { const [r, g, b] = parse(c).map(v => v / 255)
      .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const ground = e => { for (; e; e = e.parentElement) {
    const c = getComputedStyle(e).backgroundColor;
    if (!c.startsWith('rgba(0, 0, 0, 0')) return c; } return 'rgb(255, 255, 255)'; };
  const texts = [...document.querySelectorAll(
    'p, td, th, dt, dd, a, summary, h1, h4, .chip, button, label, legend, select, code')];
  return Math.min(...texts.map(e => { const [a, b] = [light(getComputedStyle(e).color),
    light(ground(e))].sort((x, y) => y - x); return (a + 0.05) / (b + 0.05); }));
}"""
"""JavaScript: the minimum contrast of a text with its background."""


def folders(tmp_path_factory):
    """Return adjacent folders for results and a site, as `visit` expects them."""
    place = tmp_path_factory.mktemp("reports")
    return place / "results", place / "site"


def reported(results, site):
    """Write a report next to the runs of each suite, and a site; return the site."""
    assert main([str(results)]) in (0, 3)
    assert main([str(results), "--out", str(site)]) in (0, 3)
    return site


def settled(page):
    """Return the page after its script has unpacked its data, if it has any."""
    page.locator("html[data-ready], html:not(.js)").wait_for(state="attached")
    return page


def broken_rules(page):
    """Return axe's findings on a page: each rule, and what violates it."""
    return [
        f"{rule['id']}: {rule['help']}: {node['target']}"
        for rule in Axe().run(settled(page)).response["violations"]
        for node in rule["nodes"]
    ]


def keep_suites(results: Path) -> None:
    """Store three suites: a usual one, one with hostile names and values, one of regression."""
    cifar10(results / "cifar10", seeds=3, points=200)
    rng = np.random.default_rng(0)
    scores = {
        "clean": {"nll": math.nan, "accuracy": 0.5, "</style><b>m</b>": -math.inf},
        "ood_svhn": {"auroc_ood": 0.5},
    }
    hostile = [
        record(m, m, scores=scores, suite=m, profile=m, origin="stand-in", facts={m: m},
               diagnostics={m: math.inf}, settings={m: m}, provenance={m: m})
        for m in HOSTILE
    ]  # fmt: skip
    hostile += [
        record(m, m, seed=1, scores={}, profile=m, origin="stand-in", status="failed", error=m)
        for m in HOSTILE
    ]
    predictions = {"clean": classified(rng, 1.0), "ood_svhn": detected(rng, 1.0, 1.0)}
    keep(results / "hostile", hostile, {hostile[0].key: predictions, hostile[1].key: predictions})
    real = [
        record(m, d, fold=f, scores={"clean": {"rmse": 1.0 + f, "log_likelihood": -1.0}})
        for m in ("AdamW", "SGD")
        for d in ("boston", "yacht")
        for f in range(4)
    ]
    keep(results / "uci", real, {r.key: {"clean": regressed(rng, 0.3, 0.4)} for r in real})


def rows_shown(page, table=0):
    """Return the labels of a table's rows that are not hidden."""
    return page.evaluate(
        "k => [...document.querySelectorAll('table.results')[k].tBodies[0].rows]"
        ".filter(r => !r.hidden).map(r => r.dataset.label)",
        table,
    )
