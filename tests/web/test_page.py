"""The page in a real browser: what a person sees, does and downloads; no foreign request, no error, no barrier."""

import base64
import csv
import io
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Literal

import cv2
import httpx
import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Browser, BrowserContext, FilePayload, Page, ViewportSize, expect

from plate_nets.countries.designs import GROUNDS
from plate_nets.events.event import Candidate, Crossing, Images, Judged
from plate_nets.recognition.geometry import resize
from plate_nets.types import PLATE_COLUMNS, Box, Frame, Unread, Vehicle
from tests.clips import passing, write_clip
from tests.events import MOMENT, event, later
from tests.frames import Placed, compose, encode
from tests.web.browsing import DESK_EN, LOOKS, NAMES, PHONE, PHONE_RU, Look, check, looking, opened, picture, watch
from tests.web.conftest import CAR, ROAD, TEXT, TOKEN, Seen
from tests.web.test_reports import OTHER, post

MARKUP = "<img src=x onerror=alert(1)>.jpg"
WALL: ViewportSize = {"width": 2560, "height": 1440}
SCENE = encode(compose(720, 1280, [Placed("A123BC77", 200, 400, 220), Placed("E777KX199", 800, 300, 150)]), ".jpg")
MOST_BYTES = 150_000
MOST_DIFFERENCE = 6.0
"""Maximum mean difference, 0 to 255: two ways to interpolate, and the JPEG of one of them."""


@pytest.fixture
def context(browser: Browser, web: httpx.Client) -> Iterator[BrowserContext]:
    url = str(web.base_url)
    context = browser.new_context(base_url=url, locale="en-GB", permissions=["clipboard-read", "clipboard-write"])
    faults = watch(context, url)
    yield context
    context.close()
    assert faults == []


def drop(page: Page, *files: tuple[str, bytes], pasted: bool = False) -> None:
    """Drop files on the page, or paste them, as if by hand."""
    page.evaluate(
        """([files, pasted]) => {
            const data = new DataTransfer();
            for (const [name, encoded] of files)
                data.items.add(new File([Uint8Array.from(atob(encoded), (each) => each.charCodeAt(0))], name));
            const dropped = { dataTransfer: data, bubbles: true, cancelable: true };
            if (pasted) dispatchEvent(new ClipboardEvent("paste", { clipboardData: data }));
            else document.body.dispatchEvent(new DragEvent("drop", dropped));
        }""",
        [[[name, base64.b64encode(data).decode()] for name, data in files], pasted],
    )


def saved(page: Page, name: str) -> bytes:
    """The file behind a download button."""
    with page.expect_download() as started:
        page.click(f"[data-download={name}]")
    return Path(started.value.path()).read_bytes()


def test_a_dropped_photo_shows_its_plates_and_can_be_downloaded(context: BrowserContext, web: httpx.Client) -> None:
    (picture,) = web.post("/api/v1/plates", files={"file": SCENE}).json()["pictures"]
    texts = [plate["text"] for plate in sorted(picture["plates"], key=lambda plate: -plate["score"])]
    assert sorted(texts) == ["A123BC77", "E777KX199"]
    page = opened(context)
    drop(page, ("scene.jpg", SCENE))
    sign = page.locator(".plate .sign")
    expect(sign).to_have_text(texts)
    expect(page.locator(".outline.sure")).to_have_count(2)
    expect(page.locator(".crop canvas")).to_have_count(2)

    page.locator(".plate .crop").first.click()
    assert "scale(1)" not in (page.locator(".layer").get_attribute("style") or "")
    page.get_by_role("button", name="Show all").click()
    assert "scale(1)" in (page.locator(".layer").get_attribute("style") or "")
    page.get_by_role("button", name="Copy: A123BC77").click()
    assert page.evaluate("navigator.clipboard.readText()") == "A123BC77"

    answer = json.loads(saved(page, "json"))
    assert [plate["text"] for plate in answer["plates"]] == texts
    rows = list(csv.DictReader(io.StringIO(saved(page, "csv").decode())))
    assert [(row["file"], row["text"]) for row in rows] == [("scene.jpg", text) for text in texts]
    assert tuple(rows[0]) == PLATE_COLUMNS
    drawn = cv2.imdecode(np.frombuffer(saved(page, "picture"), np.uint8), cv2.IMREAD_COLOR)
    assert drawn is not None
    assert drawn.shape == (720, 1280, 3)


@pytest.fixture(scope="module")
def scripts(browser: Browser, web: httpx.Client) -> Iterator[Page]:
    """A page for tests that only ask its scripts."""
    with looking(browser, str(web.base_url), DESK_EN, "/") as page:
        yield page


def test_a_sign_has_its_characters_where_they_are_on_the_plate(scripts: Page) -> None:
    found = scripts.evaluate("""async (texts) => {
        const { plateSign } = await import("/static/plate.js");
        return texts.map((text) => {
            const sign = plateSign({ text, reading: text, characters: [] });
            return [sign.dir, ...[...sign.children].map((cell) => cell.textContent)];
        });
    }""", ["京A12", "17تونس39", "طن٧١", "۱۲ب۳۴"])  # fmt: skip
    assert found == [
        ["ltr", "京", "A", "1", "2"],
        ["ltr", "1", "7", "تونس", "3", "9"],
        ["rtl", "ط", "ن", "٧١"],
        ["ltr", "۱", "۲", "ب", "۳", "۴"],
    ]


def test_a_line_of_words_has_the_characters_where_they_are_on_the_plate(context: BrowserContext) -> None:
    found = opened(context).evaluate("""async (texts) => {
        const { inLine } = await import("/static/plate.js");
        return texts.map((text) => {
            const line = document.body.appendChild(document.createElement("p"));
            line.append(`${inLine(text)} 5`);
            const [node] = line.childNodes;
            const places = [...node.data].map((char, at) => {
                const range = document.createRange();
                range.setStart(node, at);
                range.setEnd(node, at + 1);
                return [range.getBoundingClientRect().left, char];
            });
            const visible = places.filter(([, char]) => !/\\p{Cf}/u.test(char));
            return visible.sort(([a], [b]) => a - b).map(([, char]) => char).join("");
        });
    }""", ["京A12", "17تونس39", "طن٧١", "۱۲ب۳۴"])  # fmt: skip
    assert found == ["京A12 5", f"17{'تونس'[::-1]}39 5", f"٧١{'طن'[::-1]} 5", "۱۲ب۳۴ 5"]


def brightness(colour: str) -> float:
    """The relative luminance of "rgb(r, g, b)", after WCAG 2."""
    parts = [int(each) / 255 for each in re.findall(r"\d+", colour)]
    linear = [each / 12.92 if each <= 0.04045 else ((each + 0.055) / 1.055) ** 2.4 for each in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_a_sign_has_the_ground_of_its_plate_and_stays_legible(scripts: Page) -> None:
    shown = scripts.evaluate("""async (grounds) => {
        const { plateSign } = await import("/static/plate.js");
        const characters = [1, 0.7, 0.3].map((score) => ({ char: "A", score }));
        return grounds.map((ground) => {
            const sign = plateSign({ text: "AAA", reading: "AAA", characters, ground });
            document.body.append(sign);
            const cells = [...sign.children].map((cell) => getComputedStyle(cell));
            const of = getComputedStyle(sign).backgroundColor;
            return [of, cells.map((cell) => [cell.backgroundColor, cell.color])];
        });
    }""", [*GROUNDS, None])  # fmt: skip
    assert len({ground for ground, _ in shown}) == len(GROUNDS) and shown[-1] == shown[GROUNDS.index("white")]
    for ground, cells in shown:
        for own, ink in cells:
            behind = ground if own == "rgba(0, 0, 0, 0)" else own
            darker, brighter = sorted(map(brightness, (behind, ink)))
            assert (brighter + 0.05) / (darker + 0.05) >= 4.5


@pytest.mark.parametrize(
    ("language", "says"),
    [
        (
            "en",
            ["Plates are smeared (40 %): shorten the exposure to 1/1000 s", "Plates are dark (60 %): add light, or"],
        ),
        ("ru", ["Номера смазаны (40 %): уменьшите выдержку до 1/1000 с", "Номера тёмные (60 %): добавьте света или"]),
    ],
)
def test_a_camera_that_is_set_up_badly_gets_advice(context: BrowserContext, language: str, says: list[str]) -> None:
    views = [
        {"fault": "smeared", "shutter": 1000, "spoilt": {"smeared": 0.4}},
        {"fault": "dark", "shutter": None, "spoilt": {"dark": 0.6}},
        {"fault": None, "shutter": None, "spoilt": {"dark": 0.1}},
        None,
    ]
    advice = opened(context, f"/?lang={language}").evaluate(
        "async (views) => { const { adviceOf } = await import('/static/advice.js'); return views.map(adviceOf); }",
        views,
    )
    assert advice[2:] == ["", ""]
    assert all(given.startswith(begins) for given, begins in zip(advice, says, strict=False)), advice


def test_plates_are_cut_out_by_the_browser_as_the_api_cuts_them(context: BrowserContext, web: httpx.Client) -> None:
    flat = compose(720, 1280, [Placed("A123BC77", 60, 60, 700), Placed("E777KX199", 800, 450, 150)])
    seen = np.array([[0, 0], [1280, 150], [1150, 720], [40, 600]], np.float32)
    matrix = cv2.getPerspectiveTransform(np.array([[0, 0], [1280, 0], [1280, 720], [0, 720]], np.float32), seen)
    photo = io.BytesIO()
    exif = Image.Exif()
    exif[0x0112] = 6  # orientation: a quarter turn clockwise
    turned = cv2.rotate(cv2.warpPerspective(flat, matrix, (1280, 720)), cv2.ROTATE_90_COUNTERCLOCKWISE)
    Image.fromarray(turned[..., ::-1]).save(photo, "JPEG", quality=95, exif=exif)
    asked: list[str] = []
    context.on("request", lambda request: asked.append(request.url))
    page = opened(context)
    drop(page, ("turned.jpg", photo.getvalue()))
    canvas = page.locator(".crop canvas")
    expect(canvas).to_have_count(2)
    (picture,) = web.post("/api/v1/plates?crops=true", files={"file": photo.getvalue()}).json()["pictures"]
    assert not any("crops" in url for url in asked)
    for index, plate in enumerate(picture["plates"]):
        drawn = address_picture(canvas.nth(index).evaluate("canvas => canvas.toDataURL()"))
        expected = address_picture(plate["crop"])
        assert abs(drawn.shape[1] - expected.shape[1]) <= 1  # corners in an answer are rounded
        drawn = resize(drawn, (expected.shape[0], expected.shape[1]))
        assert cv2.absdiff(drawn, expected).mean() < MOST_DIFFERENCE


def address_picture(address: str) -> Frame:
    """A data URL -> its picture."""
    encoded = np.frombuffer(base64.b64decode(address.partition(",")[2]), np.uint8)
    return np.asarray(cv2.imdecode(encoded, cv2.IMREAD_COLOR), np.uint8)


def test_a_picture_is_pasted(context: BrowserContext) -> None:
    page = opened(context)
    drop(page, ("pasted.png", CAR), pasted=True)
    expect(page.locator(".plate .sign")).to_have_text([TEXT])


def test_many_files_each_have_their_own_result(context: BrowserContext) -> None:
    page = opened(context)
    files: list[FilePayload] = [
        {"name": MARKUP, "mimeType": "image/jpeg", "buffer": CAR},
        {"name": "road.jpg", "mimeType": "image/jpeg", "buffer": ROAD},
        {"name": "notes.txt", "mimeType": "text/plain", "buffer": b"no picture"},
        {"name": "torn.mp4", "mimeType": "video/mp4", "buffer": b"no video"},
    ]
    page.set_input_files("#files", files)
    thumbs = page.locator(".thumb")
    expect(thumbs).to_have_count(4)
    expect(page.locator(".results h2")).to_have_text(MARKUP)
    expect(page.locator(".plate .sign")).to_have_text([TEXT])
    thumbs.nth(1).click()
    expect(page.locator(".empty")).to_be_visible()
    for number, says in ((2, "not a picture"), (3, "video cannot be read")):
        thumbs.nth(number).click()
        expect(page.locator(".fault")).to_contain_text(says)


def test_the_page_works_with_the_keyboard_only(context: BrowserContext) -> None:
    page = opened(context)
    page.keyboard.press("Tab")
    expect(page.locator(".skip")).to_be_focused()
    page.get_by_role("button", name="Try our photo").focus()
    page.keyboard.press("Enter")
    photo = page.locator(".photo[tabindex]")
    photo.focus()
    page.keyboard.press("+")
    assert "scale(1.5)" in (page.locator(".layer").get_attribute("style") or "")
    page.keyboard.press("0")
    assert "scale(1)" in (page.locator(".layer").get_attribute("style") or "")


def test_the_page_is_light(context: BrowserContext) -> None:
    weights: list[int] = []
    context.on("requestfinished", lambda request: weights.append(request.sizes()["responseBodySize"]))
    page = opened(context)
    page.wait_for_load_state("networkidle")
    assert 0 < sum(weights) <= MOST_BYTES


def test_a_login_opens_the_page(browser: Browser, guarded: httpx.Client) -> None:
    url = str(guarded.base_url)
    with browser.new_context(base_url=url, locale="ru-RU") as context:
        faults = watch(context, url)
        page = context.new_page()
        page.goto("/")
        expect(page.locator("h1")).to_have_text("Вход")
        page.fill("#token", TOKEN)
        page.keyboard.press("Enter")
        page.wait_for_selector("html[data-ready]")
        drop(page, ("car.jpg", CAR))
        expect(page.locator(".plate .sign")).to_have_text([TEXT])
        page.get_by_role("button", name="Выйти").click()
        page.wait_for_url("**/login")
        assert faults == []


def test_a_video_is_played_and_its_events_arrive(context: BrowserContext, tmp_path: Path) -> None:
    clip = write_clip(tmp_path / "passing.mp4", passing(12, empty=8), fps=4)
    page = opened(context)
    page.set_input_files("#files", clip)
    row = page.locator(".results .event")
    expect(row).to_have_attribute("data-plate", TEXT, timeout=60_000)
    expect(page.locator(".results progress")).to_have_count(0, timeout=60_000)
    row.get_by_role("button").click()
    page.wait_for_function("document.querySelector('video').currentTime > 0")


def test_a_video_that_the_browser_cannot_play_is_still_read(context: BrowserContext, tmp_path: Path) -> None:
    clip = write_clip(tmp_path / "passing.mp4", passing(12, empty=8), fps=4, codec="mpeg4")
    page = opened(context)
    page.set_input_files("#files", clip)
    expect(page.get_by_text("This browser cannot play this video")).to_be_visible()
    expect(page.locator("video")).to_have_count(0)
    row = page.locator(".results .event")
    expect(row).to_have_attribute("data-plate", TEXT, timeout=60_000)
    expect(page.locator("#results")).to_contain_text("Finished the video", timeout=60_000)
    expect(row.locator("time")).to_have_text(re.compile(r"0:0\d"))
    expect(row.get_by_role("button")).to_have_count(0)  # there is nowhere to jump to
    picture(page, "web_try_unplayable")


def test_a_video_after_a_photo_shows_that_it_cannot_be_played(context: BrowserContext, tmp_path: Path) -> None:
    """Neither that of a container which it does not know, nor that whose sound alone it could play."""
    clips = [
        write_clip(tmp_path / name, passing(4), fps=4, codec="mpeg4", audio=name == "sound.mp4")
        for name in ("silent.avi", "sound.mp4")
    ]
    page = opened(context)
    drop(page, ("car.jpg", CAR), *((clip.name, clip.read_bytes()) for clip in clips))
    expect(page.locator(".thumb[data-state=done]")).to_have_count(3, timeout=60_000)
    for number in (1, 2):
        page.locator(".thumb").nth(number).click()
        expect(page.get_by_text("This browser cannot play this video")).to_be_visible()
        expect(page.locator("video")).to_have_count(0)


def test_events_arrive_and_can_be_searched_and_corrected(browser: Browser, seen: Seen) -> None:
    seen.write(*(event(number) for number in range(60)))
    with looking(browser, str(seen.client.base_url), DESK_EN, "/#events") as page:
        rows = page.locator(".event")
        expect(rows).to_have_count(50)
        page.get_by_role("button", name="Show more").click()
        expect(rows).to_have_count(60)
        expect(page.locator("#found-connection")).not_to_be_empty()
        vehicle = Vehicle(Box(0, 0, 200, 150), "car", 0.9, "rear")
        seen.write(replace(event(60, listed=True), vehicle=vehicle, country=Judged("ru", 0.98)))
        expect(rows.first).to_have_attribute("data-plate", "A060BC77")
        for shown in ("staff: Ann", "car, rear", "RU"):
            expect(rows.first).to_contain_text(shown)

        page.fill("#search-text", "A00*")
        expect(rows).to_have_count(10)
        page.fill("#search-text", "A007BC78")
        page.select_option("#search-distance", "1")
        expect(rows.first).to_have_attribute("data-plate", "A007BC77")
        rows.first.get_by_role("button", name="Correct").click()
        page.keyboard.type("<b>")
        page.keyboard.press("Enter")
        expect(page.locator("#said")).to_contain_text("letters and digits")
        page.locator(".correction input").fill("в777ор99")
        page.keyboard.press("Enter")
        expect(rows.first).to_have_attribute("data-plate", "B777OP99")
        expect(rows.first).to_contain_text("corrected by hand")

        page.goto("/#lists")
        entry = page.locator("[data-list=staff]")
        entry.get_by_label("Plate: staff").fill("M333MM99")
        entry.get_by_label("Label: staff").fill("<i>Eve</i>")
        page.keyboard.press("Enter")
        expect(entry.locator("tbody tr")).to_have_count(2)
        expect(entry.locator("tbody")).to_contain_text("<i>Eve</i>")
        entry.get_by_role("button", name="Remove: M333MM99").click()
        expect(entry.locator("tbody tr")).to_have_count(1)


@pytest.mark.parametrize("look", LOOKS, ids=NAMES)
def test_live_shows_the_newest_events_and_events_finds_all(browser: Browser, seen: Seen, look: Look) -> None:
    seen.write(*(event(number) for number in range(25)))
    with looking(browser, str(seen.client.base_url), look, "/#live") as page:
        rows, found = page.locator("#newest .event"), page.locator("#found .event")
        expect(rows).to_have_count(20)
        expect(page.locator("#newest-connection")).to_have_text(look.text("events.newest"))
        seen.write(event(25))
        expect(rows.first).to_have_attribute("data-plate", "A025BC77")
        expect(rows).to_have_count(20)
        barriers = check(page, "live")
        rows.last.get_by_role("button", name=f"{look.text('events.history')}: A006BC77").click()
        page.get_by_role("button", name=look.text("events.show_visits")).click()
        expect(found).to_have_count(1)
        expect(found).to_have_attribute("data-plate", "A006BC77")
        expect(page.locator("h1:visible")).to_have_text(look.text("events.heading"))

        tabs = page.get_by_role("navigation").get_by_role("link")
        expect(tabs).to_have_text([look.text(f"nav.{name}") for name in ("try", "live", "events", "lists", "health")])
        tabs.nth(1).click()
        expect(rows).to_have_count(20)
        page.get_by_role("link", name=look.text("live.all_events")).click()
        expect(page.locator("#search-text")).to_have_value("A006BC77")
        expect(page.locator("#search-camera option")).to_have_text([look.text("events.any_camera"), "gate"])
        page.get_by_role("button", name=look.text("events.reset")).click()
        expect(found).to_have_count(26)
        assert barriers == []


@pytest.mark.parametrize(
    ("look", "times", "days", "direction"),
    [
        (
            DESK_EN,
            ["11/22/26, 15:30:00", "11/22/26, 16:00:00"],
            ["Sun, Nov 22, 2026 · Events: 3", "Sat, Nov 21, 2026 · Events: 0"],
            "left to right",
        ),
        (
            PHONE_RU,
            ["22.11.2026, 15:30:00", "22.11.2026, 16:00:00"],
            ["вс, 22 нояб. 2026 г. · Событий: 3", "сб, 21 нояб. 2026 г. · Событий: 0"],
            "слева направо",
        ),
    ],
    ids=NAMES,
)
def test_a_plate_has_a_history_and_a_day_has_bars(
    browser: Browser, seen: Seen, look: Look, times: list[str], days: list[str], direction: str
) -> None:
    """Each hour is one of the browser's time zone, which need not be a whole hour away."""
    crossed = (Crossing("entry", "left to right", MOMENT),)
    seen.write(*(replace(event(60 * number, camera="gate"), plate=TEXT) for number in (0, 1, 30)))
    seen.write(replace(event(90 * 60), crossings=crossed))
    with looking(browser, str(seen.client.base_url), look, "/#events", "Asia/Kolkata") as page:
        rows, bars = page.locator(".event"), page.locator("#day-bars")
        expect(rows).to_have_count(4)
        rows.last.get_by_role("button", name=f"{look.text('events.history')}: {TEXT}").click()
        panel = rows.last.locator(".event-panel")
        expect(panel).to_contain_text(look.text("events.visits", count=3))
        expect(panel.locator("tbody td")).to_have_text(["gate", "3", *times])
        barriers = check(page, "history")
        picture(page, f"web_history_{look.name}")
        panel.get_by_role("button", name=look.text("events.show_visits")).click()
        expect(rows).to_have_count(3)

        if look.viewport is PHONE:
            page.locator("#filters summary").click()
        page.get_by_label(look.text("events.until"), exact=True).fill("2026-11-23T00:00")
        expect(page.locator("#day-name")).to_have_text(days[0])
        expect(bars).to_have_attribute("aria-label", "15:00 2, 16:00 1")
        page.fill("#search-text", "")
        expect(bars).to_have_attribute("aria-label", "15:00 2, 16:00 1, 17:00 1")
        line = page.locator("#day-lines li")
        expect(line.locator("span")).to_have_text(f"gate · entry · {direction}: 1")
        expect(line.locator("svg")).to_have_attribute("aria-label", "15:00 1")
        picture(page, f"web_day_{look.name}")
        barriers += check(page, "day")
        page.get_by_role("button", name=look.text("events.day_before")).click()
        expect(page.locator("#day-name")).to_have_text(days[1])
        expect(rows).to_have_count(0)
        expect(line).to_have_count(0)
        page.get_by_role("button", name=look.text("events.day_after")).click()
        expect(rows).to_have_count(4)
        with page.expect_download() as started:
            page.get_by_role("link", name="CSV").click()
        table = csv.DictReader(Path(started.value.path()).read_text(encoding="utf-8").splitlines())
        assert [row["plate"] for row in table] == [event(90 * 60).plate, TEXT, TEXT, TEXT]
        assert barriers == []


@pytest.mark.parametrize(
    ("look", "near", "begins"),
    [
        (DESK_EN, "characters that differ: 1; matches if the pictures", "from Nov 30, 2026"),
        (PHONE_RU, "других знаков: 1; совпадёт, если по снимкам", "с 30 нояб. 2026 г."),
    ],
    ids=NAMES,
)
def test_a_seen_plate_is_added_to_a_list_and_gets_limits(
    browser: Browser, seen: Seen, look: Look, near: str, begins: str
) -> None:
    seen.write(event(2), replace(event(3), plate="", unread=Unread("blurred", 3.0, "px")))
    with looking(browser, str(seen.client.base_url), look, "/#events", "America/Lima") as page:
        rows = page.locator(".event")
        expect(rows).to_have_count(2)
        expect(rows.first.get_by_role("button")).to_have_count(1)  # there is no text to add
        rows.last.get_by_role("button", name=f"{look.text('events.list_it')}: A002BC77").click()
        panel = rows.last.locator(".event-panel")
        expect(panel).to_contain_text(f"A001BC77 Ann · {near}")
        barriers = check(page, "add to a list")
        picture(page, f"web_add_to_list_{look.name}")
        panel.get_by_label(look.text("lists.label")).fill("Bo")
        page.keyboard.press("Enter")
        expect(page.locator("#said")).to_have_text(look.text("lists.added", plate="A002BC77", list="staff"))
        expect(panel).to_have_count(0)

        page.goto("/#lists")
        entry = page.locator("[data-list=staff]")
        entry.get_by_role("button", name=f"{look.text('lists.edit')}: A002BC77").click()
        entry.get_by_label(f"{look.text('lists.first_day')}: staff").fill("2026-11-30")
        for name, time in (("from", "07:00"), ("until", "19:00")):
            entry.get_by_label(f"{look.text(f'lists.hours_{name}')}: staff").fill(time)
        entry.get_by_label(look.text("lists.cameras")).fill("gate  gaet")
        barriers += check(page, "limits")
        picture(page, f"web_limits_{look.name}")
        entry.get_by_role("button", name=look.text("lists.add")).click()
        expect(entry.locator("tbody tr").last).to_contain_text(f"A002BC77Bo{begins} · 07:00-19:00 · gate, gaet")
        expect(page.locator("#said")).to_contain_text("gaet: unknown")
        entry.get_by_label(f"{look.text('lists.find')}: staff").fill("a002bc78")
        expect(entry.locator(".near li")).to_contain_text(["A002BC77 Bo", "A001BC77 Ann"])
        picture(page, f"web_near_{look.name}")
        barriers += check(page, "near")
        table = "plate,label,valid_from,hours,cameras\nA001BC77,Ann,,,\nA002BC77,Bo,2026-11-30,07:00-19:00,gate gaet\n"
        assert seen.lists.read_text(encoding="utf-8") == table
        assert barriers == []


@pytest.mark.parametrize(
    ("look", "says"),
    [
        (DESK_EN, "Not read too low 6 px · maybe A001BC77 0.41"),
        (PHONE_RU, "Не прочитан слишком мелкий 6 пикс. · возможно A001BC77 0,41"),
    ],
    ids=NAMES,
)
def test_an_event_without_a_text_says_why(browser: Browser, seen: Seen, look: Look, says: str) -> None:
    (seen.pictures / "plate.jpg").write_bytes(encode(compose(40, 150, [Placed("A001BC77", 15, 8, 120)]), ".jpg"))
    kept = Images(plate="plate.jpg")
    candidates = (Candidate("A001BC77", 0.41, True),)
    unread = Unread("too_low", 6, "px")
    seen.write(replace(event(1), plate="", score=0.0, unread=unread, candidates=candidates, images=kept), event(2))
    with looking(browser, str(seen.client.base_url), look, "/#events") as page:
        expect(page.locator(".event")).to_have_count(2)
        expect(page.locator(".event-unread")).to_have_text(says)
        crop = page.locator(".event-crop img")
        expect(crop).to_be_visible()
        expect(crop).not_to_have_js_property("naturalWidth", 0)
        picture(page, f"web_unread_{look.name}")
        assert check(page, "not read") == []


@pytest.mark.parametrize(
    ("look", "says"), [(DESK_EN, "read here: A123BC77"), (PHONE_RU, "прочитано здесь: A123BC77")], ids=NAMES
)
def test_an_event_of_another_reader_says_whose_it_is(browser: Browser, seen: Seen, look: Look, says: str) -> None:
    """Our own reading is only told where it is another one."""
    for plate in (OTHER, TEXT):
        post(seen.client, "hikvision", plate, CAR, uuid=plate, camera="gate").raise_for_status()
    with looking(browser, str(seen.client.base_url), look, "/#events") as page:
        for plate, told in ((OTHER, 1), (TEXT, 0)):
            facts = page.locator(f"[data-plate={plate}] .event-facts")
            expect(facts.get_by_text("hikvision", exact=True)).to_be_visible()
            expect(facts.get_by_text(says, exact=True)).to_have_count(told)
        picture(page, f"web_source_{look.name}")
        assert check(page, "another reader") == []


def test_a_superseded_event_disappears(browser: Browser, seen: Seen) -> None:
    """It belongs to a car that another event has already reported, so both are shown until then."""
    first, second = (event(number, stage="provisional") for number in (1, 2))
    joined = replace(later(first, "update"), supersedes=second.id)
    told = [json.loads(each.to_json()) for each in (first, second, joined)]
    seen.write(first, second)
    with looking(browser, str(seen.client.base_url), DESK_EN, "/#live") as page:
        rows = page.locator(".event")
        expect(rows).to_have_count(2)
        expect(page.locator("#newest-connection")).to_have_text("New events appear at the top")
        seen.write(joined)
        expect(rows).to_have_count(1)
        expect(rows).to_have_attribute("data-id", first.id)
        of_video = """async events => {
            const { VideoView } = await import("/static/video.js");
            const view = new VideoView(null, "");
            for (const event of events) view.take({ event });
            return [...view.events.children].map(({ dataset }) => dataset.id);
        }"""
        assert page.evaluate(of_video, told) == [first.id]


@pytest.mark.parametrize(("theme", "locale"), [("light", "ru-RU"), ("dark", "en-GB")])
def test_both_themes_and_widths_are_accessible(
    browser: Browser, seen: Seen, theme: Literal["light", "dark"], locale: str
) -> None:
    seen.write(*(event(number, listed=number % 4 == 0) for number in range(12)))
    url = str(seen.client.base_url)
    with browser.new_context(base_url=url, viewport=PHONE, color_scheme=theme, locale=locale) as context:
        faults = watch(context, url)
        page = opened(context)
        barriers = check(page, "empty")
        drop(page, ("scene.jpg", SCENE), ("car.jpg", CAR))
        expect(page.locator(".thumb[data-state=done]")).to_have_count(2)
        picture(page, f"web_try_phone_{theme}")
        barriers += check(page, "try")
        page.set_viewport_size(WALL)
        picture(page, f"web_try_wall_{theme}")
        page.goto("/#health")
        expect(page.locator("#health .pill").first).to_be_visible()
        barriers += check(page, "health")
        picture(page, f"web_health_wall_{theme}")
        page.goto("/#lists")
        expect(page.locator("[data-list]")).to_be_visible()
        barriers += check(page, "lists")
        for name in ("live", "events"):
            page.set_viewport_size(WALL)
            page.goto(f"/#{name}")
            expect(page.locator(".event:visible")).to_have_count(12)
            barriers += check(page, name)
            picture(page, f"web_{name}_wall_{theme}")
            page.set_viewport_size(PHONE)
            expect(page.locator("#search-camera")).to_be_hidden()
            picture(page, f"web_{name}_phone_{theme}")
        page.locator("#filters summary").click()
        expect(page.locator("#search-camera")).to_be_visible()
        barriers += check(page, "filters on a phone")
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
        assert (barriers, faults) == ([], [])


def test_requests_can_be_tried_on_the_page_of_the_api(context: BrowserContext) -> None:
    page = context.new_page()
    page.goto("/api/docs")
    call = page.locator(".opblock-post", has_text="/v1/vision/custom/list")
    call.click()
    call.get_by_text("Try it out").click()
    call.get_by_text("Execute", exact=True).click()
    expect(call.locator(".live-responses-table tr.response .response-col_status")).to_have_text("200")
