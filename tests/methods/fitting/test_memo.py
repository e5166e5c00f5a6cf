"""The last result of a costly computation."""

import torch

from bnnbench.methods.fitting.memo import Memo, content


def test_an_equal_question_is_answered_once_and_another_anew():
    asked = []
    last: Memo[int] = Memo()
    answers = [last.get(of, lambda of=of: asked.append(of) or of * 10) for of in (1, 1, 2, 1)]
    assert answers == [10, 10, 20, 10]
    assert asked == [1, 2, 1]


def test_what_went_wrong_is_not_kept():
    last: Memo[int] = Memo()
    for _ in range(2):
        try:
            last.get(1, lambda: 1 // 0)
        except ZeroDivisionError:
            continue
    assert last.get(1, lambda: 7) == 7


def test_a_digest_tells_numbers_shapes_and_types_apart():
    zeros = torch.zeros(2, 3)
    assert content(zeros, zeros) == content(zeros.clone(), zeros)
    others = [torch.zeros(3, 2), torch.zeros(2, 3).double(), zeros + 1e-30, torch.zeros(6)]
    assert len({content(tensor) for tensor in (zeros, *others)}) == 1 + len(others)
    assert content(torch.ones(2, 3).T) == content(torch.ones(3, 2))


def test_as_many_results_are_kept_as_asked_for_and_the_oldest_goes_first():
    computed: list[int] = []
    memo: Memo[int] = Memo(keep=2)

    def square(number: int) -> int:
        return memo.get(number, lambda: computed.append(number) or number**2)

    assert [square(n) for n in (1, 2, 1, 2)] == [1, 4, 1, 4]
    assert computed == [1, 2]
    assert square(3) == 9
    assert square(2) == 4
    assert computed == [1, 2, 3]
    assert square(1) == 1
    assert computed == [1, 2, 3, 1]
