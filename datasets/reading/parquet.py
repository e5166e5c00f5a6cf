"""Tables in parquet and arrow files, whose stated sizes are checked before they are unpacked."""

import io
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from bnnbench.datasets.reading.bounded import limit_of, require_size

if TYPE_CHECKING:
    import pyarrow

ROWS = 2**13
"""Maximum number of rows unpacked at a time."""


def table_of(file: Path | bytes) -> "pyarrow.Table":
    """Return the table of a parquet file, given by its path or its content.

    Raises ImportError without pyarrow, `bounded.TooLarge`, and pyarrow's errors for a file that is
    not complete.
    """
    import pyarrow.parquet

    most = limit_of(len(file) if isinstance(file, bytes) else file.stat().st_size)
    source = io.BytesIO(file) if isinstance(file, bytes) else file
    with pyarrow.parquet.ParquetFile(source) as parquet:
        stated = parquet.metadata
        groups = [stated.row_group(number) for number in range(stated.num_row_groups)]
        chunks = [group.column(k) for group in groups for k in range(group.num_columns)]
        require_size(sum(group.total_byte_size for group in groups), most, "it")
        require_size(sum(chunk.num_values for chunk in chunks), most, "it")  # a byte or more each
        # One text of a dictionary may stand in every row.
        texts = [c.total_uncompressed_size for c in chunks if c.physical_type == "BYTE_ARRAY"]
        rows = max(1, min(ROWS, most // max(1, sum(texts))))
        return joined(parquet.iter_batches(rows), parquet.schema_arrow, most)


def joined(
    batches: "Iterable[pyarrow.RecordBatch]", schema: "pyarrow.Schema", most: int
) -> "pyarrow.Table":
    """Return the table of some rows at a time; raises `bounded.TooLarge`."""
    import pyarrow

    read, together = [], 0
    for batch in batches:
        together += batch.nbytes
        require_size(together, most, "it")
        read.append(batch.replace_schema_metadata(schema.metadata))
    return pyarrow.Table.from_batches(read, schema)
