"""Pictures of formats that are not read: recognised, so that a folder's are named and not passed over in silence."""

import os
from collections import Counter
from pathlib import PurePath

from plate_nets.recognition.encoded import SUFFIXES

_FORMATS = {
    "TIFF": (".tif", ".tiff"),
    "GIF": (".gif",),
    "JPEG 2000": (".jp2", ".j2k", ".j2c", ".jpc", ".jpf", ".jpx", ".jpm"),
    "JPEG XL": (".jxl",),
    "JPEG XR": (".jxr", ".wdp", ".hdp"),
    "JPEG-LS": (".jls",),
    "image sequence": (".heics", ".heifs", ".avifs"),
    "Netpbm": (".ppm", ".pgm", ".pbm", ".pnm", ".pam"),
    "Windows icon": (".ico", ".cur"),
    "raw photo": (
        *(".dng", ".cr2", ".cr3", ".crw", ".nef", ".nrw", ".arw", ".srf", ".sr2", ".orf", ".rw2", ".raf", ".pef"),
        *(".srw", ".3fr", ".fff", ".iiq", ".rwl", ".mrw", ".x3f", ".erf", ".kdc", ".dcr", ".mef", ".mos", ".gpr"),
    ),
    "Photoshop": (".psd", ".psb"),
    "SVG": (".svg", ".svgz"),
    "Targa": (".tga",),
    "PCX": (".pcx",),
    "OpenEXR": (".exr",),
}
_KINDS = {suffix: kind for kind, suffixes in _FORMATS.items() for suffix in suffixes}
_STARTS = {
    b"II*\0": "TIFF", b"MM\0*": "TIFF", b"GIF8": "GIF", b"8BPS": "Photoshop",
    b"\0\0\0\x0cjP  \r\n": "JPEG 2000", b"\xff\x4f\xff\x51": "JPEG 2000",
    b"\0\0\0\x0cJXL \r\n": "JPEG XL", b"\xff\x0a": "JPEG XL", b"II\xbc\x01": "JPEG XR", b"\0\0\1\0": "Windows icon",
    **{b"P%d%c" % (number, after): "Netpbm" for number in range(1, 8) for after in b" \t\r\n"},
}  # fmt: skip
"""First bytes -> format."""
_NAMED = 3


def kind_of(encoded: bytes) -> str | None:
    """Bytes -> their picture format, if it is a known one that is not read, and what to do."""
    kind = next((kind for start, kind in _STARTS.items() if encoded.startswith(start)), None)
    return kind and f"a {kind} picture; convert it to one of these"


class LeftOut:
    """Tells the picture files of a folder by their suffixes, and remembers those of formats that are not read."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._names: dict[str, list[str]] = {}

    def takes(self, name: str | PurePath) -> bool:
        """Whether a file is a picture that is read."""
        suffix = PurePath(name).suffix.lower()
        if kind := _KINDS.get(suffix):
            self._counts[kind] += 1
            names = self._names.setdefault(kind, [])
            if len(names) < _NAMED:
                names.append(os.fsencode(name).decode("utf-8", "backslashreplace"))
        return suffix in SUFFIXES

    def note(self) -> str:
        """What was left out and why, as a part of a sentence; empty if nothing was."""
        if not self._counts:
            return ""
        parts = [
            f"{count} {kind} ({', '.join(self._names[kind])}{', ...' if count > _NAMED else ''})"
            for kind, count in sorted(self._counts.items())
        ]
        total = self._counts.total()
        pictures = f"{total} picture{'s' * (total > 1)}"
        return f"left out {pictures} of formats that are not read: {', '.join(parts)}; convert them to JPEG or PNG"
