"""The digest of meaning: equal for equal meaning, different for any other."""

from functools import partial
from pathlib import Path

import pytest

from bnnbench.methods.source_code import Class
from bnnbench.methods.source_code.definitions import Sources
from bnnbench.methods.source_code.digest import digest_in
from bnnbench.methods.source_code.kernels import plain

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
"""Digest of the two files above, which detects a change of the writer."""


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


FILES = {"method": METHOD, "helper": HELPER}


def edited(name, *replaced):
    """Return the two files, with texts replaced in the one with this name."""
    text = FILES[name]
    for before, after in replaced:
        assert before in text
        text = text.replace(before, after)
    return FILES | {name: text}


method, helper = partial(edited, "method"), partial(edited, "helper")


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
        "from bnnbench.part import used\nused = [used][0]\n",
        "from bnnbench.part import used as it\nit = it\nused = it\n",
        "def outer():\n    class Inner:\n        from bnnbench.part import used\n\n"
        "    return Inner.used\n\n\nused = outer\n",
        "if not TYPE_CHECKING:\n    from bnnbench.part import used\n",
        "used = 'bnnbench.part:used'\n",
        "from bnnbench.part import used as it\n\n\ndef used(a=it):\n    it = 1\n    return a\n",
    ],
)
def test_a_definition_is_reached_however_it_is_named(tree, text):
    digests = {
        tree({"front": text, "part": f"def used():\n    return {value}\n"}, "front:used")
        for value in (1, 2)
    }
    assert len(digests) == 2


def with_card(card, *replaced):
    """Return the two files, and a card in the class, with further texts replaced."""
    field = "    rate: float"
    text = method((field, f"    card: ClassVar[Card] = {card}\n{field}"), *replaced)["method"]
    imported = "from bnnbench.methods.card import Card\n"
    return {"method": imported + text, "helper": HELPER, "methods/card": "class Card:\n    1\n"}


@pytest.mark.parametrize(
    "card", ["Card()", 'Card("sampling", problems=("a", "b"), gradients=False)']
)
def test_a_card_that_no_code_reads_leaves_the_digest(tree, card):
    assert tree(with_card(card)) == tree(method())


LINE = "        y = scaled"


@pytest.mark.parametrize(
    "replaced",
    [
        [(LINE, f"        self.card\n{LINE}")],
        [(LINE, f"        getattr(self, 'card')\n{LINE}")],
        [
            (
                LINE,
                f"        match self:\n            case Method(card=c):\n                1\n{LINE}",
            )
        ],
        [
            ("SLOPE = 3", "SLOPE = lambda method: method.card"),
            (LINE, f"        SLOPE(self)\n{LINE}"),
        ],
        [("    draws: int = 5", "    draws: int = card.draws")],
        [("card: ClassVar[Card]", "card: Card")],
        [("@dataclass(frozen=True)\n", "")],
        [("Card(", "Other("), ("SLOPE = 3", "SLOPE = 3\nOther = type\n")],
        [("Card(", "Card(SLOPE, ")],
    ],
    ids=[
        *("attribute", "by name", "pattern", "in another definition", "in the class's body"),
        *("field", "no dataclass", "another type", "no literal"),
    ],
)
def test_a_card_that_code_may_read_counts(tree, replaced):
    digests = {tree(with_card(card, *replaced)) for card in ("Card(1)", "Card(2)")}
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
