"""Folders on local disks or in an object store, through pyarrow's file systems."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any

from pyarrow import NativeFile, fs

from plate_nets.common.atomic_files import UNFINISHED, write_whole
from plate_nets.common.errors import BatchError, InputTooLarge
from plate_nets.common.intake.files import MAX_TEXT, read_file

_URI = re.compile(r"[a-z][a-z0-9+.-]*://")


@dataclass(frozen=True)
class Folder:
    """A folder or bucket: ``photos``, ``/data/photos``, ``s3://bucket/photos``, ``gs://bucket/photos``.

    It is pickled by its address alone, so workers on other machines open it with their own credentials.
    """

    address: str

    def __post_init__(self) -> None:
        if is_uri(self.address) and "@" in self.address.partition("://")[2].partition("/")[0]:
            raise BatchError("the address of an object store must not contain keys; put them into the environment")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.address,)

    @property
    def is_local(self) -> bool:
        return not is_uri(self.address)

    @cached_property
    def _opened(self) -> tuple[fs.FileSystem, str]:
        if self.is_local:
            return fs.LocalFileSystem(), os.path.abspath(self.address)  # noqa: PTH100  keeps links, as the user wrote
        with errors_at(self.address):
            filesystem, path = fs.FileSystem.from_uri(self.address)
            return filesystem, path

    def check(self) -> None:
        """Raise BatchError if the address belongs to no known file system; no connection is made."""
        _ = self._opened

    def read(self, name: str, max_bytes: int = MAX_TEXT) -> bytes:
        """Return the bytes of a file in it.

        Raises:
            OSError: it is missing or, on disk, does not open or is not a file.
            InputTooLarge: it has more than ``max_bytes`` bytes; nothing was read.
            BatchError: the object store does not answer or refuses.
        """
        if self.is_local or isinstance(self._opened[0], fs.LocalFileSystem):  # an address with file://
            return read_file(os.path.join(self._opened[1], name), max_bytes)  # noqa: PTH118  a name may be no path at all
        with self.open(name) as file:
            if (size := file.size()) > max_bytes:
                raise InputTooLarge(f"expected a file of at most {max_bytes} bytes, got {size}")
            return bytes(file.read())

    def open(self, name: str) -> NativeFile:
        """Open a file in it for reading, with seeking.

        Raises:
            FileNotFoundError: it is missing.
            BatchError: it does not open.
        """
        filesystem, folder = self._opened
        with errors_at(f"{self.address}: {name}"):
            return filesystem.open_input_file(f"{folder}/{name}")

    def write(self, name: str, content: bytes) -> None:
        """Write a whole file into it, replacing an existing one; no reader ever sees a part of it.

        On disk this is a new name, ``fsync`` and a rename; in an object store one upload, which counts once it is
        complete.

        Raises:
            OSError: the disk is full or read-only.
            BatchError: the store does not answer or refuses.
        """
        filesystem, folder = self._opened
        if not self.is_local:
            with errors_at(f"{self.address}: {name}"), filesystem.open_output_stream(f"{folder}/{name}") as stream:
                stream.write(content)
            return
        write_whole(Path(folder, name), content)

    def remove(self, name: str) -> None:
        """Remove a file from it; a missing one is not an error.

        Raises:
            BatchError: the disk or the store refuses.
        """
        filesystem, folder = self._opened
        with suppress(FileNotFoundError), errors_at(f"{self.address}: {name}"):
            filesystem.delete_file(f"{folder}/{name}")

    def names(self) -> set[str]:
        """The names of the files directly in it; empty if it does not exist."""
        filesystem, folder = self._opened
        with errors_at(self.address):
            found = filesystem.get_file_info(fs.FileSelector(folder, allow_not_found=True))
        return {each.base_name for each in found if each.type == fs.FileType.File}

    def remove_unfinished(self) -> None:
        """Remove what killed writers left behind. The caller must know that no other writer is active."""
        if self.is_local:
            for path in Path(self._opened[1]).glob(f"{UNFINISHED}*"):
                path.unlink(missing_ok=True)

    def walk(self) -> Iterator[str]:
        """Yield the names of all files below it, relative to it, folder by folder.

        On disk, links to folders are not followed, and bytes of a name that are not UTF-8 are escaped as by
        ``os.fsdecode``.

        Raises:
            BatchError: it is missing or does not open.
        """
        filesystem, folder = self._opened
        if self.is_local:
            yield from _walk_disk(folder)
            return
        waiting = [folder]
        while waiting:
            with errors_at(self.address):
                found = filesystem.get_file_info(fs.FileSelector(waiting.pop()))
            for each in found:
                if each.type == fs.FileType.Directory:
                    waiting.append(each.path)
                elif each.type == fs.FileType.File:
                    yield str(PurePosixPath(each.path).relative_to(folder))


def is_uri(address: str) -> bool:
    """Whether an address belongs to an object store."""
    return _URI.match(address) is not None


@contextmanager
def errors_at(where: str) -> Iterator[None]:
    """Turn file system errors into one line that says where; "not found" passes through.

    Raises:
        FileNotFoundError: unchanged.
        BatchError: any other.
    """
    try:
        yield
    except FileNotFoundError:
        raise
    except (OSError, ValueError) as error:
        raise BatchError(f"{where}: {' '.join(str(error).split())}") from error


def _may_be_file(entry: os.DirEntry[str]) -> bool:
    """Whether it is a file, or a broken link, which the reader then reports."""
    try:
        return entry.is_file() or (entry.is_symlink() and not entry.is_dir())
    except OSError:  # a link that leads to itself
        return True


def _walk_disk(folder: str) -> Iterator[str]:
    waiting = [""]
    while waiting:
        below = waiting.pop()
        try:
            with os.scandir(f"{folder}/{below}") as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(f"{below}{entry.name}/")
                    elif _may_be_file(entry):
                        yield below + entry.name
        except OSError as error:
            raise BatchError(f"{error.filename}: cannot be opened: {error.strerror}") from error
