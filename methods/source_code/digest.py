"""The digest of meaning: equal for equal code wherever it is defined, different for other code.

The unit is the top-level definition. A definition's colour is initially empty, then the hash of its
canonical form with each reference replaced by the colour of its target, and so on until no more
definitions are distinguished (colour refinement); recursion needs no special case. The digest
hashes the colours of all definitions that the given classes reach.
"""

import dataclasses
import functools
import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from bnnbench.methods.source_code.canonical import READS_CARD, Part, canonical, canonical_effects
from bnnbench.methods.source_code.definitions import (
    EFFECTS,
    KERNELS,
    WHOLE,
    Definition,
    Form,
    Imported,
    Sources,
)
from bnnbench.methods.source_code.files import PROJECT, counted_file, file_of, is_ours, kernels_in
from bnnbench.methods.source_code.kernels import digests_of_kernels

SCHEME = "m1:"
"""The prefix of each digest; values without it were computed by an earlier scheme."""


class Class(NamedTuple):
    """A class or function, by module and name; the name "" means the whole module."""

    module: str
    name: str

    @classmethod
    def at(cls, path: str) -> "Class":
        """Return the class of a path such as "package.module:Class"."""
        module, _, name = path.partition(":")
        return cls(module, name)


CONTRACT = (
    Class(f"{PROJECT}.methods.base", "Problem"),
    Class(f"{PROJECT}.datasets.base", "Split"),
    Class(f"{PROJECT}.datasets.base", "Gaussian"),
    Class(f"{PROJECT}.datasets.base", "Categorical"),
)
"""Classes whose instances are passed to every method."""


def classes_of(method: object) -> tuple[Class, ...]:
    """Return a method's class and the classes in its settings, its own class first."""
    classes: list[Class] = []
    inner: Iterable[object] = ()
    if isinstance(method, Mapping):
        inner = method.values()
    elif isinstance(method, (tuple, list)):
        inner = method
    elif dataclasses.is_dataclass(method):
        classes = [Class(type(method).__module__, type(method).__qualname__)]
        inner = (getattr(method, field.name) for field in dataclasses.fields(method))
    return tuple(dict.fromkeys([*classes, *(name for part in inner for name in classes_of(part))]))


def method_digest(method: object) -> str:
    """Return the digest of meaning of a method, including its settings' and contract's classes."""
    return digest_of(*classes_of(method), *CONTRACT)


@functools.cache
def digest_of(*classes: Class) -> str:
    """Return the digest of meaning of some classes, computed at the first call in a process."""
    return digest_in(_sources_of(classes), classes)


def digest_beside(folder: Path, classes: Iterable[Class]) -> str:
    """Return the digest of a method whose third-party modules are the files of a folder.

    Nothing is imported, and no other third-party module counts.
    """

    def find(name: str) -> Path | None:
        if is_ours(name):
            return file_of(name)
        file = folder / f"{name}.py"
        return file if name.isidentifier() and file.is_file() else None

    return digest_in(Sources(find), dict.fromkeys([*classes, *CONTRACT]))


def is_other_code(recorded: str | None, today: str) -> bool:
    """Return whether a recorded digest certainly belongs to other code; None, or a digest of an
    earlier scheme, decides nothing."""
    return recorded is not None and recorded.startswith(SCHEME) and recorded != today


def digest_in(sources: Sources, classes: Iterable[Class]) -> str:
    """Return the digest of meaning of some classes in a tree of sources."""
    roots = _definitions_of(sources, classes)
    forms = _reached(sources, roots)
    colours = dict.fromkeys(forms, "")
    groups = -1
    while len(set(colours.values())) > groups:
        groups = len(set(colours.values()))
        colours = {
            definition: _colour(form.parts, colours, ordered=definition.name != WHOLE)
            for definition, form in forms.items()
        }
    whole = _hash(*sorted(set(colours.values())), *sorted(colours[root] for root in roots))
    return f"{SCHEME}{whole}"


def _colour(parts: Iterable[Part], colours: Mapping[Definition, str], ordered: bool) -> str:
    """Return the hash of a canonical form; unless `ordered`, its parts are sorted first."""
    texts = (colours[part] if isinstance(part, Definition) else part for part in parts)
    return _hash(*(texts if ordered else sorted(texts)))


def sources_of(*classes: Class) -> frozenset[Path]:
    """Return the files of all definitions that some classes reach, and the kernels they read."""
    sources = _sources_of(classes)
    reached = _reached(sources, _definitions_of(sources, classes))
    files = {d: source.file for d in reached if (source := sources.source(d.module))}
    kernels = (kernels_in(file.parent) for d, file in files.items() if d.name == KERNELS)
    return frozenset(files.values()).union(*kernels)


def _sources_of(classes: Iterable[Class]) -> Sources:
    return _sources(
        frozenset(c.module for c in classes if not is_ours(c.module)) or frozenset({PROJECT})
    )


@functools.cache
def _sources(first: frozenset[str]) -> Sources:
    """Return the sources of this project and of the modules with third-party classes."""

    def find(name: str) -> Path | None:
        return next((file for f in first if (file := counted_file(name, f))), None)

    return Sources(find)


def _definitions_of(sources: Sources, classes: Iterable[Class]) -> list[Definition]:
    """Return the definitions of classes; for one that is made at run time, its whole module."""
    roots = []
    for module, name in classes:
        target = sources.resolved(module, name.partition(".")[0])
        if isinstance(target, Definition):
            roots.append(target)
        elif sources.file(module):
            roots.append(Definition(module, WHOLE))
    return roots


def _reached(sources: Sources, roots: Iterable[Definition]) -> dict[Definition, Form]:
    """Return the canonical form of every definition that the roots reach, at any distance.

    Cards of methods are left out unless one of these definitions may read them.
    """
    forms = _reached_with(sources, roots, with_cards=False)
    if any(form.may_read_cards for form in forms.values()):
        return _reached_with(sources, roots, with_cards=True)
    return forms


def _reached_with(
    sources: Sources, roots: Iterable[Definition], with_cards: bool
) -> dict[Definition, Form]:
    forms: dict[Definition, Form] = {}
    waiting = list(roots)
    while waiting:
        definition = waiting.pop()
        if definition not in forms:
            place = definition, with_cards
            if place not in sources.forms:
                parts = _form(sources, *place)
                may_read_cards = not READS_CARD.isdisjoint(parts)
                if definition.name != WHOLE:
                    parts = _joined(parts)
                sources.forms[place] = Form(parts, may_read_cards)
            forms[definition] = sources.forms[place]
            waiting += (part for part in forms[definition].parts if isinstance(part, Definition))
            waiting += _effects(sources, definition.module)
    return forms


def _joined(parts: Iterable[Part]) -> tuple[Part, ...]:
    """Return parts with the same hash, in which no two texts follow each other."""
    joined: list[Part] = []
    texts: list[str] = []
    for part in parts:
        if isinstance(part, str):
            texts.append(part)
        else:
            joined += ["\0".join(texts), part] if texts else [part]
            texts = []
    return (*joined, "\0".join(texts)) if texts else tuple(joined)


def _form(sources: Sources, definition: Definition, with_cards: bool) -> tuple[Part, ...]:
    source = sources.source(definition.module)
    if source is None:
        return ("missing",)
    if definition.name == WHOLE:
        names = [name for name, bound in source.bound.items() if isinstance(bound, list)]
        return "whole", *(Definition(source.name, name) for name in names)
    if definition.name == EFFECTS:
        return canonical_effects(sources, source)
    if definition.name == KERNELS:
        return "kernels", *digests_of_kernels(source.file.parent)
    return canonical(sources, definition, with_cards)


def _effects(sources: Sources, module: str) -> tuple[Definition, ...]:
    """Return the effects of importing a module.

    A module of this project has only its own. A third-party module may set anything, such as
    torch's default type, in its enclosing packages and in modules that it imports and never uses.
    """
    source = sources.source(module)
    if source is None or is_ours(module):
        return (Definition(module, EFFECTS),) if source and source.effects else ()
    bound = (b for b in source.bound.values() if isinstance(b, Imported))
    names = [name for b in bound for name in (b.module, f"{b.module}.{b.name}")]
    around = [module.rsplit(".", n)[0] for n in range(1 + module.count("."))]
    third_party = (name for name in [*around, *names] if not is_ours(name) and sources.file(name))
    return tuple(Definition(name, EFFECTS) for name in third_party)


def _hash(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()
