"""Texts with signs that a reader does not know: other scripts, and signs that something hides.

They teach a reader to say so (`plate_nets.countries.scheme.UNKNOWN`) instead of dropping the sign.
"""

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

_THROUGHOUT, _ANYWHERE = ("throughout",), ("anywhere",)
"""Where signs stand besides in fixed places: as all symbols, the digits their own; in one to three places in a row."""
_CHANGES: tuple[tuple[float, str, str, tuple[int | str, ...]], ...] = (
    (3.0, HAN, HAN, (0,)),
    (1.5, HANGUL, HANGUL, (2,)),
    (1.5, HANGUL, HANGUL, (3,)),
    (0.5, HANGUL, HANGUL, (0, 1, 4)),
    (0.7, KANA + HAN, KANA + HAN, (0, 1, 2)),
    (0.5, THAI, THAI, (0, 1)),
    (0.5, THAI, THAI, (1, 2)),
    (0.8, ARABIC, ARABIC_DIGITS, _THROUGHOUT),
    (0.8, ARABIC, PERSIAN_DIGITS, _THROUGHOUT),
    (0.6, ARABIC, "0123456789", _THROUGHOUT),
    (0.5, BENGALI, BENGALI, _THROUGHOUT),
    (0.3, DEVANAGARI, DEVANAGARI, _THROUGHOUT),
    (1.0, HAN + HANGUL + KANA, HAN + HANGUL + KANA, _ANYWHERE),
    (0.5, ARABIC + THAI + BENGALI, ARABIC + THAI + BENGALI, _ANYWHERE),
    (0.8, OTHERS, OTHERS, _ANYWHERE),
    (2.5, HIDDEN, HIDDEN, _ANYWHERE),
)
"""How often each, what stands for letters and for digits, and where."""
_SHARES = np.array([each[0] for each in _CHANGES]) / sum(each[0] for each in _CHANGES)


def with_unknown_signs(text: str, rng: np.random.Generator) -> str:
    """A text of a Latin plate -> one of the same length that has signs of another script, or hidden ones."""
    _, letters, digits, places = _CHANGES[int(rng.choice(len(_CHANGES), p=_SHARES))]
    if places == _THROUGHOUT:
        places = tuple(range(len(text)))
    elif places == _ANYWHERE:
        first = int(rng.integers(len(text)))
        places = tuple(range(first, first + 1 + int(rng.integers(3))))
    signs = (digits if symbol.isdigit() else letters for symbol in text)
    return "".join(
        own[int(rng.integers(len(own)))] if place in places else symbol
        for place, (symbol, own) in enumerate(zip(text, signs, strict=True))
    )
