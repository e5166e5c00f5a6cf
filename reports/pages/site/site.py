"""All pages of a site except the suites': the board, methods, data sets, and comparisons."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

from bnnbench.engine.store.repetitions import Rerun
from bnnbench.engine.store.store import Store
from bnnbench.reports.pages.drilldown.run_pages import Place, run_addresses, run_pages
from bnnbench.reports.pages.examples.pages import Setting, example_pages
from bnnbench.reports.pages.layout import page, slugs
from bnnbench.reports.pages.methods.failures import verdicts_of
from bnnbench.reports.pages.methods.method_pages import Site, by_family, method_page
from bnnbench.reports.pages.methods.methods_index import methods_index
from bnnbench.reports.pages.site.board_pages import addresses_of, board_pages
from bnnbench.reports.pages.site.compare_pages import compare_page
from bnnbench.reports.pages.site.data_index import data_index
from bnnbench.reports.pages.site.data_pages import data_page
from bnnbench.reports.pages.site.overview.overview import Overview, overview
from bnnbench.reports.pages.site.overview.page import overview_page
from bnnbench.reports.pages.site.overview.shortlists import shortlists
from bnnbench.reports.pages.site.paper_pages import paper_page, papers_index
from bnnbench.reports.pages.site.questions import QUESTIONS
from bnnbench.reports.pages.site.tasks import Task, task_of
from bnnbench.reports.papers.coverage import PrintedTable, coverage
from bnnbench.reports.read.benchmarks import Benchmark
from bnnbench.reports.read.code_states import CodeState, Digests, code_state
from bnnbench.reports.style import labels
from bnnbench.reports.style.families import family_of
from bnnbench.reports.style.numbers import duration

Suites = Mapping[str, Sequence[Benchmark]]
"""suite → its benchmarks"""

NO_STORES: Mapping[str, Store] = {}
NONE_REPEATED: Mapping[str, Rerun] = {}
NO_DIGESTS: Digests = {}


def pages_of(
    suites: Suites,
    front: Callable[[], object],
    stores: Mapping[str, Store] = NO_STORES,
    repeated: Mapping[str, Rerun] = NONE_REPEATED,
    code_digests: Digests = NO_DIGESTS,
) -> dict[str, str]:
    """Return address → page, from the runs of all suites and the content of the list of suites.

    `front` returns this content. It is called after all other pages are made, so that the reports
    that it summarises may be written meanwhile.

    Without runs that answer a question of the board, the site begins with the list. `stores` have
    the predictions of suites; benchmarks with predictions of two methods have pages of examples.
    `repeated` has re-run outcomes by key.
    """
    tasks = tasks_of(suites)
    runs = run_addresses(suites)
    of_methods = method_names(suites)
    by_set: dict[str, dict[str, list[Benchmark]]] = {}
    for suite, benchmarks in suites.items():
        for benchmark in benchmarks:
            by_set.setdefault(benchmark.dataset, {}).setdefault(suite, []).append(benchmark)
    of_sets = slugs(list(by_set))
    papers: dict[str, list[PrintedTable]] = {}
    printed = coverage(suites)
    for table in printed:
        papers.setdefault(table.paper, []).append(table)

    common = names_for_search(suites, papers)
    files: dict[str, str] = {}
    examples: dict[Place, str] = {}
    for suite, store in stores.items():
        for benchmark in suites[suite]:
            place = suite, benchmark.identity
            made = example_pages(Setting(suite, benchmark, runs[place], common), store)
            if made:
                files |= made
                examples[place] = next(iter(made))
    shown = {
        suite: [(b.title, first) for b in bs if (first := examples.get((suite, b.identity)))]
        for suite, bs in suites.items()
    }
    over = overview(tasks) if tasks else None
    if over:
        files["index.html"] = front_page(over, tasks, common("index.html"))
        files |= board_pages(tasks, runs, common)
        files["compare.html"] = compare_page(
            "compare.html", tasks, common("compare.html"), examples, suites
        )
    families = {
        m: family_of(runs[0].run.get("method"))
        for bs in suites.values()
        for b in bs
        for m, runs in b.runs.items()
    }
    verdicts = verdicts_of(suites)
    states: dict[str, CodeState] = {
        run.key: code_state(run, code_digests)
        for bs in suites.values()
        for b in bs
        for of_method in b.runs.values()
        for run in of_method
    }
    site = Site(suites, tasks, runs, verdicts, printed, examples, repeated, states, over)
    for listed in by_family(families, of_methods).values():
        for method, slug in listed:
            address = f"methods/{slug}.html"
            files[address] = method_page(method, address, site, common(address), listed)
    address = "methods/index.html"
    files[address] = methods_index(address, of_methods, site, common(address))
    for name, by_suite in by_set.items():
        address = f"data/{of_sets[name]}.html"
        files[address] = data_page(
            *(name, address, by_suite, of_methods), verdicts, runs, examples, common(address)
        )
    address = "data/index.html"
    files[address] = data_index(address, by_set, of_sets, common(address))
    for paper, tables in papers.items():
        address = f"papers/{paper}.html"
        files[address] = paper_page(paper, address, tables, runs, common(address))
    address = "papers/index.html"
    files[address] = papers_index(address, papers, common(address))
    for suite, benchmarks in suites.items():
        for benchmark in benchmarks:
            place = suite, benchmark.identity
            address = runs[place]
            files |= run_pages(
                *(suite, benchmark, address, common(address)), examples=examples.get(place, "")
            )
    listed_suites = front()
    for address in ("suites.html",) if tasks else ("suites.html", "index.html"):
        files[address] = suites_page(address, listed_suites, common(address), shown)
    return files


def method_names(suites: Suites) -> dict[str, str]:
    """Return method → the name of its page."""
    return slugs(list(dict.fromkeys(m for bs in suites.values() for b in bs for m in b.runs)))


def names_for_search(suites: Suites, papers: Iterable[str] = ()) -> Callable[[str], dict[str, Any]]:
    """Return the function from a page's address to the names and addresses that its search has."""
    methods = list(method_names(suites).items())
    titles: dict[str, str] = {}
    for benchmark in chain.from_iterable(suites.values()):
        titles.setdefault(benchmark.dataset, benchmark.title)
    sets = slugs(list(titles))

    def names(address: str) -> dict[str, Any]:
        root = "../" * address.count("/")
        return {
            "methodPages": methods,
            "search": [
                *(["data set", titles[n], f"{root}data/{s}.html"] for n, s in sets.items()),
                *(["suite", labels.suite(s), f"{root}{s}/report.html"] for s in suites),
                *(["paper", labels.paper(p), f"{root}papers/{p}.html"] for p in papers),
            ],
        }

    return names


def tasks_of(suites: Suites) -> list[Task]:
    """Return the tasks that the runs can answer, in the order of the questions."""
    return [task for question in QUESTIONS if (task := task_of(question, suites))]


def front_page(of: Overview, tasks: Sequence[Task], common: dict[str, Any]) -> str:
    """Return the overview of the board's questions."""
    return overview_page(of, addresses_of(tasks), common, shortlists(of))


def suites_page(
    address: str,
    front: object,
    common: dict[str, Any],
    examples: Mapping[str, Sequence[tuple[str, str]]],
) -> str:
    """Return the list of suites; `examples` has titles and addresses of pages of examples."""
    title = "Suites · bnnbench"
    return page(
        *("suites.html", address, title, "Suites", common),
        front=front,
        examples=examples,
        labels=labels,
        duration=duration,
    )
