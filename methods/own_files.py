"""Methods and networks in files anywhere: `path/to/nearest.py:NearestNeighbours`.

The folder of such a file is appended to the search path of this process and, through the
environment, of the worker processes that it starts. The file can therefore import the modules next
to it, which cannot replace anything installed. They are always compiled anew: for an edited file of
equal size, saved within the same second, Python would use the old bytecode.
"""

import importlib.util
import os
import sys
import traceback
from importlib.machinery import (
    EXTENSION_SUFFIXES,
    SOURCE_SUFFIXES,
    ExtensionFileLoader,
    FileFinder,
    SourceFileLoader,
)
from pathlib import Path
from types import CodeType, ModuleType

VARIABLE = "BNNBENCH_METHOD_FOLDERS"
"""Environment variable with the folders that workers search too."""


def module_of(file: Path) -> str:
    """Return the name under which a file can be imported, here and by workers.

    Raises ValueError if the file does not exist, or if another module has its name.
    """
    file = file.absolute()
    if not file.is_file():
        raise ValueError(f"there is no file {file}")
    name = file.stem
    if not name.isidentifier():
        raise ValueError(f"{file.name} cannot be imported: rename it to letters, digits and _")
    _search(file.parent)
    spec = importlib.util.find_spec(name)
    origin = Path(spec.origin).resolve() if spec and spec.origin else None
    if origin != file.resolve():
        raise ValueError(f"{file.name} has the name of another module, {origin}: rename it")
    return name


class ExitedWhileImporting(ImportError):
    """A module that ended the process while it was imported; the message says which and how."""


def imported(name: str) -> ModuleType:
    """Return the module of a name; it may be third-party code.

    Raises `ExitedWhileImporting` if it, or a module that it imports, calls `sys.exit`.
    """
    try:
        return importlib.import_module(name)
    except SystemExit as error:
        frames = traceback.extract_tb(error.__traceback__)
        code = [frame for frame in frames if "importlib" not in frame.filename]
        place = f"{code[-1].filename}, line {code[-1].lineno}: " if code else ""
        raise ExitedWhileImporting(
            f"module {name} exited while it was imported, by {place}sys.exit({error.code!r}); "
            'move such calls under `if __name__ == "__main__":`'
        ) from error


def folders() -> list[str]:
    """Return the folders in the environment variable."""
    return [folder for folder in os.environ.get(VARIABLE, "").split(os.pathsep) if folder]


def make_absolute() -> None:
    """Make relative folders in the variable absolute, within this process's folder."""
    os.environ[VARIABLE] = os.pathsep.join(map(os.path.abspath, folders()))


def search_folders() -> None:
    """Search the folders in the environment variable, as workers do when they start."""
    for folder in folders():
        if folder not in sys.path:
            sys.path.append(folder)
        sys.path_importer_cache[folder] = _finder(folder)


def _search(folder: Path) -> None:
    if str(folder) not in folders():
        os.environ[VARIABLE] = os.pathsep.join([*folders(), str(folder)])
    importlib.invalidate_caches()
    search_folders()


class _SourceAlone(SourceFileLoader):
    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        return self.source_to_code(self.get_data(path), path)


def _finder(folder: str) -> FileFinder:
    return FileFinder(
        folder, (ExtensionFileLoader, EXTENSION_SUFFIXES), (_SourceAlone, SOURCE_SUFFIXES)
    )
