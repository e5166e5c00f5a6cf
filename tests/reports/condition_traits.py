"""Traits of artificial conditions, derived from their names."""

import re

from bnnbench.datasets.conditions import condition_names
from bnnbench.datasets.conditions.traits import Family, Traits
from bnnbench.datasets.names import title_of

PERTURBATIONS = {
    "noise": ("Gaussian noise", "standard deviation"),
    "sign_noise": ("Random signs", "size"),
    "fgsm": ("Gradient signs (FGSM)", "ε"),
    "pgd": ("Projected gradient steps (PGD)", "ε"),
}
"""Prefix of a name → title and the meaning of a size."""

NUMBER = r"(\d+(?:\.\d+)?(?:e[+-]\d+)?)"


def traits_of(name: str) -> Traits:
    """Return the traits implied by a name; an unknown name is its own title."""
    if name == condition_names.CLEAN:
        return Traits("test data", clean=True)
    if name == "inside":
        return Traits("test data inside the range of the training inputs")
    if match := re.fullmatch(r"acquired_(\d+)(?:_(.+))?", name):
        inner = traits_of(match[2] or condition_names.CLEAN)
        title = f"{inner.title} after {match[1]} acquisition{'s' * (match[1] != '1')}"
        return Traits(title, clean=inner.clean, acquisitions=int(match[1]))
    if match := re.fullmatch(r"samples_(\d+)", name):
        return Traits(f"{match[1]} draws", draws=int(match[1]))
    if match := re.fullmatch(r"layer_(\d+)_([A-Z]+)", name):
        return Traits(f"layer {match[1]}", layer=int(match[1]), layer_kind=match[2])
    return _of_other_data(name) or _sized(name) or Traits(name.replace("_", " "))


def _of_other_data(name: str) -> Traits | None:
    """Return the traits of a condition on another source."""
    if match := re.fullmatch(r"ood_(.+?)(_unnormalised)?", name):
        outside = title_of(match[1]) + (" without normalisation" if match[2] else "")
        whole = "svhn" if match[1] == "svhn_first1083" else match[1]
        variant_of = condition_names.out_of_distribution(whole)
        variant_of = "" if variant_of == name else variant_of
        return Traits(f"out of distribution: {outside}", outside=outside, variant_of=variant_of)
    if match := re.fullmatch(r"transfer_(.+?)(_with_monkeys)?", name):
        variant_of = condition_names.transfer(match[1]) if match[2] else ""
        return Traits(f"transfer to {title_of(name[9:])}", variant_of=variant_of)
    return None


def _sized(name: str) -> Traits | None:
    """Return the traits of a condition whose name ends in a size."""
    if not (match := re.fullmatch(rf"(.*[^\W_])_{NUMBER}", name)):
        return None
    start, size = match[1], float(match[2])
    family = Family(start.replace("_", " "), "size")
    if start == "rotated":
        family = Family("Rotation", "degrees")
    elif match := re.fullmatch(r"corrupted_(.+)", start):
        short = match[1].replace("_", " ")
        family = Family(f"Corruption: {short}", "severity", short)
    elif match := re.fullmatch(r"(sign_noise|noise|fgsm|pgd)(?:_(.+))?", start):
        title, size_name = PERTURBATIONS[match[1]]
        settings = (match[2] or "").replace("_", " ")
        family = Family(f"{title}: {settings}" if settings else title, size_name)
    return Traits(f"{family.title}, {family.size_name} {size:g}", family=family, size=size)
