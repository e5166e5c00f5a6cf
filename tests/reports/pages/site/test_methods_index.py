"""Methods with their variants folded in, and their places over the overview's questions."""

import re
from dataclasses import replace

from bnnbench.reports.pages.methods.groups import groups_of, kind_of_method
from bnnbench.reports.pages.methods.method_pages import Site
from bnnbench.reports.pages.methods.methods_index import methods_index
from bnnbench.reports.pages.methods.places import Standing, figure_of, good_at, sparkline_of
from bnnbench.reports.pages.site.overview.asks import Ask, Asked
from bnnbench.reports.pages.site.overview.cells import Cell
from bnnbench.reports.read.benchmarks import benchmarks
from tests.reports.synthetic import record

COMMON = {"methodPages": [], "search": []}
MP = {"type": "message_passing", "epochs": 3}
DESCRIPTIONS = {
    "MC dropout": {"type": "mc_dropout"},
    "MC Dropout": {"type": "mc_dropout", "rate": 0.2},
    "MCD": {"type": "tuned", "method": {"type": "mc_dropout"}},
    "MC dropout x4": {"type": "ensemble", "member": {"type": "mc_dropout"}},
    "Ensemble": {"type": "ensemble", "member": {"type": "adamw"}},
    "MP": MP,
    "MP informed x3": {"type": "ensemble", "member": MP},
    "GP": {"type": "gaussian_process"},
    "GP (leave-one-out)": {"type": "gaussian_process_left_out"},
    "HMC 1 chain": {"type": "hmc", "chains": 1},
    "Theirs": {"type": "their.package:Theirs"},
}


def suites():
    """Return one benchmark with all of these methods; MC dropout has most runs of its class."""
    runs = [
        record(label, seed=seed, run={"method": description})
        for label, description in DESCRIPTIONS.items()
        for seed in range(3 if label == "MC dropout" else 1)
    ]
    return {"uci": benchmarks(runs)}


def test_labels_of_one_class_are_variants_of_one_method():
    grouped = {group.name: set(group.variants) for group in groups_of(suites())}
    assert grouped == {
        "MC dropout": {"MC dropout", "MC Dropout", "MCD", "MC dropout x4"},
        "Ensemble": {"Ensemble"},
        "Message passing": {"MP", "MP informed x3"},
        "Gaussian process": {"GP", "GP (leave-one-out)"},
        "HMC 1 chain": {"HMC 1 chain"},
        "Theirs": {"Theirs"},
    }


def test_the_main_variant_comes_first_and_the_family_is_of_the_card():
    groups = {group.name: group for group in groups_of(suites())}
    assert groups["MC dropout"].variants[0] == "MC dropout"
    assert groups["Message passing"].family == "message passing"
    assert groups["Gaussian process"].family == "Gaussian processes"
    assert groups["Theirs"].family == "other"


def test_a_wrapped_method_and_a_mean_over_its_fits_have_its_class_and_an_ensemble_its_own():
    assert kind_of_method(DESCRIPTIONS["MCD"]) == "mc_dropout"
    assert kind_of_method(DESCRIPTIONS["MP informed x3"]) == "message_passing"
    tuned = {"type": "tuned", "method": DESCRIPTIONS["Ensemble"]}
    assert kind_of_method(tuned) == "ensemble"
    assert kind_of_method({"type": "tempered", "method": {"type": "sgd"}}) == "sgd"
    assert kind_of_method("nothing") == ""


def test_every_variant_is_linked_once_and_variants_of_one_method_are_folded_together():
    of = suites()
    pages = {label: f"page-{k}" for k, label in enumerate(DESCRIPTIONS)}
    text = methods_index("methods/index.html", pages, Site(of, [], {}, {}), COMMON)
    assert sorted(re.findall(r'href="(page-\d+)\.html"', text)) == sorted(pages.values())
    folded = re.findall(r"<details><summary>\s*<strong>([^<]+)</strong>", text)
    assert folded == ["MC dropout", "Gaussian process", "Message passing"]
    assert "6 methods in 11 variants" in text


def standing(kind, low, high, count=11, title="Digits"):
    """Return a standing on a question."""
    asked = Asked(Ask("any", "Images", title.lower(), title, ()), None, "320")
    return Standing(asked, Cell(kind, low, high), count)


def test_a_bar_reaches_over_the_open_places_of_its_question():
    shown = sparkline_of([standing("front", 1, 11), None, standing("back", 11, 11)])
    assert shown.paths == {"f": "M4 2V22", "k": "M20 20V22"}
    assert shown.description == "digits: 1–11 of 11; digits: 11 of 11"
    assert sparkline_of([None, None]) is None


def test_open_places_are_shares_of_the_others_the_first_place_right():
    figure = figure_of(
        [standing("middle", 2, 6), standing("best", 1, 1, title="Photographs")], "ensembles"
    )
    (first, second) = figure.rows
    assert (first.low, first.high) == (0.5, 0.9)
    assert (second.low, second.middle, second.high) == (1.0, 1.0, 1.0)
    assert (first.text, second.state) == ("2–6 of 11", "best")
    assert figure_of([None], "ensembles") is None


def test_what_a_method_is_good_at_is_where_it_is_in_front():
    at = [
        standing("front", 1, 4),
        standing("undecided", 1, 11, title="Photographs"),
        standing("back", 9, 11, title="Tables"),
    ]
    front, undecided = good_at(at)
    assert front.endswith("Digits, 320 (1–4 of 11).")
    assert undecided.endswith("Photographs, 320 (1–11 of 11).")
    advised = replace(standing("undecided", 1, 11), advised=True)
    (use,) = good_at([advised, at[2]])
    assert use == "The method to use, though not shown to be best: Digits, 320 (1–11 of 11)."
    assert good_at(at[2:]) == ["In front on no question of the overview."]
    assert good_at([None]) == []
