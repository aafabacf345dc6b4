"""Texts within some edits: the fast bound misses none."""

import random

import pytest
from rapidfuzz.distance import Levenshtein

from plate_nets.web.similar import SimilarTexts


@pytest.mark.parametrize("distance", [1, 2])
@pytest.mark.parametrize("letters", ["ABEKMHOPCTYX", "京津沪渝冀豫云辽黑湘皖鲁", "٠١٢٣أبجدرسصط"])
def test_the_index_finds_the_texts_within_the_distance(letters: str, distance: int) -> None:
    rng = random.Random(3)
    texts = ["".join(rng.choices(f"{letters}0123456789", k=rng.randint(7, 8))) for _ in range(300)]
    near = [f"{rng.choice(letters)}{rng.randrange(1000):03}BC77" for _ in range(300)]
    index = SimilarTexts()
    assert index.find("A123BC77", distance, 10) == {}
    index.add(texts)
    index.add([*near, "", "длинный текст не из латинских букв"])
    for text in ("A123BC77", near[0], texts[0]):
        expected = {each for each in {*texts, *near} if Levenshtein.distance(text, each) <= distance}
        assert index.find(text, distance, 1000).keys() == expected
