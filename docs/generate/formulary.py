"""The metrics with their formulas, from the table of metrics and their functions' docstrings.

`formulas.toml` has the formulas that no docstring states.
"""

import ast
import functools
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from bnnbench import metrics
from bnnbench.metrics import LISTED, METRICS, Margin, Metric
from bnnbench.metrics.catalogue.entries import Imported
from bnnbench.reports.style import labels
from docs.generate.finished_runs import ROOT

FOLDER = Path(__file__).parent

CHAPTERS: Mapping[str, Sequence[str]] = {
    "Classes": (
        *metrics.CLASSIFICATION, *metrics.IMBALANCED, *metrics.ROBUSTNESS, *metrics.DIRICHLET,
        *metrics.CIFAR10_COSTS, *metrics.DIGIT_COSTS,
    ),
    "Out-of-distribution detection": (
        *metrics.OUT_OF_DISTRIBUTION, *metrics.DIRICHLET_OUT_OF_DISTRIBUTION,
    ),
    "Real targets": (*metrics.REGRESSION, *metrics.SCORES_OF_TABLES),
    "Stated quantiles, intervals and sets": (
        *metrics.QUANTILES, *metrics.INTERVALS, *metrics.SETS,
    ),
    "Several points together": metrics.JOINT_REGRESSION,
    "Distance to a reference": (*metrics.DISTANCES, *metrics.CERTIFIED, *metrics.FAR),
    "Measurements on a posterior, and of attacks": (*metrics.PROBED, *metrics.ATTACKED),
}  # fmt: skip
"""Title → metrics; a metric named by several chapters appears in the first."""


def formulary() -> str:
    """Return all metrics in Markdown, by chapter."""
    return "\n".join(_lines())


def chapters() -> dict[str, list[Metric]]:
    """Return title → its metrics, each metric once."""
    seen: set[str] = set()
    found: dict[str, list[Metric]] = {}
    for title, names in CHAPTERS.items():
        new = [name for name in dict.fromkeys(names) if name not in seen]
        seen |= set(new)
        found[title] = [LISTED[name] for name in new]
    if left := [metric for name, metric in METRICS.items() if name not in seen]:
        found["Others"] = left
    return found


def _lines() -> Iterator[str]:
    formulas = tomllib.loads((FOLDER / "formulas.toml").read_text("utf-8"))
    for title, of_chapter in chapters().items():
        yield f"## {title}\n"
        for metric in of_chapter:
            title = labels.metric(metric.name)
            yield f"### {labels.sentence(title) if title[0].isascii() else title}\n"
            yield f"`{metric.name}` · {' · '.join(_facts(metric))}\n"
            if formula := formulas.get(metric.name):
                yield f"$$ {formula} $$\n"
            yield _meaning(metric)


def _facts(metric: Metric) -> Iterator[str]:
    """Yield unit, direction and margin in words."""
    unit = metric.unit.replace("_", " ")
    yield f"{unit}, of standardised targets" if metric.standardised else unit
    up = metric.higher_is_better
    yield "no better direction" if up is None else f"{'higher' if up else 'lower'} is better"
    if metric.margin is None:
        if up is not None:
            yield "no margin"
        return
    of_reals = metric.margin_of_reals
    more = f" ({_margin(of_reals)} for real targets)" if of_reals else ""
    yield f"margin {_margin(metric.margin)}{more}"


def _margin(margin: Margin) -> str:
    return f"{100 * margin.size:g} % of the best" if margin.relative else f"{margin.size:g}"


def _meaning(metric: Metric) -> str:
    """Return the docstrings of its functions, from the last function to the first."""
    score = metric.score
    assert isinstance(score, Imported), f"{metric.name} names no function"
    texts = [_said(path) for path in reversed(score.paths)]
    if len(texts) > 1:
        first, _, rest = texts[1].partition("\n\n")
        texts[1] = f"The uncertainty is {first[:1].lower()}{first[1:]}" + f"\n\n{rest}" * bool(rest)
    given = ", ".join(f"{name.replace('_', ' ')} {value:g}" for name, value in score.options)
    return "\n".join([*texts, f"Here: {given}.\n"] if given else texts)


def _said(path: str) -> str:
    """Return a docstring without "Return" and without its sentences on errors."""
    module, _, name = path.partition(":")
    text = _docstrings(module).get(name, "").removeprefix("Return ")
    text = re.sub(r"\s*\bRaises [^.]*(?:\.\w[^.]*)*\.(?=\s|$)", "", text).strip()
    text = re.sub(r"[Pp]aper (\d{3})", lambda found: labels.paper(found[1]), text)
    return f"{labels.sentence(text)}\n"


@functools.cache
def _docstrings(module: str) -> Mapping[str, str]:
    tree = ast.parse((ROOT / "metrics" / f"{module.replace('.', '/')}.py").read_text("utf-8"))
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    found = {node.name: ast.get_docstring(node) or "" for node in functions}
    return found | {"": ast.get_docstring(tree) or ""}
