"""The digest of meaning: the same for the same meaning, different for any other."""

import ast
import random
import sys
from pathlib import Path

import pytest

from bnnbench.methods import METHODS
from bnnbench.methods.adamw import AdamW
from bnnbench.methods.ensemble import Ensemble
from bnnbench.methods.laplace.method import Laplace
from bnnbench.methods.sgd import Sgd
from bnnbench.methods.source_code import Class, classes_of, digest_of, is_other_code, method_digest
from bnnbench.methods.source_code.definitions import Sources
from bnnbench.methods.source_code.digest import digest_in
from bnnbench.methods.source_code.kernels import plain
from bnnbench.methods.tuning.method import Tuned

METHOD = """
from dataclasses import dataclass
import numpy as np
from bnnbench.helper import scaled

SLOPE = 3
TABLE = {"a": "bnnbench.method:Method", "b": "bnnbench.helper:scaled"}


@dataclass(frozen=True)
class Method:
    rate: float = 0.1
    draws: int = 5

    def fit(self, x):
        if x is None:
            raise ValueError(f"needed x; got {x}")
        y = scaled(x, slope=SLOPE)
        return f"{y:.3f} {x!r}", np.log(y) + 1 if y > 0 else -y
"""
HELPER = """
def doubled(x):
    return x * 2


def scaled(x, slope=1):
    return doubled(x) + slope


def unused():
    return 1
"""
LITERAL = "m1:45424d901a1fb0cf19c9583f96654d46384b6aded95486d971ab0bca96e1804a"
"""Digest of the two files above, so that a change of the writer is noticed as such."""


@pytest.fixture
def tree(tmp_path):
    """Write files by module name and return the digest of a class in them."""
    written: set[Path] = set()

    (tmp_path / "__init__.py").touch()

    def place(module):
        if module == "bnnbench":
            return tmp_path / "__init__.py"
        return (tmp_path / module.removeprefix("bnnbench.").replace(".", "/")).with_suffix(".py")

    def find(module):
        if module.partition(".")[0] != "bnnbench":
            return None
        return file if (file := place(module)).is_file() else None

    def digest(files, root="method:Method"):
        for old in written:
            old.unlink(missing_ok=True)
        written.clear()
        for name, text in files.items():
            file = tmp_path / name if "." in name else place(name.replace("/", "."))
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
            written.add(file)
        module, _, name = root.partition(":")
        return digest_in(Sources(find), [Class(f"bnnbench.{module}", name)])

    return digest


def method(*replaced):
    text = METHOD
    for before, after in replaced:
        assert before in text
        text = text.replace(before, after)
    return {"method": text, "helper": HELPER}


def helper(*replaced):
    text = HELPER
    for before, after in replaced:
        assert before in text
        text = text.replace(before, after)
    return {"method": METHOD, "helper": text}


UNCHANGED = {
    "as it is": (method(), "method:Method"),
    "function renamed": (
        {
            "method": METHOD.replace("scaled", "stretched"),
            "helper": HELPER.replace("scaled", "stretched"),
        },
        "method:Method",
    ),
    "class renamed": (method(("class Method", "class Other")), "method:Other"),
    "constant renamed": (method(("SLOPE", "STEEPNESS")), "method:Method"),
    "modules moved": (
        {"deep/one": METHOD.replace("bnnbench.helper", "bnnbench.deep.two"), "deep/two": HELPER},
        "deep.one:Method",
    ),
    "relative import": (
        {
            "deep/one": METHOD.replace("from bnnbench.helper", "from .two"),
            "deep/two": HELPER,
        },
        "deep.one:Method",
    ),
    "helper split off": (
        {
            "method": METHOD,
            "helper": "from bnnbench.third import doubled\n" + HELPER.partition("\n\n\n")[2],
            "third": HELPER.partition("\n\n\n")[0],
        },
        "method:Method",
    ),
    "files merged": (
        {"method": METHOD.replace("from bnnbench.helper import scaled", "") + HELPER},
        "method:Method",
    ),
    "re-exported": (
        {
            "method": METHOD.replace("bnnbench.helper", "bnnbench.front"),
            "front": "from bnnbench.helper import scaled",
            "helper": HELPER,
        },
        "method:Method",
    ),
    "module imported for its name": (
        method(
            ("from bnnbench.helper import scaled", "from bnnbench import helper"),
            ("= scaled", "= helper.scaled"),
        ),
        "method:Method",
    ),
    "imported where it is used": (
        method(
            ("from bnnbench.helper import scaled\n", ""),
            ("        y =", "        from bnnbench.helper import scaled\n        y ="),
        ),
        "method:Method",
    ),
    "numpy by its whole name": (
        method(("numpy as np", "numpy"), ("np.log", "numpy.log")),
        "method:Method",
    ),
    "log by name": (
        method(("import numpy as np", "from numpy import log"), ("np.log", "log")),
        "method:Method",
    ),
    "annotations, docstrings and comments": (
        method(
            ("self, x)", 'self, x: "int") -> tuple'),
            ("float", "int"),
            ("        y =", '        """Doc."""\n        pass\n        # why\n        y ='),
        ),
        "method:Method",
    ),
    "imports for annotations": (
        method(
            ("SLOPE = 3", "if TYPE_CHECKING:\n    from bnnbench.helper import unused\nSLOPE = 3")
        ),
        "method:Method",
    ),
    "layout and quotes": (
        method(("(x, slope=SLOPE)", "(\n            x,\n            slope=SLOPE,\n        )")),
        "method:Method",
    ),
    "what a script alone runs": (
        method(("SLOPE = 3", "SLOPE = 3\n__all__ = ['Method']\nif __name__ == '__main__':\n    1")),
        "method:Method",
    ),
    "message reworded": (
        method(('f"needed x; got {x}"', '"x is " + f"needed: {x!r}, {SLOPE}"'[9:])),
        "method:Method",
    ),
    "function that nobody calls": (helper(("return 1", "return 2")), "method:Method"),
}


@pytest.mark.parametrize("name", UNCHANGED)
def test_a_change_without_meaning_leaves_the_digest(tree, name):
    files, root = UNCHANGED[name]
    assert tree(files, root) == tree(method())


def test_the_canonical_form_itself_has_not_changed(tree):
    """If this fails on purpose, give the scheme another prefix: all older digests are unknown."""
    assert tree(method()) == LITERAL


def test_two_equal_helpers_are_as_good_as_one(tree):
    uses_both = METHOD.replace("+ 1", "+ second(y)").replace("scaled\n", "scaled, second\n", 1)
    again = "\n\ndef second(x, slope=1):\n    return doubled(x) + slope\n"
    twice = {"method": uses_both, "helper": HELPER + again}
    once = {"method": uses_both, "helper": HELPER + "\nsecond = scaled\n"}
    merged = {
        "method": uses_both.replace("scaled, second", "scaled").replace("second(y)", "scaled(y)"),
        "helper": HELPER,
    }
    assert tree(twice) == tree(merged) != tree(once)


DIFFERENT = {
    "default": method(("0.1", "0.2")),
    "order of fields": method(
        (
            "    rate: float = 0.1\n    draws: int = 5\n",
            "    draws: int = 5\n    rate: float = 0.1\n",
        )
    ),
    "field of the class alone": method(("draws: int", "draws: ClassVar[int]")),
    "field renamed": method(("draws", "samples")),
    "operator": helper(("+ slope", "- slope")),
    "constant far away": helper(("* 2", "* 3")),
    "kind of number": method(("SLOPE = 3", "SLOPE = 3.0")),
    "called function": method(("np.log", "np.log1p")),
    "format": method((".3f", ".4f")),
    "conversion": method(("!r", "!s")),
    "decorator": method(("frozen=True", "frozen=True, order=True")),
    "default of a helper": helper(("slope=1", "slope=2")),
    "helper exchanged for another": helper(("return doubled(x)", "return unused()")),
    "kind of error": method(("ValueError", "TypeError")),
    "effect of an import": helper(("def unused", "torch.set_num_threads(1)\n\n\ndef unused")),
    "local hides a helper": method(("y = scaled", "scaled = abs\n        y = scaled")),
    "comparison": method(("y > 0", "y >= 0")),
    "text that is no message": method(('f"{y:.3f} ', 'f"{y:.3f}, ')),
    "redefinition": method(("@dataclass", "SLOPE = 4\n\n\n@dataclass")),
    "removed statement": helper(("return doubled(x) + slope", "doubled(x) + slope")),
}


@pytest.mark.parametrize("name", DIFFERENT)
def test_any_other_change_changes_the_digest(tree, name):
    assert tree(DIFFERENT[name]) != tree(method())


@pytest.mark.parametrize(
    "text",
    [
        "try:\n    from bnnbench.part import used\nexcept ImportError:\n    used = None\n",
        "from bnnbench.part import used\n\n\ndef other():\n    used = 1\n",
        "from bnnbench import part\nused = getattr(part, 'used')\n",
        "import importlib\nused = importlib.import_module('bnnbench.part').used\n",
        "KIND = {'x': 'bnnbench.part:used', 'y': 1, 'z': 2}\n\n\ndef used():\n    return KIND\n",
        "import bnnbench.part\n\n\ndef used():\n    return bnnbench.part.used()\n",
        "from bnnbench.part import used as imported\nused = [imported for _ in range(3)][0]\n",
        "from bnnbench.part import used as x\nused = [x for x in x()]\n",
        "class Inner:\n    from bnnbench.part import used\n\n\nused = Inner.used\n",
        "def outer():\n    global used\n    used = 1\n\n\nfrom bnnbench.part import used\n",
        "from bnnbench.part import used as it\n\n\nclass C:\n    it = it\n\n\nused = C\n",
        "from bnnbench.part import used as it\n\n\n"
        "def used():\n    f = lambda it: it\n    return it\n",
        "from bnnbench.part import used as it\n\n\ndef used(a=it):\n    it = 1\n    return a\n",
    ],
)
def test_a_definition_is_reached_however_it_is_named(tree, text):
    digests = {
        tree({"front": text, "part": f"def used():\n    return {value}\n"}, "front:used")
        for value in (1, 2)
    }
    assert len(digests) == 2


def test_recursion_and_mutual_recursion_end(tree):
    text = "def a(n):\n    return b(n - 1) if n else {}\n\n\ndef b(n):\n    return a(n)\n"
    one, other = (tree({"m": text.format(value)}, "m:a") for value in (0, 1))
    swapped = text.replace("def a", "def c").replace("def b", "def a").replace("def c", "def b")
    swapped = swapped.replace("return b(", "return _(").replace("return a(", "return b(")
    assert one != other
    assert tree({"m": swapped.replace("return _(", "return a(").format(0)}, "m:b") == one


def test_kernels_beside_a_definition_that_reads_its_own_place_count(tree):
    text = "from pathlib import Path\nFOLDER = Path(__file__).parent\n"

    def digest(kernel, name="units.cuh", text=text):
        return tree({"deep/place": text, f"deep/{name}": kernel}, "deep.place:FOLDER")

    kernel = '#include "real.cuh"\n#define N 3\nfloat f(float x) { return x * N; } // fast\n'
    same = "#define N 3\n/* why */ float  f(float x)\n{\n  return x*N;\n}\n"
    assert digest(kernel) == digest(same, "other.cuh")
    assert digest(kernel) != digest(kernel.replace("N 3", "N 4"))
    without = "FOLDER = 1\n"
    assert digest(kernel, text=without) == digest("int g;", text=without)


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        ("a = b;", "a=b ;", True),
        ("int a", "inta", False),
        ('char *s = "a  b";', 'char *s = "a b";', False),
        ("#if A\nx\n#endif", "#if A x\n#endif", False),
        ('s = "//";', 's = "";', False),
        ('#define S "a"\nint x;', '#define S "a" int x;', False),
        ('return "a" ;', 'return"a";', True),
        ("a \\\n b", "a b", True),
    ],
)
def test_layout_of_a_kernel_is_dropped_and_texts_and_directives_stay(one, other, equal):
    assert (plain(one) == plain(other)) == equal


def test_methods_have_different_digests_and_equal_ones_at_every_call():
    digests = {}
    for name, path in METHODS.items():
        module, _, kind = path.partition(":")
        digests[name] = digest_of(Class(module, kind))
    assert len(set(digests.values())) == len(digests)
    assert all(digest.startswith("m1:") and len(digest) == 67 for digest in digests.values())


def test_the_classes_of_a_method_are_its_own_and_those_in_its_settings():
    method = Tuned(Ensemble(2, Laplace(Sgd())), trials=2)
    assert [each.name for each in classes_of(method)][:4] == ["Tuned", "Ensemble", "Laplace", "Sgd"]
    assert classes_of(AdamW()) == (Class("bnnbench.methods.adamw", "AdamW"),)
    digests = {method_digest(m) for m in (method, method.method, Laplace(Sgd()), Sgd())}
    assert len(digests) == 4
    assert method_digest(AdamW(epochs=1)) == method_digest(AdamW(epochs=2))


def test_digests_of_an_earlier_scheme_tell_nothing():
    assert is_other_code("m1:ab", "m1:cd")
    assert not any(is_other_code(value, "m1:cd") for value in ("m1:cd", "ab", None))


def test_every_name_that_the_project_imports_from_itself_is_found(project):
    """Otherwise a digest would pass over it."""
    from bnnbench.methods.source_code.digest import _sources

    sources = _sources(frozenset({"bnnbench"}))
    unresolved = []
    for room in ("methods", "datasets", "metrics"):
        for file in sorted((project / room).rglob("*.py")):
            parts = file.relative_to(project).with_suffix("").parts
            name = ".".join(["bnnbench", *parts]).removesuffix(".__init__")
            source = sources.source(name)
            assert source, name
            unresolved += [
                f"{name}: {bound}"
                for bound in source.bound.values()
                if not isinstance(bound, list) and sources.followed(bound) is None
            ]
    assert not unresolved


def test_no_module_of_the_project_is_named_by_a_formatted_string(project):
    """An import of a name that is put together at run time would be hidden from digests."""
    for room in ("methods", "datasets"):
        for file in (project / room).rglob("*.py"):
            for node in ast.walk(ast.parse(file.read_bytes())):
                if isinstance(node, ast.JoinedStr) and isinstance(node.values[0], ast.Constant):
                    text = str(node.values[0].value)
                    assert not text.startswith("bnnbench.") or file.name == "names.py", file


MUTATED = ["pbp.method:Pbp", "adamw:AdamW"]


@pytest.mark.parametrize("path", MUTATED)
def test_random_mutations_of_the_code_that_a_method_reaches_are_noticed(path, project):
    """A constant, operator, comparison or call in any definition that the method reaches."""
    from bnnbench.methods.source_code import digest as digests
    from bnnbench.methods.source_code.files import file_of

    root = Class(*f"bnnbench.methods.{path}".split(":"))
    sources = Sources(lambda name: file_of(name) if name.startswith("bnnbench") else None)
    before = digest_in(sources, [root])
    module, _, name = f"bnnbench.methods.{path}".partition(":")
    reached = digests._reached(sources, [digests.Definition(module, name)])
    rng = random.Random(0)
    places = sorted(d for d in reached if d.name not in ("*", "!", "#"))
    noticed = tried = 0
    while tried < 12:
        definition = rng.choice(places)
        source = sources.source(definition.module)
        statements = source.bound[definition.name]
        nodes = [node for statement in statements for node in _mutable(statement)]
        if digests._parts(sources, definition) == ("registry",) or not nodes:
            continue
        undo = _mutate(rng.choice(nodes))
        digests._parts.cache_clear()
        noticed += digest_in(sources, [root]) != before
        undo()
        tried += 1
    digests._parts.cache_clear()
    assert digest_in(sources, [root]) == before
    assert noticed == tried


def _mutable(node):
    """Yield the nodes below one that may be changed; not those of messages and annotations."""
    if isinstance(node, ast.Raise | ast.JoinedStr):
        return
    if isinstance(node, ast.BinOp | ast.Compare) or (
        isinstance(node, ast.Constant) and type(node.value) in (int, float)
    ):
        yield node
    for name, value in ast.iter_fields(node):
        if name not in ("annotation", "returns"):
            for inner in value if isinstance(value, list) else [value]:
                if isinstance(inner, ast.AST):
                    yield from _mutable(inner)


def _mutate(node):
    """Change a node and return the function that changes it back."""
    name = {ast.Constant: "value", ast.BinOp: "op", ast.Compare: "ops"}[type(node)]
    before = getattr(node, name)
    if isinstance(node, ast.Constant):
        after = before + 1
    elif isinstance(node, ast.BinOp):
        after = ast.Sub() if isinstance(before, ast.Add) else ast.Add()
    else:
        after = [ast.Gt() if isinstance(before[0], ast.Lt) else ast.Lt(), *before[1:]]
    setattr(node, name, after)
    return lambda: setattr(node, name, before)


@pytest.fixture
def third_party(tmp_path, monkeypatch):
    from tests.methods.source_code.fresh import forget

    monkeypatch.syspath_prepend(tmp_path)
    forget()
    yield tmp_path
    for name in [n for n in sys.modules if n.partition(".")[0] in ("theirs", "theirs_beside")]:
        del sys.modules[name]
    forget()


@pytest.mark.parametrize("changed", ["theirs/__init__.py", "theirs/settings.py", "theirs/part.py"])
def test_what_a_third_party_package_sets_on_import_counts(third_party, changed):
    from tests.methods.source_code.fresh import forget

    (third_party / "theirs").mkdir()
    (third_party / "theirs" / "__init__.py").write_text("import os\n")
    (third_party / "theirs" / "settings.py").write_text("import torch\n")
    (third_party / "theirs" / "part.py").write_text("VALUE = 1\n")
    (third_party / "theirs" / "method.py").write_text(
        "from theirs import settings\nfrom .part import VALUE\n\n\nclass M:\n    value = VALUE\n"
    )
    before = digest_of(Class("theirs.method", "M"))
    file = third_party / changed
    file.write_text(
        "VALUE = 2\n" if "part" in changed else "torch.set_default_dtype(torch.float64)\n"
    )
    forget()
    assert digest_of(Class("theirs.method", "M")) != before


def test_a_file_beside_a_third_party_method_counts(third_party):
    from tests.methods.source_code.fresh import forget

    (third_party / "theirs_beside.py").write_text("SHIFT = 1\n")
    (third_party / "theirs.py").write_text(
        "from theirs_beside import SHIFT\n\n\nclass M:\n    x = SHIFT\n"
    )
    before = digest_of(Class("theirs", "M"))
    (third_party / "theirs_beside.py").write_text("SHIFT = 2\n")
    forget()
    assert digest_of(Class("theirs", "M")) != before
