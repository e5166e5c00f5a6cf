"""Lists and counts in running text."""

from collections.abc import Sequence

_NUMBERS = (
    *("no", "one", "two", "three", "four", "five", "six"),
    *("seven", "eight", "nine", "ten", "eleven", "twelve"),
)


def joined(names: Sequence[str], most: int | None = None, last: str = "and") -> str:
    """Return "A", "A and B", "A, B and C"; beyond `most`, "A, B and 3 others"."""
    if most is not None and len(names) > most + 1:
        return some_of(names[:most], len(names))
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} {last} {names[-1]}"


def some_of(named: Sequence[str], count: int, noun: str = "") -> str:
    """Return these names, and the number of the others out of `count`."""
    others = count - len(named)
    if others <= 0:
        return joined(named)
    more = f"{others} other{'s' * (others > 1 and not noun)}"
    return f"{', '.join(named)} and {more}{f' {plural(noun, others)}' if noun else ''}"


def plural(noun: str, count: int) -> str:
    """Return the noun in the form that follows a count."""
    return noun if count == 1 else f"{noun}s"


def spelled(count: int) -> str:
    """Return a count as a word up to twelve: "three", "13"."""
    return _NUMBERS[count] if count < len(_NUMBERS) else str(count)


def counted_in_words(count: int, noun: str) -> str:
    """Return "one run", "twelve runs", "13 runs"."""
    return f"{spelled(count)} {plural(noun, count)}"


def share_of(part: int, whole: int, noun: str) -> str:
    """Return "one of two runs", or "the only run"."""
    if whole == 1:
        return f"the only {noun}"
    return f"{spelled(part)} of {counted_in_words(whole, noun)}"


def counted(count: int, noun: str) -> str:
    """Return "1 run", "12 runs", "no runs"."""
    return f"{count or 'no'} {plural(noun, count)}"


def all_of(count: int, noun: str) -> str:
    """Return "The only run", "Both runs", "All 5 runs"."""
    if count == 1:
        return f"The only {noun}"
    return f"{'Both' if count == 2 else f'All {count}'} {plural(noun, count)}"


def quoted(name: str) -> str:
    """Return a name for use in a list: in quotation marks if it contains a comma."""
    return f"“{name}”" if "," in name else name
