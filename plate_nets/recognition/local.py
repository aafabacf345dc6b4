"""The whole pipeline in this process, without a server: `LocalReader().read(picture)` -> plates."""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, fields
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import Any, get_args

from plate_nets.common.errors import InputError
from plate_nets.common.extras import needs
from plate_nets.contract import reader_of
from plate_nets.countries import PlateScheme, default_schemes
from plate_nets.networks.runtimes.networks import (
    Networks,
    Runtime,
    default_repository,
    digest_of,
    first_versions,
    load_converted,
)
from plate_nets.recognition.corners import CornerFinder
from plate_nets.recognition.decoding import DecodingSettings
from plate_nets.recognition.detection import DetectionSettings, PlateDetector
from plate_nets.recognition.finder import PlateFinder
from plate_nets.recognition.images import load_picture
from plate_nets.recognition.options import ReadOptions
from plate_nets.recognition.pipeline import PlateReader, take_rows
from plate_nets.recognition.reader import Focus, FrameLimits
from plate_nets.recognition.schemes import SchemeDecoder
from plate_nets.recognition.second_look import looks_at
from plate_nets.recognition.stages import Stages
from plate_nets.recognition.vehicles import with_vehicles
from plate_nets.types import NOT_READ, Box, Boxes, Crops, Frame, Plate, PlateCrops, Reading, Scene


@dataclass(frozen=True)
class LocalReader:
    """Reads plates in this process, with the same texts, boxes, limits and errors as the server.

    The first read loads the networks. Pickling copies only the settings, so the copy loads its own networks. Threads
    may share a reader; they take turns.
    """

    scheme: PlateScheme | Sequence[PlateScheme] = field(default_factory=default_schemes)
    """The plates to read: one scheme or several, which the networks must be trained for; by default `world`."""
    runtime: Runtime = "openvino"
    """"openvino": the converted networks of the model repository; "torch": the committed weights, eager. Both on the
    CPU."""
    detection: DetectionSettings = field(default_factory=DetectionSettings)
    decoding: DecodingSettings = field(default_factory=DecodingSettings)
    limits: FrameLimits = field(default_factory=FrameLimits)
    threads: int = 0
    """Threads of OpenVINO; 0: all cores of this process."""
    networks: Callable[[], Networks] | None = None
    """Loads networks instead of the runtime's."""
    repository: Path | None = None
    """Where the converted networks are; by default `runtimes.networks.default_repository`."""
    _turn: Lock = field(default_factory=Lock, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.runtime not in get_args(Runtime):
            raise InputError(f"runtime: expected {' or '.join(get_args(Runtime))}, got {self.runtime!r}")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), tuple(getattr(self, option.name) for option in fields(self) if option.init)

    @property
    def schemes(self) -> tuple[PlateScheme, ...]:
        """The schemes as a tuple."""
        return (self.scheme,) if isinstance(self.scheme, PlateScheme) else tuple(self.scheme)

    def read(
        self,
        image: Frame | bytes,
        *,
        evidence: bool = False,
        appearance: bool = False,
        sure: float | None = None,
        vehicles: bool = False,
        schemes: Sequence[PlateScheme] = (),
        stages: Stages = nullcontext,
    ) -> list[Plate]:
        """A picture -> its plates, highest detector score first.

        Args:
            image: a BGR frame (H, W, 3) uint8, as ``cv2.imread`` gives it, or the bytes of a JPEG, PNG, WebP, BMP,
                HEIC or AVIF file.
            evidence: also return the ``logits`` of each plate; the ``characters`` of its reading are always there.
            appearance: also return the country and the colour of each plate; a reader of several schemes always does.
            sure: the minimum confidence of a text, between 0 and 1; by default that of ``decoding``.
            vehicles: also find the ``vehicle`` of each plate.
            schemes: the countries to read, of those of the reader; by default all.
            stages: a context manager that is entered around each stage, see `recognition.stages`: "decode", and the
                stages of `PlateReader` and `PlateFinder`.

        Raises:
            InputError: the picture cannot be accepted (InputTooLarge: because of its size), ``sure`` is not a
                probability, or the reader has none of the ``schemes``; the message says what was expected.
            WeightsError: a network is missing, damaged, or not converted yet.
        """
        names = ",".join(scheme.name for scheme in schemes)
        options = ReadOptions(evidence, appearance, names, sure, vehicles)
        return self._scene(image, options, stages).plates

    def scene(
        self, image: Frame | bytes, *, evidence: bool = False, appearance: bool = False, sure: float | None = None
    ) -> Scene:
        """A picture -> its plates as from `read`, and its vehicles, even those without a plate. Raises the same."""
        return self._scene(image, ReadOptions(evidence, appearance, sure=sure, vehicles=True))

    def look(self, frame: Frame, focus: Focus, *, vehicles: bool = False, stages: Stages = nullcontext) -> Scene:
        """A frame of a video and what is known of it -> its plates with evidence, and its vehicles if requested.

        See `VideoReader.look`. Raises the same as `read`.
        """
        image = load_picture(frame, self.limits)
        with self._turn:
            with stages("detect"):
                found = self._finder.find_new(image, focus, stages, vehicles)
            scene = self._pipeline.read_found(found.new, stages)
        pairs = zip(found.settled.tolist(), found.scores.tolist(), strict=True)
        settled = [Plate(Box(*box), score, NOT_READ) for box, score in pairs]
        return Scene(with_vehicles([*scene.plates, *settled], scene.vehicles), scene.vehicles)

    def _scene(self, image: Frame | bytes, options: ReadOptions, stages: Stages = nullcontext) -> Scene:
        with stages("decode"):
            frame = load_picture(image, self.limits)
        with self._turn:
            return self._pipeline.scene(frame, options, stages)

    def read_crops(self, crops: PlateCrops[Crops]) -> Sequence[Reading]:
        """The crops from `cut`, N above 0 -> the readings of the N plates, in order; see `PlateReader.read_crops`.

        Raises:
            WeightsError: a network is missing, damaged, or not converted yet.
        """
        with self._turn:
            return self._pipeline.read_crops(crops)

    def cut(self, frame: Frame, boxes: Boxes) -> PlateCrops[Crops]:
        """Boxes (N, 4) xyxy of plates in a frame -> the input of `read_crops`; see `PlateFinder.cut`.

        Raises:
            WeightsError: a network is missing, damaged, or not converted yet.
        """
        with self._turn:
            return self._finder.cut(frame, boxes)

    def model_version(self) -> str:
        """The version of the converted networks: 12 digits of a hash of their weights.

        Raises:
            WeightsError: a network is not converted yet.
        """
        return digest_of(self._versions)

    @cached_property
    def _pipeline(self) -> PlateReader[Frame, Crops]:
        networks = self._networks
        decoder = SchemeDecoder(self.schemes, self.decoding)
        return PlateReader(
            self._finder.find,
            networks.stn,
            networks.readers,
            decoder,
            take_rows,
            look_again=looks_at,
            country=networks.country,
        )

    @cached_property
    def _finder(self) -> PlateFinder:
        detector = PlateDetector(self._networks.yolo, self.detection)
        return PlateFinder(detector, CornerFinder(self._networks.corners))

    @cached_property
    def _networks(self) -> Networks:
        if self.networks:
            return self.networks()
        if self.runtime == "torch":
            with needs("convert", "reading in torch"):
                from plate_nets.networks.runtimes.eager import (
                    load_eager,  # imported only here: torch takes 200 MB and seconds
                )

            return load_eager(self.schemes, self.detection.network)
        readers = {reader_of(scheme).name for scheme in self.schemes}
        return load_converted(self._versions, threads=self.threads, readers=readers, detector=self.detection.network)

    @property
    def _versions(self) -> dict[str, Path]:
        return first_versions(self.repository or default_repository())
