"""Fitted estimators of scikit-learn as files of skops, which holds no pickle.

Every class that a file may name stands in `ALLOWED`. A file with another one is refused before
skops sees it. Identities of objects in the file are numbered, so that equal estimators have equal
files.
"""

import io
import json
import zipfile
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.lib import format as npy

from bnnbench.datasets.reading.bounded import TooLarge, limit_of, require_size
from bnnbench.methods.saved.errors import NotLoaded, NotSaved
from bnnbench.methods.saved.trees import require_trees

GP, BOOSTING = "sklearn.gaussian_process", "sklearn.ensemble._hist_gradient_boosting"
CURE = "pip install skops"
SCHEMA = "schema.json"
LONGEST_SCHEMA = 2**28
TYPES: Mapping[str, tuple[str, ...]] = {
    "builtins": ("NoneType", "bool", "dict", "float", "int", "list", "str", "tuple"),
    "numpy": ("bool", "float32", "float64", "int32", "int64", "ndarray", "uint64", "uint8"),
    "numpy.random._generator": ("Generator",),
    "numpy.random.mtrand": ("RandomState",),
    "sklearn._loss._loss": (
        *("CyHalfBinomialLoss", "CyHalfMultinomialLoss", "CyHalfSquaredError", "CyPinballLoss"),
    ),
    "sklearn._loss.link": ("IdentityLink", "Interval", "LogitLink", "MultinomialLogit"),
    "sklearn._loss.loss": (
        *("HalfBinomialLoss", "HalfMultinomialLoss", "HalfSquaredError", "PinballLoss"),
    ),
    "sklearn.ensemble._forest": ("RandomForestClassifier", "RandomForestRegressor"),
    f"{BOOSTING}.binning": ("_BinMapper",),
    f"{BOOSTING}.gradient_boosting": (
        "HistGradientBoostingClassifier",
        "HistGradientBoostingRegressor",
    ),
    f"{BOOSTING}.predictor": ("TreePredictor",),
    f"{GP}._gpc": ("GaussianProcessClassifier", "_BinaryGaussianProcessClassifierLaplace"),
    f"{GP}._gpr": ("GaussianProcessRegressor",),
    f"{GP}.kernels": ("ConstantKernel", "Matern", "Product", "RBF", "Sum", "WhiteKernel"),
    "sklearn.linear_model._bayes": ("BayesianRidge",),
    "sklearn.linear_model._logistic": ("LogisticRegression",),
    "sklearn.multiclass": ("OneVsRestClassifier", "_ConstantPredictor"),
    "sklearn.preprocessing._label": ("LabelBinarizer", "LabelEncoder"),
    "sklearn.tree._classes": ("DecisionTreeClassifier", "DecisionTreeRegressor"),
    "sklearn.tree._tree": ("Tree",),
    "bnnbench.methods.gp.exact": ("_Regressor",),
    "bnnbench.methods.libraries.sklearn_gp": ("_counted",),
}
ALLOWED = frozenset(f"{module}.{kind}" for module, kinds in TYPES.items() for kind in kinds)
"""Classes and functions in estimators of the methods of this project."""


def packed(estimator: Any) -> bytes:
    """Return an estimator as a file; raises `NotSaved` without skops, or for another's classes."""
    try:
        from skops import io as skops
    except ImportError as error:
        raise NotSaved(f"saving an estimator of scikit-learn needs skops: {CURE}") from error
    with zipfile.ZipFile(io.BytesIO(skops.dumps(estimator))) as archive:
        schema = json.loads(archive.read(SCHEMA))
        if strange := _names(schema) - ALLOWED:
            raise NotSaved(f"an estimator has a part {min(strange)}, which cannot be saved")
        return _numbered(archive, schema)


def unpacked(content: bytes, title: str) -> Any:
    """Return the estimator of a file; raises `NotLoaded` without skops, or for a faulty file."""
    try:
        from skops import io as skops
    except ImportError as error:
        raise NotLoaded(f"loading {title}, an estimator, needs skops: {CURE}") from error
    try:
        _check(content)
        estimator = skops.loads(content, trusted=sorted(ALLOWED))
        require_trees(estimator)
        return estimator
    except NotLoaded:
        raise
    except Exception as error:  # a file that fits no format fails in its own way
        raise NotLoaded(f"{title} cannot be read: {str(error).strip()}") from error


def _check(content: bytes) -> None:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        sizes = sum(member.file_size for member in archive.infolist())
        require_size(sizes, limit_of(len(content)), "it")
        if archive.getinfo(SCHEMA).file_size > LONGEST_SCHEMA:
            raise TooLarge("its description is too long")
        if strange := _names(json.loads(archive.read(SCHEMA))) - ALLOWED:
            raise NotLoaded(f"it names {min(strange)}, which no estimator here consists of")


def _names(node: Any) -> set[str]:
    """Return the full names of all classes and functions in a schema."""
    if isinstance(node, list):
        return set().union(*map(_names, node))
    if not isinstance(node, dict):
        return set()
    named = {f"{node['__module__']}.{node['__class__']}"} if "__class__" in node else set()
    return named.union(*map(_names, node.values()))


def _numbered(archive: zipfile.ZipFile, schema: dict[str, Any]) -> bytes:
    numbers: dict[Any, int] = {}
    files: dict[str, str] = {}
    _number(schema, numbers, files)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as written:
        for old, new in files.items():
            _write(written, new, _without_gaps(archive.read(old)))
        _write(written, SCHEMA, json.dumps(schema).encode())
    return buffer.getvalue()


def _number(node: Any, numbers: dict[Any, int], files: dict[str, str]) -> None:
    """Replace identities, and names of files, by their number in order."""
    if isinstance(node, list):
        for one in node:
            _number(one, numbers, files)
    if isinstance(node, dict):
        if "__id__" in node:
            # Equal constants may be one object or several.
            constant = node.get("__loader__") == "JsonNode" and node["content"]
            key = constant if isinstance(constant, str) else node["__id__"]
            node["__id__"] = numbers.setdefault(key, len(numbers) + 1)
        if isinstance(node.get("file"), str) and "__loader__" in node:
            node["file"] = files.setdefault(node["file"], f"{len(files) + 1}.npy")
        for one in node.values():
            _number(one, numbers, files)


def _without_gaps(content: bytes) -> bytes:
    """Return an npy file with 0 in the gaps between fields, whose bytes would be arbitrary."""
    array = npy.read_array(io.BytesIO(content), allow_pickle=False)
    if array.dtype.names is None:
        return content
    clean, buffer = np.zeros(array.shape, array.dtype), io.BytesIO()
    for name in array.dtype.names:
        clean[name] = array[name]
    npy.write_array(buffer, clean, allow_pickle=False)
    return buffer.getvalue()


def _write(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    member = zipfile.ZipInfo(name)
    member.compress_type = zipfile.ZIP_DEFLATED
    archive.writestr(member, content)
