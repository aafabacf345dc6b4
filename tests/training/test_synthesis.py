"""Synthetic plates: glyphs, texts, layouts, camera and perspective, first alone, then as whole crops."""

import unicodedata
from dataclasses import replace
from itertools import combinations, pairwise

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray

from plate_nets.common.errors import InputError, SchemeError
from plate_nets.countries import load_scheme, main_scheme
from plate_nets.countries.drawing import SEAL, Line, Small
from plate_nets.countries.scheme import UNKNOWN
from tests.schemes import SHIPPED
from training.synthesis import glyphs, perspective, plates, scripts, surroundings, synthesize, texts
from training.synthesis.crops import HEIGHTS, photograph
from training.synthesis.layouts import drawn, layouts
from training.synthesis.typefaces import SKELETON, TYPEFACES

RUSSIA = main_scheme()
KINDS = [each.name for each in RUSSIA.formats]


@pytest.mark.parametrize("symbol", [*RUSSIA.alphabet, "D", "R", "U", "S"])  # a typeface of its own has the rest
def test_a_glyph_is_one_piece_that_fills_its_box(symbol: str) -> None:
    drawn = glyphs.mask(symbol, 96)
    pieces, _ = cv2.connectedComponents((drawn > 127).astype(np.uint8))
    assert pieces == 2  # ground and symbol
    for edge in (drawn[:3], drawn[-3:], drawn[:, :3], drawn[:, -3:]):
        assert edge.max() > 200


def test_glyphs_of_equal_height_differ() -> None:
    for group in (RUSSIA.signs["0"], RUSSIA.signs["A"]):
        for one, other in combinations(group, 2):
            a, b = (cv2.resize(glyphs.mask(symbol, 96), (64, 96)) > 127 for symbol in (one, other))
            assert (a & b).sum() / (a | b).sum() < 0.85, (one, other)


def test_heavier_strokes_cover_more() -> None:
    cover = [int(glyphs.mask("8", 60, weight).sum()) for weight in (-2.0, 0.0, 1.0)]
    assert cover == sorted(cover)


def test_a_sign_that_no_font_has_is_refused() -> None:
    with pytest.raises(InputError, match="fonts: "):
        glyphs.mask("\ue000", 40)  # of the private use area


def test_signs_of_other_scripts_come_from_fonts() -> None:
    for signs in (scripts.HAN, scripts.HANGUL, scripts.ARABIC_DIGITS):
        one, other = (cv2.resize(glyphs.mask(sign, 96), (64, 96)) > 127 for sign in signs[:2])
        assert 0.05 < one.mean() < 0.9 and (one & other).sum() / (one | other).sum() < 0.9


@pytest.mark.parametrize("typeface", TYPEFACES)
def test_no_sign_of_another_script_is_left_empty(typeface: str) -> None:
    assert all(glyphs.mask(sign, 40, typeface=typeface).max() > 200 for sign in "京가あ")


@pytest.mark.parametrize("typeface", TYPEFACES)
def test_a_typeface_has_every_symbol_in_one_piece(typeface: str) -> None:
    masks = {symbol: glyphs.mask(symbol, 96, typeface=typeface) for symbol in SKELETON}
    assert set(masks) <= set(load_scheme("latin").alphabet)
    for symbol, mask in masks.items():
        pieces, _ = cv2.connectedComponents((mask > 127).astype(np.uint8))
        dotted = typeface == "dotted" and symbol == "0"
        assert pieces == 2 + dotted, f"{symbol}: the ground and the symbol"
        assert all(edge.max() > 200 for edge in (mask[:4], mask[-4:])), symbol
    alike = [cv2.resize(mask, (64, 96)) > 127 for symbol, mask in masks.items() if symbol not in "0O1I"]
    for one, other in combinations(alike, 2):
        assert (one & other).sum() / (one | other).sum() < 0.96


@pytest.mark.parametrize("letter", sorted(set(load_scheme("latin").alphabet) - set(SKELETON) - {UNKNOWN}))
def test_a_letter_with_an_accent_differs_from_the_letter(letter: str) -> None:
    base = {"Đ": "D"}.get(letter) or unicodedata.normalize("NFD", letter)[0]
    for typeface in TYPEFACES:
        own, plain = (cv2.resize(glyphs.mask(each, 96, 0, typeface), (64, 96)) > 127 for each in (letter, base))
        assert 0.2 < (own & plain).sum() / (own | plain).sum() < 0.95, typeface


def test_unknown_signs_are_one_class() -> None:
    latin = load_scheme("latin")
    assert [latin.spelled(text) for text in ("京A88731", "12가3456", "117تونس3989", "٧١٢٦نطس", "FÜ12")] == [
        "?A88731", "12?3456", "117?3989", "?", "FÜ12"
    ]  # fmt: skip
    rng = np.random.default_rng(3)
    for _ in range(50):
        shown = scripts.with_unknown_signs("AB12CDE", rng)
        assert len(shown) == 7 and UNKNOWN in latin.spelled(shown)
    with pytest.raises(SchemeError, match="京"):
        RUSSIA.spelled("京A88731")


@pytest.mark.parametrize("name", sorted({*SHIPPED} - {"russia"}))
def test_plates_of_other_schemes_are_drawn_in_every_format(name: str) -> None:
    scheme, rng = load_scheme(name), np.random.default_rng(4)
    for each in scheme.formats:
        sizes = {(drawing.width, drawing.height) for drawing in scheme.synthesis.drawings.get(each.name, ())}
        assert sizes or not scheme.country, f"{each.name} is not drawn"
        for _ in range(4):
            kind, text = texts.sample_text(scheme, rng, each.name)
            layout = plates.sample_layout(scheme, kind, text, rng)
            assert len(layout.slots) == len(text)
            assert not sizes or (layout.width, layout.height) in sizes
            for slot in layout.slots:
                assert 0 < slot.x < layout.width and slot.height < slot.baseline < layout.height, f"{kind} {text}"
            fit = next(fit for fit in scheme.fits(text) if fit.format.name == kind)
            first_line = sum(map(len, fit.parts[: fit.format.parts_of_lines[0]]))
            for line in np.split(np.array([slot.x for slot in layout.slots]), [first_line]):
                assert (np.diff(line) > 0).all(), f"{kind} {text}: from left to right"
        plate = plates.draw_layout(layout, text, rng, 0.5)
        assert plate.shape == (round(layout.height * 0.5), round(layout.width * 0.5), 3) and plate.std() > 8


def test_a_drawing_with_an_unknown_typeface_is_refused() -> None:
    scheme = load_scheme("brazil")
    drawing = replace(scheme.synthesis.drawings["old"][0], typeface="gothic")
    with pytest.raises(InputError, match="typeface: expected even, narrow"):
        drawn.layout(drawing, scheme.fits("ABC1234")[0], np.random.default_rng(0))


def test_characters_of_a_line_are_close_and_narrowed_without_room() -> None:
    rng = np.random.default_rng(0)
    wide, _, _ = drawn.in_line(Line(0, 500, 76, 90, 20), ("11", "WW"), "din", rng)
    tight, _, _ = drawn.in_line(Line(0, 150, 76, 90, 20), ("11", "WW"), "din", rng)
    ones, letters = wide[1].x - wide[0].x, wide[3].x - wide[2].x
    assert ones < letters, "a 1 takes less room than a W"
    assert wide[0].narrowed == 1 and tight[0].narrowed < 0.8
    assert abs((wide[0].x - 0) - (500 - wide[3].x)) < 40, "in the middle"


def test_marks_and_seals_stand_between_the_parts() -> None:
    line = Line(0, 500, 76, 90, 40, ("-", SEAL))
    slots, marks, seals = drawn.in_line(line, ("AB", "12", "CD"), "din", np.random.default_rng(0))
    assert [symbol for symbol, _ in marks] == ["-"] and slots[1].x < marks[0][1].x < slots[2].x
    assert seals and all(slots[3].x < seal.x < slots[4].x for seal in seals)


def test_small_letters_are_drawn_as_one_of_the_alternatives() -> None:
    rng, small = np.random.default_rng(0), Small("SP SANTOS|##.@", 100, 10, 20)
    told = {"".join(letter for letter, _ in drawn.small_letters(small, rng)) for _ in range(40)}
    assert "SPSANTOS" in told and any(len(text) == 4 and text[:2].isdigit() and text[2] == "." for text in told)


def test_signs_that_mean_the_same_stand_above_in_another_script() -> None:
    layout = plates.sample_layout(load_scheme("saudi_arabia"), "since 2007", "7356TNJ", np.random.default_rng(0))
    twins = layout.country[:7]
    assert "".join(sign for sign, _ in twins) == "٧٣٥٦طنح"
    for (_, twin), slot in zip(twins, layout.slots, strict=True):
        assert abs(twin.x - slot.x) < 5 and twin.baseline < slot.baseline - slot.height


def test_a_band_has_its_own_ink() -> None:
    scheme, rng = load_scheme("emirates"), np.random.default_rng(0)
    several = (plates.sample_layout(scheme, "number", "512345", rng) for _ in range(40))
    layout = next(each for each in several if each.bands)
    red = plates.draw_layout(layout, "512345", rng, 1.0)[20:90, 30:90, 1]
    assert np.median(red) < 90 and red.max() > 150, "a white 5"


def test_signs_as_wide_as_high_have_room() -> None:
    (_, one), (_, other) = drawn.small_letters(Small("横浜", 100, 30, 50), np.random.default_rng(0))
    assert other.x - one.x == 30 and (one.x + other.x) / 2 == 100


def test_a_band_thinner_than_a_pixel_is_not_drawn() -> None:
    flat = plates.draw(load_scheme("austria"), "one letter", "W1234A", np.random.default_rng(0), 0.1)
    assert flat.shape == (12, 52, 3)


def test_designs_are_drawn_by_their_shares_and_looks_change_colours() -> None:
    scheme, rng = load_scheme("united_kingdom"), np.random.default_rng(0)
    layouts_drawn = [plates.sample_layout(scheme, "since 2001", "AB12CDE", rng) for _ in range(60)]
    yellow = sum(layout.ground[0] < 100 for layout in layouts_drawn) / 60
    assert 0.3 < yellow < 0.7 and 0.15 < sum(bool(layout.bands) for layout in layouts_drawn) / 60 < 0.6


def test_texts_cover_symbols_kinds_and_hard_regions() -> None:
    rng = np.random.default_rng(2)
    drawn = [texts.sample_text(RUSSIA, rng) for _ in range(4000)]
    assert all(kind in {each.name for each in RUSSIA.formats_of(text)} for kind, text in drawn)
    assert set("".join(text for _, text in drawn)) == set(RUSSIA.alphabet)
    shares = {kind: sum(k == kind for k, _ in drawn) / len(drawn) for kind in KINDS}
    for kind, share in RUSSIA.synthesis.shares.items():
        assert abs(shares[kind] - share) < 0.03
    assert sum(text.endswith("777") for kind, text in drawn if kind == "private") >= 10


@pytest.mark.parametrize(("kind", "patterns"), layouts(RUSSIA))
def test_every_layout_is_drawn(kind: str, patterns: tuple[str, ...]) -> None:
    rng = np.random.default_rng(3)
    while len(text := texts.sample_text(RUSSIA, rng, kind)[1]) != sum(map(len, patterns)):
        pass
    plate = plates.draw(RUSSIA, kind, text, rng, 0.5)
    spec = layouts(RUSSIA)[kind, patterns]
    assert plate.shape == (round(spec.height / 2), round(spec.width / 2), 3) and plate.dtype == np.uint8
    ground = np.median(plate.reshape(-1, 3), axis=0)
    grounds = [spec.ground, *(spec.other or ())[:1]]
    assert min(np.abs(ground - each).max() for each in grounds) < 50
    first = {each.name: each.first_line for each in RUSSIA.formats}[kind]
    ends = len("".join(patterns[:first])) if first else len(spec.slots)
    for line in (spec.slots[:ends], spec.slots[ends:]):
        assert all(a.x < b.x for a, b in pairwise(line))


@pytest.mark.parametrize(("kind", "text"), [("bicycle", "A123BC77"), ("private", "A123BC7777"), ("taxi", "AB123777X")])
def test_a_text_without_a_layout_is_refused(kind: str, text: str) -> None:
    with pytest.raises(InputError, match=r"plates\.draw: unknown"):
        plates.draw(RUSSIA, kind, text, np.random.default_rng(0))


def features_of(corners: NDArray[np.float64]) -> NDArray[np.float64]:
    """Corner points (N, 4, 2) -> the five features (N, 5)."""
    a, b, c, d = (corners[:, i] for i in range(4))
    along = ((b - a) + (c - d)) / 2
    across = ((d - a) + (c - b)) / 2
    twist = (a - b + c - d) / 4
    width = np.linalg.norm(along, axis=1)
    unit = along / width[:, None]
    normal = np.stack([-unit[:, 1], unit[:, 0]], axis=1)
    height = np.maximum((across * normal).sum(1) / width, 1e-3)
    return np.stack(
        [
            np.arctan2(unit[:, 1], unit[:, 0]),
            (across * unit).sum(1) / width,
            np.log(height),
            (twist * unit).sum(1) / width,
            (twist * normal).sum(1) / width,
        ],
        axis=1,
    )


def test_corners_and_features_are_each_others_inverse() -> None:
    features = np.array([[0.2, 0.03, -1.4, 0.004, -0.006], [-0.3, -0.05, -1.7, 0, 0.01]])
    for row in features:
        corners = perspective.corners_of(row, 30.0)
        assert np.allclose(features_of(corners[None].astype(np.float64))[0], row, atol=1e-5)


def test_drawn_corners_follow_the_fitted_perspective() -> None:
    rng = np.random.default_rng(4)
    drawn = np.array([perspective.sample_corners(rng, 40.0) for _ in range(3000)], np.float64)
    features = features_of(drawn)
    assert np.allclose(np.median(features, axis=0), perspective.MEAN, atol=0.02)
    spread = np.subtract(*np.percentile(features, (75, 25), axis=0))  # of a t distribution 1.45 times its scale
    assert np.allclose(spread / 1.45, np.sqrt(np.diag(perspective.SCALE)), rtol=0.25)


def plate_in_a_picture() -> tuple[NDArray[np.uint8], NDArray[np.float32]]:
    rng = np.random.default_rng(5)
    return surroundings.surround(plates.draw(RUSSIA, "private", "B911TO150", rng, 0.5), rng)


def test_photograph_without_severity_is_the_plain_crop() -> None:
    picture, corners = plate_in_a_picture()
    (x0, y0), (x1, y1) = corners[0].astype(int), corners[2].astype(int)
    plain = cv2.resize(picture[y0:y1, x0:x1], (94, 24), interpolation=cv2.INTER_AREA)[4:-4, 12:-12]
    for seed in range(10):
        crop = photograph(picture, corners, np.random.default_rng(seed), severity=0.0)
        # The box is a little looser than the plate, so search for the plate and compare its size with a tolerance.
        found = max(
            cv2.matchTemplate(crop, cv2.resize(plain, None, fx=fx, fy=fy), cv2.TM_CCOEFF_NORMED).max()
            for fx in (0.96, 0.98, 1.0)
            for fy in (0.86, 0.92, 0.97, 1.0)
        )
        assert found > 0.85


@pytest.mark.parametrize("severity", [0.0, 0.3, 1.0])
def test_the_generator_determines_a_photograph(severity: float) -> None:
    picture, corners = plate_in_a_picture()
    before = picture.copy()
    first, again, other = (photograph(picture, corners, np.random.default_rng(s), severity) for s in (7, 7, 8))
    assert first.shape == (24, 94, 3) and first.dtype == np.uint8
    assert np.array_equal(first, again) and not np.array_equal(first, other)
    assert np.array_equal(picture, before)


def test_photograph_takes_cut_outs_of_any_size() -> None:
    rng = np.random.default_rng(9)
    for height in (3, 9, 30, 300):
        picture = rng.integers(0, 256, (2 * height + 2, 9 * height, 3), dtype=np.uint8)
        x, y = 2.0 * height, 0.5 * height
        corners = np.array([[x, y], [x + 4.6 * height, y], [x + 4.6 * height, y + height], [x, y + height]], np.float32)
        for _ in range(20):
            assert photograph(picture, corners, rng).shape == (24, 94, 3)


def test_samples_are_decided_by_the_seed_and_stay_readable() -> None:
    first, again = ([synthesize(RUSSIA, np.random.default_rng(s)) for s in range(150)] for _ in range(2))
    for one, other in zip(first, again, strict=True):
        assert np.array_equal(one.crop, other.crop) and one.text == other.text
    assert {sample.kind for sample in first} == {each.name for each in RUSSIA.by_lines[1].formats}
    lowest, highest = HEIGHTS["boxed"]
    assert all(lowest <= sample.height <= highest for sample in first)
    flat = sum(float(sample.crop.std()) < 8 for sample in first)
    assert flat <= 2


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(InputError, match=r"unknown 'tractor'; expected one of private"):
        synthesize(RUSSIA, np.random.default_rng(0), "tractor")
