"""A report is divided: chapters move from its first page, and pages keep their limit."""

import pytest
from markupsafe import Markup

from bnnbench.reports.pages.report import blocks as chapters
from bnnbench.reports.pages.report.blocks import Block, Group, Heading, Piece
from bnnbench.reports.pages.report.portions import portions, shared_out

HEADING = Heading("results", "Results")


def block(chapter=chapters.TABLES, group="boston", sizes=(10,), frame=0):
    """Return a block of pieces of these sizes, between marks that take `frame` bytes."""
    pieces = tuple(Piece(Markup("x" * size), f"piece {k}") for k, size in enumerate(sizes))
    before, after = Markup("(" * (frame // 2)), Markup(")" * (frame - frame // 2))
    return Block(chapter, HEADING, Group(group), pieces, before, after)


def sizes(page):
    return [[piece.size for piece in block.pieces] for block in page.blocks]


def test_all_stays_where_there_is_room():
    blocks = [block(), block(chapters.FIGURES)]
    assert shared_out(blocks, 20) == (blocks, {})


def test_chapters_leave_in_their_order_and_only_as_many_as_needed():
    table, figure, details = block(), block(chapters.FIGURES), block(chapters.DETAILS)
    staying, further = shared_out([table, details, figure], 20)
    assert staying == [table, figure]
    assert list(further) == [chapters.DETAILS]
    staying, further = shared_out([table, details, figure], 19)
    assert staying == [table]
    assert list(further) == [chapters.DETAILS, chapters.FIGURES]


def test_of_overviews_the_first_stay_as_far_as_there_is_room():
    overviews = [block(chapters.OVERVIEW, name) for name in "abcd"]
    staying, further = shared_out([*overviews, block()], 25)
    assert staying == overviews[:2]
    (page,) = further[chapters.OVERVIEW]
    assert [b.group.name for b in page.blocks] == ["c", "d"]


def test_of_tables_of_one_data_set_the_first_stay_as_far_as_there_is_room():
    tables = block(sizes=(10, 10, 10), frame=4)
    staying, further = shared_out([tables, block(chapters.METRICS)], 24)
    assert [[p.name for p in b.pieces] for b in staying] == [["piece 0", "piece 1"]]
    (page,) = further[chapters.TABLES]
    assert [[p.name for p in b.pieces] for b in page.blocks] == [["piece 2"]]
    assert shared_out([tables], 13)[0] == []


def test_tables_of_several_data_sets_leave_together():
    overview = block(chapters.OVERVIEW)
    tables = [block(group=name) for name in ("boston", "yacht")]
    staying, further = shared_out([overview, *tables], 25)
    assert staying == [overview]
    assert [b.group.name for page in further[chapters.TABLES] for b in page.blocks] == [
        "boston",
        "yacht",
    ]


def test_a_group_is_kept_together_where_a_page_has_room_for_it():
    pages = portions([block(group="a", sizes=(60,)), block(group="b", sizes=(30, 30))], 100)
    assert [sizes(page) for page in pages] == [[[60]], [[30, 30]]]
    assert [page.label for page in pages] == ["a", "b"]


def test_a_group_larger_than_a_page_begins_where_there_is_room_and_is_divided():
    pages = portions([block(group="a", sizes=(40,)), block(group="b", sizes=(50,) * 4)], 100)
    assert [sizes(page) for page in pages] == [[[40], [50]], [[50, 50]], [[50]]]
    assert [page.label for page in pages] == [
        "a and b: piece 0",
        "b: piece 1 to piece 2",
        "b: piece 3",
    ]


@pytest.mark.parametrize("room", [1, 15, 40, 75, 110, 1_000])
def test_every_piece_is_on_one_page_in_its_order_and_pages_keep_their_limit(room):
    blocks = [
        block(group=name, sizes=tuple(7 + (11 * k) % 30 for k in range(count)), frame=6)
        for name, count in (("a", 1), ("b", 6), ("c", 2), ("d", 9), ("e", 1))
    ]
    pages = portions(blocks, room)
    shown = [piece for page in pages for b in page.blocks for piece in b.pieces]
    assert [p.markup for p in shown] == [p.markup for b in blocks for p in b.pieces]
    for page in pages:
        alone = sum(map(len, sizes(page))) == 1
        assert alone or sum(b.size for b in page.blocks) <= room
        assert all(str(b.markup).startswith("(((") for b in page.blocks)
    assert len({page.label for page in pages}) == len(pages)


def test_pages_whose_pieces_have_equal_names_are_numbered():
    pieces = tuple(Piece(Markup("x" * 60), "ECE") for _ in range(3))
    (whole,) = [Block(chapters.TABLES, HEADING, Group("boston"), pieces)]
    assert [page.label for page in portions([whole], 100)] == ["ECE", "ECE (2)", "ECE (3)"]


def test_a_page_may_have_a_block_without_pieces_of_a_group_that_has_several_pages():
    pages = portions([block(sizes=(), frame=90), block(sizes=(50, 50, 50))], 100)
    assert [sizes(page) for page in pages] == [[[]], [[50, 50]], [[50]]]
    assert [page.label for page in pages] == ["more", "piece 0 to piece 1", "piece 2"]


def test_a_block_without_pieces_is_not_lost():
    (page,) = portions([block(sizes=(), frame=4), block()], 100)
    assert [str(b.markup) for b in page.blocks] == ["(())", "x" * 10]
