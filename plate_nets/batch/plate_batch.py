"""Plate reading as a step of your own pipeline: Ray Data, Dask and pandas map it over batches of photos."""

from contextlib import ExitStack
from functools import cached_property

import pyarrow as pa

from plate_nets.batch.readers import ReaderSettings
from plate_nets.batch.rows import FOUND, fetched, read_photo
from plate_nets.batch.sources import read_path
from plate_nets.recognition.reader import VehicleReader


class PlateBatch:
    """A table of photos -> the same table plus plates: ``dataset.map_batches(PlateBatch, batch_format="pyarrow")``.

    Each process loads the networks on its first call; only the settings are pickled.

    Args:
        settings: which reader to use; by default in this process, with one thread.
        column: holds the photos' bytes (binary), or their paths and addresses (string).
    """

    def __init__(self, settings: ReaderSettings = ReaderSettings(), column: str = "bytes") -> None:
        self._settings = settings
        self._column = column

    def __reduce__(self) -> tuple[type["PlateBatch"], tuple[ReaderSettings, str]]:
        return type(self), (self._settings, self._column)

    def __call__(self, photos: pa.Table) -> pa.Table:
        """A table -> the same table with the columns `rows.FOUND`; a photo that cannot be read has an ``error``.

        Raises:
            PlateError: the reader cannot work at all, so no photo can be read.
        """
        sure, vehicles = self._settings.sure, self._settings.vehicles
        rows = [
            read_photo(self._reader, fetched(read_path, each) if isinstance(each, str) else each, sure, vehicles)
            for each in photos[self._column].to_pylist()
        ]
        found = pa.Table.from_pylist(rows, pa.schema(FOUND))
        for name in FOUND:
            photos = photos.append_column(name, found[name])
        return photos

    @cached_property
    def _reader(self) -> VehicleReader:
        self._resources = ExitStack()  # closed with the process
        reader, _ = self._resources.enter_context(self._settings.open())
        return reader
