"""Docstrings become markup: only formulas and code are interpreted."""

from bnnbench.methods import METHODS
from bnnbench.reports.pages.methods.about import about
from bnnbench.reports.style.formulas import inline, paragraph


def test_formulas_are_mathml_and_code_is_code():
    html = inline("with `draws` of $w^2$ in\n$$ \\sum_n w_n $$")
    assert "<code>draws</code>" in html
    assert html.count("<math") == 2
    assert 'display="block"' in html
    assert "<msup>" in html
    assert "$" not in html


def test_all_else_is_text():
    html = inline("a < b, `<script>` and <b>bold</b> in ```\n<i>\n```")
    assert html == (
        "a &lt; b, <code>&lt;script&gt;</code> and &lt;b&gt;bold&lt;/b&gt; in "
        "``<code>\n&lt;i&gt;\n</code>``"
    )
    assert inline("```\n<i>\n```") == "```\n&lt;i&gt;\n```"


def test_lines_that_begin_with_a_hyphen_are_a_list():
    assert paragraph("- one\n  more\n- two") == "<ul><li>one\n  more</li><li>two</li></ul>"
    assert paragraph("one") == "<p>one</p>"


def test_every_formula_of_every_method_is_read():
    formulas = 0
    for name in METHODS:
        for text in (*about({"type": name}).sentences, *about({"type": name}).details):
            html = paragraph(text)
            assert "$" not in html
            formulas += html.count("<math")
    assert formulas > 15
