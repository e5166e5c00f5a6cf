"""The SVG of a figure, parsed for tests."""

from xml.etree import ElementTree
from xml.etree.ElementTree import Element


def root(svg: str) -> Element:
    """Return the root of a drawing; text that is not well-formed fails here."""
    return ElementTree.fromstring(str(svg).replace("<svg ", '<svg xmlns:xlink="x" ', 1))


def groups(svg: str, method: str, kind: str = "curve") -> list[Element]:
    """Return the groups of a kind that belong to a method."""
    return [
        group
        for group in root(svg).iter("g")
        if group.get("data-method") == method and kind in group.get("class", "").split()
    ]


def texts(svg: str, method: str) -> list[str]:
    """Return the direct labels of a method."""
    return [t.text or "" for g in groups(svg, method, "label") for t in g.iter("text")]
