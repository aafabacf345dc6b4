"""`LocalReader`: both runtimes read the same, it is pickled as its settings, and its stages can be timed."""

import itertools
import pickle
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest

import plate_nets
from plate_nets.common.errors import InputError, InputTooLarge, WeightsError
from plate_nets.countries import main_scheme
from plate_nets.evaluation.dataset import load_dataset
from plate_nets.networks.registry import DETECTORS
from plate_nets.networks.runtimes import networks
from plate_nets.networks.runtimes.networks import Runtime, load_converted
from plate_nets.networks.runtimes.precision import CALIBRATION, SCENE
from plate_nets.recognition.decoding import DecodingSettings, PlateDecoder
from plate_nets.recognition.detection import DetectionSettings
from plate_nets.recognition.health import check_health, known_picture
from plate_nets.recognition.local import LocalReader
from plate_nets.recognition.reader import FrameLimits
from plate_nets.types import Frame, Plate
from tests.frames import Placed, compose, encode
from tests.paths import PHOTOS, needs_photos

PLACED = [Placed("A123BC77", 40, 60), Placed("M456OP199", 380, 120), Placed("K777AA97", 200, 320)]
CAR = compose(480, 640, PLACED)
SCENES = [CAR, compose(900, 600, PLACED[:1]), compose(480, 640)]


@pytest.fixture(scope="module")
def torch() -> LocalReader:
    return LocalReader(runtime="torch")


def agree(ones: list[Plate], others: list[Plate]) -> None:
    """Check for the same texts, and boxes within half a pixel."""
    for one, other in zip(ones, others, strict=True):
        assert (one.reading.text, one.reading.best) == (other.reading.text, other.reading.best)
        assert one.box.sides == pytest.approx(other.box.sides, abs=0.5)
        assert one.score == pytest.approx(other.score, abs=0.01)
        rounding = 0.01 if one.reading.text else 0.05  # uncertain values vary more
        assert one.reading.characters == pytest.approx(other.reading.characters, abs=rounding)


@pytest.mark.parametrize("frame", SCENES, ids=["three", "one", "none"])
def test_the_runtimes_agree_on_rendered_plates(reader: LocalReader, torch: LocalReader, frame: Frame) -> None:
    agree(reader.read(frame), torch.read(frame))
    agree(reader.read(encode(frame)), reader.read(frame))


@needs_photos
def test_the_runtimes_agree_on_photos(reader: LocalReader, torch: LocalReader) -> None:
    read = 0
    for path, _ in itertools.islice(load_dataset(PHOTOS).photos(), 0, None, 50):
        plates = reader.read(path.read_bytes())
        agree(plates, torch.read(path.read_bytes()))
        read += sum(bool(plate.reading.text) for plate in plates)
    assert read >= 3


def test_the_runtimes_agree_on_vehicles(reader: LocalReader, torch: LocalReader) -> None:
    picture = (CALIBRATION / SCENE).read_bytes()
    one, other = (each.scene(picture) for each in (reader, torch))
    assert [each.type for each in one.vehicles] == [each.type for each in other.vehicles]
    assert [each.vehicle is None for each in one.plates] == [each.vehicle is None for each in other.plates]
    assert [each.score for each in one.vehicles] == pytest.approx([each.score for each in other.vehicles], abs=0.05)


def test_three_lines_of_code_read_a_plate() -> None:
    known = known_picture()
    plates = plate_nets.LocalReader().read(known.image)
    assert [plate.reading.text for plate in plates] == list(known.texts)


def test_a_reading_has_its_format_scheme_and_country(reader: LocalReader) -> None:
    plates = reader.read(CAR, evidence=True)
    narrow = reader.read(CAR, schemes=[main_scheme()])
    assert {plate.reading.text for plate in plates} == {placed.text for placed in PLACED}
    for plate in plates:
        reading = plate.reading
        assert (reading.format, reading.scheme) == ("private", "russia")
        assert len(reading.characters) == len(reading.best)
        assert min(reading.characters) == reading.confidence
        assert plate.logits is not None and plate.logits.shape == (23, 18), "of lprnet, as no plate has another reader"
        assert PlateDecoder(main_scheme()).decode(plate.logits[None]) == [narrow[plates.index(plate)].reading]
        assert reading.country == "ru" and 0.5 <= reading.country_confidence <= 1
    assert [(plate.reading.text, plate.country) for plate in narrow] == [(plate.reading.text, "") for plate in plates]
    assert [plate.logits for plate in reader.read(CAR)] == [None] * len(plates)
    assert reader.read(CAR) == plates, "evidence is no part of what a plate is compared by"


def test_a_reader_with_a_high_threshold_passes_the_health_check() -> None:
    reader = LocalReader(decoding=DecodingSettings(sure=0.9999999))
    assert not any(plate.reading.text for plate in reader.read(CAR))
    check_health(reader)


@pytest.mark.parametrize("runtime", ["openvino", "torch"])
def test_a_local_reader_is_pickled_as_its_settings(runtime: Runtime) -> None:
    reader = LocalReader(runtime=runtime, limits=FrameLimits(min_side=100), threads=1)
    before = pickle.dumps(reader)
    plates = reader.read(CAR)
    assert pickle.dumps(reader) == before
    other = pickle.loads(before)
    assert other == reader
    assert other.read(CAR) == plates
    with pytest.raises(InputError, match="at least 100 pixels"):
        other.read(CAR[:99])


def test_threads_take_turns(reader: LocalReader) -> None:
    alone = [reader.read(scene) for scene in SCENES]
    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(reader.read, SCENES * 4)) == alone * 4


def test_unacceptable_input_is_refused_before_any_network_is_loaded() -> None:
    reader = LocalReader(networks=Mock(side_effect=AssertionError("loaded")))
    with pytest.raises(InputTooLarge, match="input__0: expected at most 50000000 pixels"):
        reader.read(np.zeros((6000, 10000, 3), np.uint8))
    with pytest.raises(InputError, match="image: expected a JPEG, PNG, WEBP, BMP, HEIC or AVIF picture"):
        reader.read(b"%PDF-1.7")
    with pytest.raises(InputError, match="runtime: expected openvino or torch, got 'onnx'"):
        LocalReader(runtime="onnx")  # type: ignore[arg-type]


def test_networks_that_are_not_converted_are_named(tmp_path: Path) -> None:
    folders = {name: tmp_path / name for name in ("yolo", "stn", "lprnet")}
    with pytest.raises(WeightsError, match="not converted yet"):
        LocalReader(networks=partial(load_converted, folders)).read(CAR)


@pytest.fixture
def loaded(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The networks that are loaded from now on."""
    names: list[str] = []
    load = networks.load_network

    def noted(name: str, *rest: Any) -> Any:
        names.append(name)
        return load(name, *rest)

    monkeypatch.setattr(networks, "load_network", noted)
    return names


def test_only_fast_loads_the_small_detector(loaded: list[str]) -> None:
    """And instead of the other one, unless the size of its input is set."""
    for settings, expected in (
        (DetectionSettings(detail="fast"), {"yolo_fast"}),
        (DetectionSettings(), {"yolo"}),
        (DetectionSettings(detail="far"), {"yolo"}),
        (DetectionSettings(long_side=640, detail="fast"), {"yolo"}),
    ):
        loaded.clear()
        LocalReader(threads=1, detection=settings).read(compose(480, 640))
        assert {*loaded} & {*DETECTORS} == expected


def test_only_the_networks_that_plates_need_are_loaded(loaded: list[str]) -> None:
    """Of a reader that nobody asks, the file only has to exist."""
    reader = LocalReader(threads=1)
    assert not reader.read(compose(480, 640)) and not {"country", "lprnet", "lprnet_latin"} & {*loaded}
    assert len(reader.read(CAR)) == 3 and "lprnet" in loaded and "lprnet_latin" not in loaded
    loaded.clear()
    assert len(LocalReader(scheme=main_scheme(), threads=1).read(CAR)) == 3 and "country" not in loaded


def test_the_stages_of_a_local_reader_can_be_timed(reader: LocalReader) -> None:
    entered: list[str] = []
    inside: list[str] = []

    @contextmanager
    def stages(name: str) -> Iterator[None]:
        entered.append("/".join([*inside, name]))
        inside.append(name)
        yield
        inside.pop()

    inner = ("letterbox", "network", "select", "corners", "crop")
    detector = ["decode", "detect", *(f"detect/{name}" for name in inner)]
    reader.read(CAR, stages=stages)
    assert entered == [*detector, "tell_country", "rectify", "read", "decode_text"]
    entered.clear()
    reader.read(compose(480, 640), stages=stages)
    assert entered == detector


def test_the_package_contains_the_names_that_it_exports() -> None:
    assert all(getattr(plate_nets, name) is not None for name in plate_nets.__all__)
    assert (Path(plate_nets.__file__).parent / "py.typed").is_file()
    with pytest.raises(AttributeError, match="has no attribute 'Server'"):
        plate_nets.Server  # noqa: B018
