"""Signs of other scripts, from the open fonts of the system (Debian: fonts-noto-core, fonts-noto-cjk, fonts-nanum).

They are used while training only; no font becomes part of the project.
"""

import subprocess
import unicodedata
import zlib
from functools import lru_cache

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from plate_nets.common.errors import InputError

_SIZE = 400
"""Size at which a sign is drawn, px."""
_LIST = "%{file}\t%{index}\t%{family}\t%{style}\n"
_UNUSUAL = ("Serif", "Nastaliq", "Mono", "Thin", "ExtraLight", "Italic", "Oblique", "Myeongjo", "Coding")
"""In the names of fonts that no plate resembles."""


@lru_cache(maxsize=4096)
def faces(sign: str) -> tuple[tuple[str, int], ...]:
    """The fonts, file and index, that have a sign, in a fixed order.

    Raises:
        InputError: there is none, or fontconfig is not installed.
    """
    try:
        listed = subprocess.run(
            ["fc-list", f":charset={ord(sign):x}", "--format", _LIST], capture_output=True, text=True, check=True
        ).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        raise InputError("fonts: fc-list does not run; install fontconfig and the fonts of the script") from error
    found = set()
    for line in listed.splitlines():
        file, index, *names = line.split("\t")
        if not any(name in part for name in _UNUSUAL for part in names):
            found.add((file, int(index) & 0xFFFF))
    if not found:
        raise InputError(f"fonts: no font has {sign!r}; install the fonts of its script, such as fonts-noto-core")
    return tuple(sorted(found))


_UNEVEN = "ARABIC"
"""In the Unicode names of signs that have different heights on a plate."""
_HIGH_AND_LOW = "أجع"
"""Such signs that reach highest and lowest."""


@lru_cache(maxsize=2048)
def drawn(sign: str, typeface: str, height: int) -> NDArray[np.uint8]:
    """A sign, or a word -> its coverage (height, W), cut to its outline. The name of the typeface chooses the font.

    Arabic signs keep their heights: they stand in a box in which the highest and lowest one fit.

    Raises:
        InputError: as `faces`.
    """
    known = faces(sign[0])
    first = zlib.crc32(typeface.encode()) % len(known)
    for file, index in (*known[first:], *known[:first]):
        font = ImageFont.truetype(file, _SIZE, index=index)
        canvas = Image.new("L", (4 * _SIZE, 2 * _SIZE))
        ImageDraw.Draw(canvas).text((_SIZE // 2, _SIZE // 2), sign, 255, font)
        if canvas.getbbox():  # NanumSquare lists Han signs that it leaves empty
            break
    written = canvas.copy()
    left, top, right, bottom = canvas.getbbox() or (0, 0, 1, 1)
    if unicodedata.name(sign[0], "").startswith(_UNEVEN):
        ImageDraw.Draw(canvas).text((_SIZE // 2, _SIZE // 2), _HIGH_AND_LOW, 255, font)
        _, top, _, bottom = canvas.getbbox() or (0, 0, 1, 1)
    outline = np.asarray(written)[top:bottom, left:right]
    # A low sign such as a dash keeps its shape: it stands in a box as high as half of it is wide
    least = max(bottom - top, (right - left) // 2)
    above = (least - (bottom - top)) // 2
    outline = cv2.copyMakeBorder(outline, above, least - (bottom - top) - above, 0, 0, cv2.BORDER_CONSTANT)
    width = max(1, round(outline.shape[1] * height / outline.shape[0]))
    return np.asarray(cv2.resize(outline, (width, height), interpolation=cv2.INTER_AREA), np.uint8)
