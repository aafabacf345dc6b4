"""The paths of the checkout and of the real photographs beside it."""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SHARED = Path(os.environ.get("PLATES_SHARED", ROOT.parent / "shared"))
"""Data outside git, which not every machine has."""
PHOTOS = SHARED / "data" / "ru_dev"

needs_photos = pytest.mark.skipif(
    not PHOTOS.is_dir(), reason=f"the real photographs are not at hand: no {PHOTOS}; PLATES_SHARED names their folder"
)

ODD_FOLDER = Path("a b", "Ü", "документы", "it's", "$HOME", "a" * 200, "ends in a space ", "two\nlines", "50%20#?&'\"")
"""Names that a user may give to folders, one in the other."""
