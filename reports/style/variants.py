"""Methods and their variants: what a label stands for, and which labels are one method."""

import re
from collections.abc import Iterator

from bnnbench.reports.style.words import joined, spelled

NAMES = {
    "MP": "Message passing",
    "MC Dropout": "MC dropout",
    "MCD": "MC dropout",
    "NL": "Neural linear",
    "LA": "Laplace",
    "KFAC": "Laplace",
    "GP": "Gaussian process",
    "Rank1": "Rank-1",
    "MAP label smoothing": "Label smoothing",
    "MAP belief matching": "Belief matching",
}
"""Label without its variant → the method's name."""

PREFIXES = {"Laplace ": "Laplace", "GP ": "Gaussian process"}
"""Start of a label → the method; the rest is the variant."""

VARIANTS = (
    (r"@mean$", "at its mean"),
    (r" \(tempered\)", "tempered"),
    (r" \(held-out noise\)", "noise from held-out rows"),
    (r" \(leave-one-out\)", "leave-one-out"),
    (r" \(published\)", "as published"),
    (r" \(LeCun\)", "initial weights of LeCun"),
    (r" \(SI\)", "as in subspace inference"),
    (r" \((last|second)\)", r"\1 layer"),
    (r" \(no box\)", "without a box"),
    (r" informed\b", "informed prior"),
    (r" cross-fitted\b", "cross-fitted prior"),
    (r" x(\d+)", r"mean of \1"),
    (r"(?<=Ensemble) (?:of )?label smoothing", "label smoothing"),
    (r"(?<=Ensemble) of (\d+)", r"\1 members"),
    (r" of (\d+) masks", r"\1 masks"),
    (r" heteroscedastic", "noise by input"),
    (r" homoscedastic", "constant noise"),
    (r"-A$", "chooses rows"),
    (r"-R$", "random rows"),
)
"""Pattern of a variant in a label → the variant in words."""

FUNCTION_SPACE = "Function-space VI"


def method_of(label: str) -> str:
    """Return the name of the method that a label is a variant of."""
    return _parted(label)[0]


def in_words(label: str) -> str:
    """Return a label in words: "Message passing, informed prior, mean of three, tempered"."""
    method, variants = _parted(label)
    return ", ".join([method, *variants])


def variant_in_words(label: str) -> str:
    """Return the variant in words, or the method's name for its main variant."""
    method, variants = _parted(label)
    return joined(variants, last="and") if variants else method


def _parted(label: str) -> tuple[str, list[str]]:
    """Return a label's method and its variants in words, in the order of the label."""
    rest, variants = label, []
    for pattern, variant in VARIANTS:
        if match := re.search(pattern, rest):
            variants.append((match.start(), _numbers_in_words(match.expand(variant))))
            rest = rest[: match.start()] + "\0" * len(match[0]) + rest[match.end() :]
    method, *more = _named(rest.replace("\0", ""))
    return method, [*more, *(variant for _, variant in sorted(variants))]


def _named(rest: str) -> Iterator[str]:
    """Yield the method's name, and what its base label says of the variant."""
    if rest.endswith(" fVI"):
        yield from (FUNCTION_SPACE, NAMES.get(rest[:-4], rest[:-4]))
        return
    prefix = next((start for start in PREFIXES if rest.startswith(start)), "")
    yield PREFIXES.get(prefix) or NAMES.get(rest, rest)
    if prefix:
        yield rest[len(prefix) :]
    elif rest == "KFAC":
        yield "KFAC of all layers"
    elif rest.startswith("MAP "):
        yield "MAP"


def _numbers_in_words(text: str) -> str:
    return re.sub(r"\d+", lambda match: spelled(int(match[0])), text)
