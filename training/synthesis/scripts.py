"""Texts with signs that a reader does not know: other scripts, and signs that something hides.

They teach a reader to say so (`plate_nets.countries.scheme.UNKNOWN`) instead of dropping the sign.
"""

from collections.abc import Callable, Sequence

import numpy as np

HIDDEN = "\u25a0"
"""A square in the place of a symbol: dirt, a sticker, a hook."""

HAN = "京津冀晋蒙辽吉黑沪苏浙皖闽赣鲁豫鄂湘粤桂琼渝川贵云藏陕甘青宁新学警港澳使领挂"
HANGUL = "가나다라마거너더러머버서어저고노도로모보소오조구누두루무부수우주아바사자허하호배"
KANA = "あいうえかきくけこさすせそたちつてとなにぬねのはひふほまみむめもやゆらりるろれわを"
THAI = "กขคฆงจฉชฌญฎฐณดตถทธนบปผพภมยรลวศษสหฬอฮ"
ARABIC = "ابتثجحدذرزسشصضطظعغفقكلمنهوي"
ARABIC_DIGITS = "٠١٢٣٤٥٦٧٨٩"
PERSIAN_DIGITS = "۰۱۲۳۴۵۶۷۸۹"
BENGALI = "কখগঘঙচছজঝঞটঠডঢণতথদধনপফবভমযরলশষসহ০১২৩৪৫৬৭৮৯"
DEVANAGARI = "कखगघचछजझटठडढतथदधनपफबभमयरलवशषसह०१२३४५६७८९"
OTHERS = "БГДЖЗИЙЛПФЦЧШЩЫЭЮЯЇЄΓΔΘΛΞΠΣΦΨΩაბგდევზთկղյփօאבגדהזחטיכלמ"


def _placed(signs: str, *places: int) -> Callable[[str, np.random.Generator], str]:
    """A change of a text that puts signs into one or more of these places."""

    def change(text: str, rng: np.random.Generator) -> str:
        written = list(text)
        for place in places:
            if place < len(written):
                written[place] = _one_of(signs, rng)
        return "".join(written)

    return change


def _throughout(letters: str, digits: str) -> Callable[[str, np.random.Generator], str]:
    """A change that writes all letters and digits of a text in another script."""

    def change(text: str, rng: np.random.Generator) -> str:
        return "".join(_one_of(digits if symbol.isdigit() else letters, rng) for symbol in text)

    return change


def _anywhere(signs: str) -> Callable[[str, np.random.Generator], str]:
    """A change that puts signs into one to three places in a row."""

    def change(text: str, rng: np.random.Generator) -> str:
        first = int(rng.integers(len(text)))
        return _placed(signs, *range(first, first + 1 + int(rng.integers(3))))(text, rng)

    return change


_CHANGES: Sequence[tuple[float, Callable[[str, np.random.Generator], str]]] = (
    (3.0, _placed(HAN, 0)),
    (1.5, _placed(HANGUL, 2)),
    (1.5, _placed(HANGUL, 3)),
    (0.5, _placed(HANGUL, 0, 1, 4)),
    (0.7, _placed(KANA + HAN, 0, 1, 2)),
    (0.5, _placed(THAI, 0, 1)),
    (0.5, _placed(THAI, 1, 2)),
    (0.8, _throughout(ARABIC, ARABIC_DIGITS)),
    (0.8, _throughout(ARABIC, PERSIAN_DIGITS)),
    (0.6, _throughout(ARABIC, "0123456789")),
    (0.5, _throughout(BENGALI, BENGALI)),
    (0.3, _throughout(DEVANAGARI, DEVANAGARI)),
    (1.0, _anywhere(HAN + HANGUL + KANA)),
    (0.5, _anywhere(ARABIC + THAI + BENGALI)),
    (0.8, _anywhere(OTHERS)),
    (2.5, _anywhere(HIDDEN)),
)
_SHARES = np.array([share for share, _ in _CHANGES]) / sum(share for share, _ in _CHANGES)


def with_unknown_signs(text: str, rng: np.random.Generator) -> str:
    """A text of a Latin plate -> one of the same length that has signs of another script, or hidden ones."""
    return _CHANGES[int(rng.choice(len(_CHANGES), p=_SHARES))][1](text, rng)


def _one_of(signs: str, rng: np.random.Generator) -> str:
    return signs[int(rng.integers(len(signs)))]
