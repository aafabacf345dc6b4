"""Finds the pictures of events by the names in the store."""

from pathlib import Path

from plate_nets.recognition.encoded import SUFFIXES
from plate_nets.web.store import Document


def kept_picture(folder: Path, event: Document, kind: str) -> Path | None:
    """An event and a kind of its pictures -> the file, if it is a picture below ``folder``."""
    names = event.get("images")
    name = names.get(kind) if isinstance(names, dict) else None
    if not isinstance(name, str) or Path(name).suffix.lower() not in SUFFIXES:
        return None
    try:
        folder = folder.resolve()
        path = (folder / name).resolve()
        return path if path.is_relative_to(folder) and path.is_file() else None
    except (OSError, ValueError):  # a name that no file can have
        return None
