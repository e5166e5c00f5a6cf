"""The source code behind a class: its module, and the modules of this project that it imports.

A number belongs to the code that computed it. The digest of that code is kept with it, so that an
edited file is noticed when the same command is repeated. A digest is computed at the first call in
a process.
"""

import ast
import dataclasses
import functools
import hashlib
import importlib.metadata
import importlib.util
import io
import re
import sys
import tokenize
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

PROJECT = "bnnbench"

KERNELS = (".c", ".h", ".cu", ".cuh")
"""File name endings of sources in other languages; they count with the modules beside them."""

TABLES = frozenset(
    {
        PROJECT,
        f"{PROJECT}.methods",
        f"{PROJECT}.methods.names",
        f"{PROJECT}.methods.predictions",
        f"{PROJECT}.datasets",
        f"{PROJECT}.datasets.names",
    }
)
"""Lists of names, which compute nothing; what they list counts where it is imported by itself."""

FSTRING_START, FSTRING_END = (getattr(tokenize, f"FSTRING_{end}", -1) for end in ("START", "END"))
"""Kinds of tokens since Python 3.12."""

_MODULE_IN_TEXT = re.compile(rf"{PROJECT}(\.\w+)+")


@functools.cache
def files_behind(module: str) -> Mapping[str, Path]:
    """Return module → file, of a module and of all that it imports, directly or indirectly.

    These are the modules of this project, those of the module's own package and, where it belongs
    to none, the files beside it. A module of this project whose name is in a string, as
    `importlib.import_module` takes it, counts too.
    """
    files: dict[str, Path] = {}
    waiting = [module]
    while waiting:
        name = waiting.pop()
        file = _file_of(name)
        if name in files or name in TABLES or file is None:
            continue
        if not (_is_ours(name) or _is_beside(file, name, module)):
            continue
        files[name] = file
        waiting += _imports(file, name)
    return files


def sources_behind(module: str) -> frozenset[Path]:
    """Return the files behind a module, and the kernels in other languages beside them."""
    files = frozenset(files_behind(module).values())
    return files.union(*(_kernels_in(folder) for folder in {file.parent for file in files}))


def own_sources(module: str) -> frozenset[Path]:
    """Return the files behind a module that are neither of this project nor installed."""
    modules = files_behind(module).items()
    foreign = ((n, f) for n, f in modules if n.partition(".")[0] != PROJECT)
    files = frozenset(f for _, f in foreign if "site-packages" not in f.parts)
    return files.union(*(_kernels_in(folder) for folder in {file.parent for file in files}))


def modules_of(method: object) -> tuple[str, ...]:
    """Return the modules of a method's class and of the classes in its settings, its own first."""
    modules: list[str] = []
    inner: Iterable[object] = ()
    if isinstance(method, Mapping):
        inner = method.values()
    elif isinstance(method, (tuple, list)):
        inner = method
    elif dataclasses.is_dataclass(method):
        modules = [type(method).__module__]
        inner = (getattr(method, field.name) for field in dataclasses.fields(method))
    return tuple(dict.fromkeys([*modules, *(name for part in inner for name in modules_of(part))]))


@functools.cache
def digest_of(*modules: str) -> str:
    """Return the SHA-256 of all sources behind some modules.

    Comments, docstrings and layout of Python sources do not count.
    """
    files = frozenset().union(*map(sources_behind, modules))
    total = hashlib.sha256()
    for name, digest in sorted((file.name, _digest(file)) for file in files):
        total.update(f"{name} {digest}\n".encode())
    return total.hexdigest()


def packages_behind(module: str) -> Mapping[str, str]:
    """Return distribution → version, of the packages that a module's own file imports."""
    file = _file_of(module)
    names = {name.partition(".")[0] for name in _imports(file, module)} if file else set()
    distributions = _distributions()
    return {
        distribution: importlib.metadata.version(distribution)
        for name in sorted(names - {PROJECT})
        for distribution in sorted(set(distributions.get(name, ())))
    }


def is_installed(module: str) -> bool:
    """Return whether a module belongs to an installed package, or to Python itself."""
    file = _file_of(module)
    return file is None or "site-packages" in file.parts


def _is_ours(name: str) -> bool:
    return name.startswith(PROJECT + ".")


def _is_beside(file: Path, name: str, module: str) -> bool:
    """Return whether a file belongs with a stranger's module, and not to an installed package."""
    package = module.partition(".")[0]
    if name.partition(".")[0] == package:
        return True
    first = _file_of(module)
    if first is None or first.name == "__init__.py" or "." in module:
        return False
    return file.parent == first.parent and "site-packages" not in file.parts


@functools.cache
def _file_of(name: str) -> Path | None:
    """Return the file of a module; None for one that is built in or missing."""
    loaded = sys.modules.get(name)
    origin = getattr(loaded, "__file__", None)
    if loaded is None:
        try:
            spec = importlib.util.find_spec(name)
        except (ImportError, ValueError):
            return None
        origin = spec.origin if spec else None
    return Path(origin).resolve() if origin and origin.endswith(".py") else None


@functools.cache
def _imports(file: Path, name: str) -> tuple[str, ...]:
    """Return the names that a module imports: of modules, or of parts of modules."""
    return tuple(dict.fromkeys(_imported(ast.parse(file.read_bytes()), file, name)))


def _imported(tree: ast.AST, file: Path, name: str) -> Iterator[str]:
    package = name if file.name == "__init__.py" else name.rpartition(".")[0]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1]
            parts = [*above, node.module] if node.level else [node.module]
            origin = ".".join(part for part in parts if part)
            yield origin
            yield from (f"{origin}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from _named_in(node.value.removesuffix("."))


def _named_in(text: str) -> Iterator[str]:
    """Return the module that a string names, and all modules of a package that it names."""
    if not _MODULE_IN_TEXT.fullmatch(text):
        return
    yield text
    file = _file_of(text)
    if file and file.name == "__init__.py" and text.count(".") > 1:
        yield from (f"{text}.{module_file.stem}" for module_file in file.parent.glob("[!_]*.py"))


@functools.cache
def _kernels_in(folder: Path) -> tuple[Path, ...]:
    return tuple(path for path in sorted(folder.iterdir()) if path.suffix in KERNELS)


@functools.cache
def _digest(file: Path) -> str:
    content = file.read_bytes()
    if file.suffix == ".py":
        content = "\n".join(_significant(content)).encode()
    return hashlib.sha256(content).hexdigest()


def _significant(source: bytes) -> Iterator[str]:
    """Return a Python source without comments, layout and docstrings, a statement at a time."""
    line: list[str] = []
    kinds: set[int] = set()
    for token in _whole_strings(tokenize.tokenize(io.BytesIO(source).readline), source):
        if token.type in (tokenize.INDENT, tokenize.DEDENT):
            yield tokenize.tok_name[token.type]
        elif token.type == tokenize.NEWLINE:
            if kinds != {tokenize.STRING}:
                yield "".join(line)
            line, kinds = [], set()
        elif token.type not in (tokenize.COMMENT, tokenize.NL, tokenize.ENCODING):
            line.append(f" {token.string}" if token.string.isidentifier() else token.string)
            kinds.add(token.type)


def _whole_strings(
    tokens: Iterable[tokenize.TokenInfo], source: bytes
) -> Iterator[tokenize.TokenInfo]:
    """Yield tokens with each f-string as one, as before Python 3.12, whatever the version."""
    lines = [line.decode() for line in io.BytesIO(source)]
    depth, start = 0, (1, 0)
    for token in tokens:
        if token.type == FSTRING_START:
            depth += 1
            if depth == 1:
                start = token.start
        if depth == 0:
            yield token
        if token.type == FSTRING_END:
            depth -= 1
            if depth == 0:
                text = _between(lines, start, token.end)
                yield tokenize.TokenInfo(tokenize.STRING, text, start, token.end, "")


def _between(lines: Sequence[str], start: tuple[int, int], end: tuple[int, int]) -> str:
    """Return the source from one place to another; rows count from 1."""
    (first, left), (last, right) = start, end
    if first == last:
        return lines[first - 1][left:right]
    return "".join([lines[first - 1][left:], *lines[first : last - 1], lines[last - 1][:right]])


@functools.cache
def _distributions() -> Mapping[str, list[str]]:
    return importlib.metadata.packages_distributions()
