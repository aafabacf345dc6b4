"""Texts of plates as people write them."""

import unicodedata
from collections.abc import Mapping
from functools import cache

_TWINS = str.maketrans("АВЕКМНОРСТУХІЈΑΒΕΖΗΙΚΜΝΟΡΤΥΧ", "ABEKMHOPCTYXIJABEZHIKMNOPTYX", "·•・.|")
"""Cyrillic and Greek letters -> the Latin ones that look the same and are used in texts; what stands between the parts
of a plate -> nothing."""
_UNWRITTEN = ("Cf", "Pd")
"""Categories of signs that no plate has: marks that only tell a direction, which copied texts have, and hyphens."""
_KEYBOARDS = str.maketrans(
    {
        **{digit: str(unicodedata.digit(digit)) for digit in "٠١٢٣٤٥٦٧٨٩۰۱۲۳۴۵۶۷۸۹"},
        **dict.fromkeys("أإآ", "ا"),
        **dict.fromkeys("ىی", "ي"),
        "ھ": "ه",
        "ک": "ك",
    }
)
"""Digits and letters that keyboards of Arabic, Persian and Latin letters write differently -> one of them."""


def normalize(plate: str) -> str:
    """A plate as people write it -> as in texts: no spaces, hyphens or dots, capitals, Latin letters, in NFKC."""
    signs = "".join(unicodedata.normalize("NFKC", plate).upper().split())
    return "".join(sign for sign in signs if unicodedata.category(sign) not in _UNWRITTEN).translate(_TWINS)


def folded(plate: str) -> str:
    """A normalized plate -> the same, whichever keyboard wrote it; no country tells plates apart by these signs."""
    return plate.translate(_KEYBOARDS)


def spellings(sign: str) -> str:
    """A sign of a normalized plate -> all signs that some keyboard writes for it, and itself."""
    return _alike().get(folded(sign), sign)


@cache
def _alike() -> Mapping[str, str]:
    """Folded signs -> all that become this one, and itself."""
    alike: dict[str, str] = {}
    for sign in map(chr, _KEYBOARDS):
        alike[folded(sign)] = alike.get(folded(sign), folded(sign)) + sign
    return alike
