"""Run the notebook, and make its page: `python -m docs.generate.notebook`.

It is run in an empty folder, in a kernel of this interpreter. The page has its texts, its code and
the printed outputs, so that a reader needs neither Jupyter nor a script.
"""

import sys
import tempfile
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

DOCS = Path(__file__).resolve().parents[1]
NOTEBOOK = DOCS / "python.ipynb"
PAGE = DOCS / "python_notebook.md"


def executed(notebook: Any, folder: Path) -> Any:
    """Return the notebook with the outputs of an execution in a folder; errors are raised.

    Bars and warnings are left out.
    """
    client = NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(folder)}})
    client.execute()
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        if cell.cell_type == "code":
            cell.outputs = [output for output in cell.outputs if output.get("name") != "stderr"]
    return notebook


def page(notebook: Any) -> str:
    """Return the notebook as Markdown."""
    parts = [part for cell in notebook.cells for part in _parts(cell)]
    return "\n\n".join(parts) + "\n"


def _parts(cell: Any) -> list[str]:
    if cell.cell_type == "markdown":
        return [cell.source]
    text = "".join(map(_text, cell.outputs)).rstrip()
    return [f"```python\n{cell.source}\n```", *([f"```\n{text}\n```"] if text else [])]


def _text(output: Any) -> str:
    """Return what a cell printed, or the text of its value."""
    return output.text if output.output_type == "stream" else output.data.get("text/plain", "")


def main() -> None:
    """Execute the notebook, and write it and its page."""
    notebook: Any = nbformat.read(NOTEBOOK, as_version=4)
    with tempfile.TemporaryDirectory() as folder:
        executed(notebook, Path(folder))
    nbformat.write(notebook, NOTEBOOK)
    PAGE.write_text(page(notebook), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
