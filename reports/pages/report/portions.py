"""Division of a report into a first page and further ones of limited size."""

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from bnnbench.reports.pages.report.blocks import CHAPTERS, OVERVIEW, TABLES, Block, Chapter, Piece
from bnnbench.reports.style.words import joined


class Portion(NamedTuple):
    """The blocks of a further page; its label distinguishes it from others of its chapter."""

    label: str
    blocks: tuple[Block, ...]


def shared_out(
    blocks: Sequence[Block], room: int
) -> tuple[list[Block], dict[Chapter, list[Portion]]]:
    """Return the blocks of the first page, and the portions of chapters that do not fit on it.

    Chapters leave in their order until the rest fits into `room` bytes. The beginning of overviews,
    and of tables if all belong to one data set, stays as far as there is room.
    """
    staying = list(blocks)
    further: dict[Chapter, list[Portion]] = {}
    for chapter in CHAPTERS:
        excess = sum(block.size for block in staying) - room
        if excess <= 0:
            break
        leaving = members = [block for block in staying if block.chapter is chapter]
        shortened: dict[Block, Block] = {}
        if chapter is OVERVIEW or (chapter is TABLES and len({b.group for b in members}) == 1):
            first, leaving = _parted(members, sum(block.size for block in members) - excess)
            shortened = dict(zip(members, first, strict=False))
        if leaving:
            further[chapter] = portions(leaving, room)
        staying = [
            shortened.get(b, b) for b in staying if b.chapter is not chapter or b in shortened
        ]
    return staying, further


def _parted(blocks: Sequence[Block], room: int) -> tuple[list[Block], list[Block]]:
    """Return the first blocks that fit, the last one possibly in part; and the rest."""
    for k, block in enumerate(blocks):
        if block.size > room:
            few, starts_page = next(_divided(block, room, room))
            fits = not starts_page and bool(few)
            head = [block.only(few)] if fits else []
            rest = block.only(block.pieces[len(few) :]) if fits else block
            return [*blocks[:k], *head], [rest, *blocks[k + 1 :]]
        room -= block.size
    return list(blocks), []


def portions(blocks: Sequence[Block], room: int) -> list[Portion]:
    """Return the blocks in portions of at most `room` bytes.

    A group stays together if a page has room for it, else each block if possible; a piece always
    does.
    """
    pages: list[list[Block]] = [[]]
    left = room
    for _, members in itertools.groupby(blocks, key=lambda block: block.group.name):
        group = list(members)
        if pages[-1] and left < sum(block.size for block in group) <= room:
            pages.append([])
            left = room
        for block in group:
            for pieces, starts_page in _divided(block, left, room):
                if starts_page and pages[-1]:
                    pages.append([])
                    left = room
                part = block.only(pieces)
                pages[-1].append(part)
                left -= part.size
    return [Portion(label, tuple(page)) for label, page in zip(_labels(pages), pages, strict=True)]


def _divided(block: Block, left: int, room: int) -> Iterator[tuple[Sequence[Piece], bool]]:
    """Yield pieces that fit, and whether they begin a page."""
    frame = len((block.before + block.after).encode())
    starts_page = left < frame + (block.pieces[0].size if block.pieces else 0)
    left = (room if starts_page else left) - frame
    few: list[Piece] = []
    for piece in block.pieces:
        if few and piece.size > left:
            yield few, starts_page
            few, starts_page, left = [], True, room - frame
        few.append(piece)
        left -= piece.size
    yield few, starts_page


def _labels(pages: Sequence[Sequence[Block]]) -> Iterator[str]:
    """Yield each page's label in its chapter: its groups, or the range of its pieces."""
    if len(pages) == 1:
        yield ""
        return
    names = [list(dict.fromkeys(b.group.name for b in page if b.group.name)) for page in pages]
    given: Counter[str] = Counter()
    counts = Counter(name for of_page in names for name in of_page)
    for page, of_page in zip(pages, names, strict=True):
        told = [_label(page, name, counts) for name in of_page]
        label = joined(list(filter(None, told))) or "more"
        given[label] += 1
        yield f"{label} ({given[label]})" if given[label] > 1 else label


def _label(page: Sequence[Block], group: str, pages_of: Mapping[str, int]) -> str:
    """Return the name of a group, with the page's first and last piece if it has several pages.

    The name is omitted if all pages belong to one group.
    """
    if pages_of[group] == 1:
        return group
    names = [piece.name for block in page if block.group.name == group for piece in block.pieces]
    pieces = " to ".join(dict.fromkeys((*names[:1], *names[-1:])))
    return ": ".join(filter(None, (group if len(pages_of) > 1 else "", pieces)))
