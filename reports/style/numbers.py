"""Numbers formatted for readers."""

import math
from collections.abc import Sequence

MOST_DECIMALS = 6


def decimals(means: Sequence[float], errors: Sequence[float]) -> int:
    """Return the number of decimals of a column: two digits of its typical standard error.

    Without standard errors, four digits of its largest mean are shown.
    """
    spread = sorted(e for e in errors if math.isfinite(e) and e > 0)
    if spread:
        needed = math.ceil(-math.log10(spread[(len(spread) - 1) // 2])) + 1
    else:
        sizes = [abs(m) for m in means if math.isfinite(m) and m != 0]
        needed = 3 - math.floor(math.log10(max(sizes))) if sizes else 0
    return min(max(needed, 0), MOST_DECIMALS)


def cost_decimals(values: Sequence[float]) -> int:
    """Return the number of decimals that show two digits of the minimum cost, at most three."""
    sizes = [v for v in values if math.isfinite(v) and v > 0]
    return min(max(1 - math.floor(math.log10(min(sizes))), 0), 3) if sizes else 0


def number(value: float | None, places: int) -> str:
    """Return a value in plain text: `NaN`, `inf` and `-inf` by name, None as an empty text."""
    if value is None:
        return ""
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "inf" if value > 0 else "-inf"
    return f"{value:.2e}" if abs(value) >= 1e6 else f"{value:.{places}f}"


def significant(value: float, digits: int = 3) -> str:
    """Return a value with at least this many significant digits, and a true minus sign."""
    size = math.floor(math.log10(abs(value))) if value and math.isfinite(value) else 0
    return typographic(number(value, max(0, digits - 1 - size)))


def amount(value: float, unit: str) -> str:
    """Return a difference with its unit, in up to three digits: "0.5 points", "0.01 nats"."""
    return f"{value:.3g} {'points' if unit == '%' else unit}".strip()


def duration(seconds: float) -> str:
    """Return seconds in a suitable unit, with three digits."""
    for size, unit in ((86_400, "days"), (3600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.3g} s"


def span(seconds: float) -> str:
    """Return seconds in a suitable unit, including small ones: "12.3 µs"."""
    for size, unit in ((1.0, ""), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")):
        if seconds >= size or unit == "ns":
            return f"{seconds / size:.3g} {unit}" if unit else duration(seconds)
    raise AssertionError("some unit suits every time")


def typographic(text: str) -> str:
    """Return a number's text with a true minus sign and a true infinity sign."""
    return text.replace("-", "−").replace("inf", "∞")


def identifier(*names: object) -> str:
    """Return an identifier made of `names` that is safe in HTML, CSS and SVG."""
    text = "-".join(str(name) for name in names)
    return "".join(c if c.isascii() and c.isalnum() else "-" for c in text).strip("-").lower()


def slug(text: str) -> str:
    """Return lower-case letters and digits of a text, with a hyphen for every run of others."""
    return "-".join(
        "".join(c if c.isascii() and c.isalnum() else " " for c in text.lower()).split()
    )
