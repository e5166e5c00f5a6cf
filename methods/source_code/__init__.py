"""The source code behind a method, and its digest.

A result belongs to the code that computed it. The digest recorded with each result is one of
meaning: it changes with anything that can change a result, but not when code is moved, renamed,
formatted or documented. It covers the definitions that the method's classes reach, in this project
and in the package or folder of a third-party method, and kernels in other languages next to them.
"""

from bnnbench.methods.source_code.definitions import Sources
from bnnbench.methods.source_code.digest import (
    CONTRACT,
    SCHEME,
    Class,
    classes_of,
    digest_beside,
    digest_in,
    digest_of,
    is_other_code,
    method_digest,
    sources_of,
)
from bnnbench.methods.source_code.files import (
    PROJECT,
    is_installed,
    is_ours,
    own_sources,
    packages_behind,
)

__all__ = [
    "CONTRACT",
    "PROJECT",
    "SCHEME",
    "Class",
    "Sources",
    "classes_of",
    "digest_beside",
    "digest_in",
    "digest_of",
    "is_installed",
    "is_other_code",
    "is_ours",
    "method_digest",
    "own_sources",
    "packages_behind",
    "sources_of",
]
