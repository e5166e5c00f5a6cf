"""Every number in a generated sentence on papers is in a table of its page.

It may be the sum of columns: those compared are those that agree and those that differ.
"""

import html
import re

import pytest

from bnnbench.reports.pages.site.paper_pages import paper_page, papers_index
from bnnbench.reports.pages.site.printed_counts import count, coverage_sentence
from bnnbench.reports.papers.coverage import PrintedTable
from bnnbench.reports.papers.reproduction import CLOSE, FEWEST
from bnnbench.reports.papers.verdicts import FAR, LEVEL, NEAR
from docs.generate.finished_runs import printed_tables

pytestmark = pytest.mark.long

CLOSED = {("001", "1"), ("002", "sec 3")}
"""The printed tables that are integrals of known functions."""

COMMON = {"methodPages": [], "search": []}
NUMBER = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?(?![\w])")


def numbers(text: str) -> set[str]:
    """Return the numbers of a text, without markup and names such as "CIFAR-10"."""
    plain = re.sub(r"\w+-\d+", " ", html.unescape(re.sub(r"<[^>]*>", " ", text)))
    return set(NUMBER.findall(plain))


def parted(page: str) -> tuple[str, str]:
    """Return the generated sentences below the heading of a page, and all that it shows else."""
    body = page[page.index('<main id="main">') : page.index("</main>")]
    match = re.search(r"</h1>\s*<p>(.*?)</p>", body, re.DOTALL)
    assert match
    return match[1], body.replace(match[0], "")


@pytest.fixture(scope="module")
def papers() -> dict[str, list[PrintedTable]]:
    """Paper → its printed tables, with the verdicts of docs/bundle."""
    found: dict[str, list[PrintedTable]] = {}
    for table in printed_tables():
        found.setdefault(table.paper, []).append(table)
    return found


def test_numbers_of_the_sentences_on_papers_are_in_their_tables(papers):
    every = [table for tables in papers.values() for table in tables]
    pages = [(paper_page(p, f"papers/{p}.html", t, {}, COMMON), t) for p, t in papers.items()]
    for page, tables in [*pages, (papers_index("papers/index.html", papers, COMMON), every)]:
        sentence, rest = parted(page)
        agree, *differ = (
            count(tables, k) for k in ("agrees", "differs", "differs much", "departs")
        )
        in_closed_form = sum(len(t.numbers) for t in tables if (t.paper, t.number) in CLOSED)
        sums = {str(agree + sum(differ)), str(sum(differ[:2])), str(in_closed_form)}
        sums |= {f"{NEAR:.0f}", f"{FAR:.0f}", f"{100 * CLOSE:.0f}", f"{FEWEST}"}
        sums |= {f"{100 * LEVEL:.1f}", *by_the_protocol(tables)}
        said = numbers(sentence)
        assert said
        assert said <= numbers(rest) | sums, said - numbers(rest)


def by_the_protocol(tables):
    """Return the number of comparisons without a departure, and of agreements among them."""
    verdicts = [
        number.kind
        for table in tables
        for number in table.numbers
        if number.followed and number.kind in ("agrees", "differs", "differs much")
    ]
    return str(len(verdicts)), str(verdicts.count("agrees"))


def test_a_paper_of_which_everything_agrees_needs_no_count_of_what_differs(papers):
    numbers = [n for tables in papers.values() for t in tables for n in t.numbers]
    numbers = [n for n in numbers if not n.closed_form]
    by_kind = {kind: [n for n in numbers if n.kind == kind] for kind in ("agrees", "differs", None)}

    def said(*counts):
        pairs = zip(by_kind.values(), counts, strict=True)
        return coverage_sentence([PrintedTable("000", "1", [n for of, c in pairs for n in of[:c]])])

    assert said(3, 0, 0) == (
        "All 3 printed numbers that can be compared agree with ours within 2 standard errors, none "
        "of them closely (within 20 % or the printed rounding, from more than 3 repeats). If all "
        "were equal in truth, 0.1 would differ by chance, 4.6 % of those with a test."
    )
    assert said(1, 0, 1).startswith(
        "The only printed number that can be compared agrees with ours within 2 standard errors. "
    )
    assert said(1, 1, 0).startswith("1 of the 2 printed numbers that can be compared agrees with ")


def test_parts_of_a_text_have_their_names(papers):
    titles = {table.title for tables in papers.values() for table in tables}
    assert {"Table 1", "Section 5.1", "Appendix C", "Appendix D.1"} <= titles
