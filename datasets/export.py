"""The rows of a fold as files for another program: `bnnbench data export`.

`train` has inputs and targets, `test` inputs, and targets only on request; `fold.json` describes
them. Every row has a name, which predictions must repeat (`bnnbench score`).
"""

import io
import json
import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np

from bnnbench.datasets.base import DataSource, TableSource, has_images
from bnnbench.datasets.raw_rows import RawRows, raw_rows

Format = Literal["csv", "npz", "parquet"]


def export(
    source: DataSource,
    fold: int,
    folder: Path,
    kind: Format | None = None,
    with_test_targets: bool = False,
) -> RawRows:
    """Write the fold atomically to a new folder, and return its rows.

    The default `kind` is npz for images and csv for other rows. Raises FileExistsError if the
    folder exists, ValueError if the fold does not, ImportError for parquet without pyarrow.
    """
    if folder.exists():
        raise FileExistsError(f"{folder} exists: remove it, or choose another folder with --out")
    kind = kind or ("npz" if has_images(source) else "csv")
    rows = raw_rows(source, fold)
    folder.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    try:
        test_targets = rows.test_targets if with_test_targets else None
        for name, names, inputs, targets in (
            ("train", rows.train_names, rows.train_inputs, rows.train_targets),
            ("test", rows.test_names, rows.test_inputs, test_targets),
        ):
            path = temporary / f"{name}.{kind}"
            path.write_bytes(_content(kind, names, inputs, targets))
        facts = json.dumps(_facts(source, fold, rows), indent=1, ensure_ascii=False)
        (temporary / "fold.json").write_text(facts + "\n", encoding="utf-8")
        temporary.chmod(0o755)
        os.rename(temporary, folder)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return rows


def _content(
    kind: Format, names: tuple[str, ...], inputs: np.ndarray, targets: np.ndarray | None
) -> bytes:
    """Return the bytes of one part; numbers in a csv file equal the arrays' to the last bit."""
    buffer = io.BytesIO()
    if kind == "npz":
        arrays: dict[str, Any] = {"row": np.array(names), "inputs": inputs}
        arrays |= {} if targets is None else {"target": targets}
        np.savez(buffer, **arrays)
        return buffer.getvalue()
    import pandas as pd

    flat = inputs.reshape(len(inputs), -1)
    columns: dict[str, Any] = {"row": names}
    columns |= {f"x{place}": flat[:, place] for place in range(flat.shape[1])}
    columns |= {} if targets is None else {"target": targets}
    table = pd.DataFrame(columns)
    if kind == "csv":
        return table.to_csv(index=False, lineterminator="\n").encode()
    table.to_parquet(buffer, engine="pyarrow", index=False)
    return buffer.getvalue()


def _facts(source: DataSource, fold: int, rows: RawRows) -> Mapping[str, object]:
    kinds: dict[str, object] = {"classes": rows.classes}
    if not rows.classes:
        name, unit = source.target if isinstance(source, TableSource) else ("target", "")
        kinds = {"target": name, "target_unit": unit}
    return {
        "dataset": source.name,
        "fold": fold,
        "folds": source.folds,
        "origin": source.origin,
        "licence": source.licence,
        **kinds,
        "train_rows": len(rows.train_inputs),
        "test_rows": len(rows.test_inputs),
        "input_shape": list(rows.test_inputs.shape[1:]),
        "rows_sha256": rows.rows_sha256,
    }
