"""Where a batch's photos come from: a folder, a list of paths, or a Parquet file with paths or the photos' bytes."""

import errno
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from plate_nets.batch.storage import Folder, is_uri
from plate_nets.common.errors import BatchError, InputTooLarge
from plate_nets.common.intake.files import check_file
from plate_nets.recognition.encoded import SUFFIXES
from plate_nets.recognition.left_out import LeftOut
from plate_nets.recognition.reader import FrameLimits, check_bytes

PARQUET = ".parquet"
MAX_BYTES = FrameLimits().max_bytes
"""Limit for a photo."""
_LONGEST = 1 << 16
"""Limit in characters for a line of a list."""
_LARGEST_GROUP = 2 << 30
"""Limit in bytes for what is read of one row group, unpacked."""
_MOST_ROWS = 10_000_000
"""Limit for the rows of a Parquet file. Its size is no limit, because empty rows take no room in it."""


class Source(Protocol):
    """Names photos and reads them, by default as paths and addresses. Pickled by its address."""

    def photos(self) -> Iterator[tuple[str, str]]:
        """Yield the photos one by one: name, and the key that decides its shard.

        Raises:
            BatchError: the source is missing, does not open, is too large, or does not have the expected form.
        """
        ...

    def read(self, name: str) -> bytes:
        """Return a photo's bytes.

        Raises:
            OSError: this photo is missing, does not open, or has an invalid name; others may be fine.
            InputTooLarge: it has more bytes than allowed.
            BatchError: no photo can be read: the store does not answer or refuses.
        """
        return read_path(name)


@dataclass(frozen=True)
class FolderSource(Source):
    """All pictures below a folder, recognised by their suffix; ``left_out`` knows what was not listed."""

    folder: Folder
    left_out: LeftOut = field(default_factory=LeftOut, compare=False)

    def photos(self) -> Iterator[tuple[str, str]]:
        """As `Source.photos`; names are relative to the folder."""
        for name in filter(self.left_out.takes, self.folder.walk()):
            yield name, name

    def read(self, name: str) -> bytes:
        return self.folder.read(name, MAX_BYTES)


@dataclass(frozen=True)
class PhotoSource(Source):
    """One photo: its path, or its address in an object store."""

    name: str

    def photos(self) -> Iterator[tuple[str, str]]:
        yield self.name, self.name


@dataclass(frozen=True)
class ListSource(Source):
    """A text file with one path or object store address per line; relative paths start at the working folder."""

    path: Path

    def photos(self) -> Iterator[tuple[str, str]]:
        """As `Source.photos`; names are the lines."""
        try:
            with check_file(self.path).open(encoding="utf-8", errors="surrogateescape") as lines:
                if lines.read(_LONGEST).count("\0") > 1:  # a single NUL may be part of a name
                    raise BatchError(
                        f"{self.path}: expected a folder, a photo, a Parquet file or a text file with a path per line, "
                        "got another file; `plates watch` reads videos"
                    )
                lines.seek(0)
                while line := lines.readline(_LONGEST):
                    if len(line) == _LONGEST:
                        raise BatchError(f"{self.path}: expected a path per line, got a line of {_LONGEST} characters")
                    if name := line.rstrip("\r\n"):
                        yield name, name
        except OSError as error:
            raise BatchError(f"{self.path}: {error.strerror}") from error


class ParquetSource(Source):
    """A Parquet file with a column of paths, or of encoded photos, which are named by their rows.

    Rows of one row group go into one shard, because a worker reads a whole row group to get one row.

    Args:
        file: a path, or an address in an object store.
        column: holds the paths (string) or the photos (binary); by default the first of `COLUMNS` that exists.
    """

    COLUMNS = ("bytes", "image", "path", "file")

    def __init__(self, file: str, column: str = "") -> None:
        self._file = file
        self._named = column
        self._group: tuple[str, pa.ChunkedArray] | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._file, self._named)

    def photos(self) -> Iterator[tuple[str, str]]:
        """As `Source.photos`; names are the paths, or "row group:row within it"."""
        groups = range(self._parquet.num_row_groups)
        counts = [self._parquet.metadata.row_group(group).num_rows for group in groups]
        if sum(counts) > _MOST_ROWS:
            raise BatchError(f"{self._file}: expected at most {_MOST_ROWS} rows, got {sum(counts)}; split the file")
        for group, count in zip(groups, counts, strict=True):
            if self._holds_photos:
                yield from ((f"{group}:{row}", str(group)) for row in range(count))
            else:
                try:
                    encoded = self._read(group).cast(pa.large_binary())  # they need not be UTF-8
                except InputTooLarge as error:
                    raise BatchError(f"{self._file}: {error}") from error
                names = (os.fsdecode(name) for name in encoded.to_pylist() if name)
                yield from ((name, name) for name in names)

    def read(self, name: str) -> bytes:
        if not self._holds_photos:
            return read_path(name)
        group, _, row = name.partition(":")
        if self._group is None or self._group[0] != group:
            self._group = group, self._read(int(group))
        try:
            content = self._group[1][int(row)]
        except IndexError as error:
            raise FileNotFoundError(errno.ENOENT, "the row is missing: the file is damaged") from error
        if not content.is_valid:
            raise FileNotFoundError(errno.ENOENT, "is empty")
        check_bytes(self._column, content.as_buffer().size, FrameLimits())
        return bytes(content.as_py())

    def _read(self, group: int) -> pa.ChunkedArray:
        """The column in one row group, read into memory as a whole."""
        described = self._parquet.metadata.row_group(group)
        columns = map(described.column, range(described.num_columns))
        size = sum(
            column.total_uncompressed_size
            for column in columns
            if f"{column.path_in_schema}.".startswith(f"{self._column}.")  # pyarrow reads `image.x` with `image`
        )
        if size > _LARGEST_GROUP:
            raise InputTooLarge(f"row group {group}: expected at most {_LARGEST_GROUP} bytes, got {size}")
        try:
            return self._parquet.read_row_group(group, columns=[self._column])[self._column]
        except (pa.ArrowException, OSError) as error:
            raise BatchError(f"{self._file}: row group {group}: {error}") from error

    @cached_property
    def _parquet(self) -> pq.ParquetFile:
        folder, slash, name = self._file.rpartition("/")
        try:
            return pq.ParquetFile(Folder((folder or slash) or ".").open(name))
        except FileNotFoundError as error:
            raise BatchError(f"{self._file}: no such file") from error
        except (pa.ArrowException, OSError) as error:  # OSError: a damaged footer
            raise BatchError(f"{self._file}: expected a Parquet file: {' '.join(str(error).split())}") from error

    @cached_property
    def _column(self) -> str:
        schema = self._parquet.schema_arrow
        candidates = (self._named,) if self._named else self.COLUMNS
        found = next((name for name in candidates if name in schema.names), None)
        if found is None:
            got = ", ".join(schema.names) or "none"
            raise BatchError(f"{self._file}: expected a column {' or '.join(candidates)}, got {got}")
        if schema.names.count(found) > 1:
            raise BatchError(f"{self._file}: expected one column {found}, got {schema.names.count(found)}")
        kind = schema.field(found).type
        if not (_is_bytes(kind) or pa.types.is_string(kind) or pa.types.is_large_string(kind)):
            raise BatchError(f"{self._file}: column {found}: expected paths (string) or photos (binary), got {kind}")
        return found

    @property
    def _holds_photos(self) -> bool:
        return _is_bytes(self._parquet.schema_arrow.field(self._column).type)


def find_source(address: str, column: str = "") -> Source:
    """The address given by the user -> its source: Parquet and photos by suffix, another file as a list, or a folder.

    Raises:
        BatchError: there is no such file or folder.
    """
    path = Path(address)
    if not (is_uri(address) or path.is_dir() or path.is_file()):
        raise BatchError(f"{address}: no such file or folder")
    suffix = path.suffix.lower()
    if suffix == PARQUET:
        return ParquetSource(address, column)
    if not path.is_dir() and suffix in SUFFIXES:
        return PhotoSource(address)
    if path.is_file():
        return ListSource(path)
    return FolderSource(Folder(address.rstrip("/") or "/"))


def read_path(name: str) -> bytes:
    """A path on disk, or an address in an object store -> its bytes. Raises as `Source.read`."""
    if not is_uri(name):
        return Folder("").read(name, MAX_BYTES)
    address, _, file = name.rpartition("/")
    try:
        folder = Folder(address)
        folder.check()
    except BatchError as error:
        raise OSError(errno.EINVAL, str(error)) from error
    return folder.read(file, MAX_BYTES)


def _is_bytes(kind: pa.DataType) -> bool:
    return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind))
