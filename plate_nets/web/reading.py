"""Reads pictures for the page and the API, in its own threads, a limited number at the same time."""

import asyncio
import base64
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from math import prod
from operator import itemgetter
from typing import Any

import cv2

from plate_nets.common.errors import PlateError, ServerOverloaded
from plate_nets.countries import PlateScheme
from plate_nets.recognition.ctc import format_texts, log_softmax
from plate_nets.recognition.decoding import DecodingSettings
from plate_nets.recognition.images import check_image, decode_image
from plate_nets.recognition.local import LocalReader
from plate_nets.recognition.quads import lines_of_plate, quad_of, quad_size
from plate_nets.recognition.reader import FrameLimits, VehicleReader
from plate_nets.recognition.rectification import (
    RectificationSettings,
    box_quads,
    quad_boxes,
    usable,
    warp_quad,
    widen,
)
from plate_nets.types import Frame, Plate
from plate_nets.web import bodies
from plate_nets.web.faults import fault_of
from plate_nets.web.uploads import Upload

_CROP_HEIGHT = 64
"""Pixels of a crop as shown: about three times what the network sees."""
_CROP_WIDTH = 400
_JPEG = (cv2.IMWRITE_JPEG_QUALITY, 85)
_CANDIDATES = 5


class Times:
    """Milliseconds by stage, in order of their start; a nested stage counts as part of the outer one."""

    def __init__(self) -> None:
        self.spent: dict[str, float] = {}
        self._inside = False

    @contextmanager
    def __call__(self, stage: str) -> Iterator[None]:
        if self._inside:
            yield
            return
        self._inside = True
        started = time.perf_counter()
        try:
            yield
        finally:
            self._inside = False
            self.spent[stage] = self.spent.get(stage, 0.0) + (time.perf_counter() - started) * 1000


@dataclass(frozen=True)
class Regions:
    """The countries that a caller expects. ``schemes``: none for all. ``strict``: whether no others are read."""

    schemes: Sequence[PlateScheme] = ()
    strict: bool = False


class PictureReader:
    """Reads pictures in a pool of threads.

    Args:
        reader: `LocalReader` or `PlateClient`.
        limits: of a picture; larger ones are refused before they are decoded or sent on.
        workers: pictures read at the same time.
        waiting: pictures that may wait for a worker.
        scheme: determines candidates and regions.
    """

    def __init__(
        self,
        reader: VehicleReader,
        limits: FrameLimits,
        workers: int,
        waiting: int,
        scheme: PlateScheme,
    ) -> None:
        self.reader = reader
        self._limits = limits
        self.scheme = scheme
        self._limit = workers + waiting
        self.unfinished = 0
        """Pictures in progress or waiting."""
        self._threads = ThreadPoolExecutor(workers, "picture")
        self._decoders = ThreadPoolExecutor(workers, "decoder")

    def close(self) -> None:
        """End the threads; waiting pictures are dropped."""
        for each in (self._threads, self._decoders):
            each.shutdown(wait=True, cancel_futures=True)

    async def read(self, uploads: Sequence[Upload], **options: Any) -> list[bodies.Picture]:
        """Read pictures -> their results in order; an error of one is part of its result.

        ``options``: of `describe`.

        Raises:
            ServerOverloaded: too many are waiting.
        """
        if self.unfinished + len(uploads) > self._limit:
            raise ServerOverloaded(
                f"pictures: {self.unfinished} of at most {self._limit} are being read or waiting; try again later"
            )
        loop = asyncio.get_running_loop()
        self.unfinished += len(uploads)
        describe = partial(self.describe, **options)
        waiting = [loop.run_in_executor(self._threads, describe, upload) for upload in uploads]
        for each in waiting:
            each.add_done_callback(self._leave)
        return list(await asyncio.gather(*waiting))

    def _leave(self, _: object) -> None:
        self.unfinished -= 1

    def describe(
        self,
        upload: Upload,
        *,
        crops: bool = False,
        sure: float | None = None,
        vehicles: bool = False,
        regions: Regions | None = None,
    ) -> bodies.Picture:
        """Read one picture -> its plates or its error; with ``crops``, its plates come with straightened crops.

        ``sure``: the minimum confidence of a text; None: the reader's own. ``vehicles``: whether to find their
            vehicles. ``regions``: the countries to expect; with them, each plate comes with its country.
        """
        times = Times()
        started = time.perf_counter()
        try:
            stored = check_image(upload.encoded, self._limits)
            # Decoded while the picture is read, on a core that reading leaves free
            frame = self._decoders.submit(decode_image, upload.encoded, self._limits) if crops else None
            plates = self._plates(upload.encoded, regions, times, sure=sure, vehicles=vehicles)
            cut: list[str] = []
            if frame and plates:
                with times("crops"):
                    cut = [_crop(frame.result(), plate) for plate in plates]
        except PlateError as error:
            return bodies.Picture(file=upload.name, error=fault_of(error))
        turned = stored.orientation >= 5
        return bodies.Picture(
            file=upload.name,
            width=stored.h if turned else stored.w,
            height=stored.w if turned else stored.h,
            milliseconds=round((time.perf_counter() - started) * 1000, 1),
            stages={stage: round(spent, 1) for stage, spent in times.spent.items()},
            plates=[self._plate(plate, cut[index] if cut else None) for index, plate in enumerate(plates)],
        )

    def _plates(self, encoded: bytes, regions: Regions | None, times: Times, **options: Any) -> list[Plate]:
        """Read the plates of the expected countries; a plate that cannot be theirs is read as any other is."""
        if regions is None:
            return self._read(encoded, times, **options)
        plates = self._read(encoded, times, appearance=True, schemes=regions.schemes, **options)
        if not regions.schemes or regions.strict or all(plate.reading.text for plate in plates):
            return plates
        foreign = {plate.box: plate for plate in self._read(encoded, times, appearance=True, **options)}
        return [plate if plate.reading.text else foreign.get(plate.box, plate) for plate in plates]

    def _read(self, encoded: bytes, times: Times, **options: Any) -> list[Plate]:
        """A picture -> its plates with evidence; a server has a single stage, its whole answer."""
        if isinstance(self.reader, LocalReader):
            return self.reader.read(encoded, evidence=True, stages=times, **options)
        with times("server"):
            return self.reader.read(encoded, evidence=True, **options)

    def _plate(self, plate: Plate, crop: str | None) -> bodies.Plate:
        reading = plate.reading
        scheme = self.scheme.read_with(reading.scheme).by_shape[lines_of_plate(plate.corners)]
        known = replace(plate, corners=tuple(quad_of(plate).reshape(-1).tolist()))
        return bodies.Plate(
            **known.to_dict(),
            region=scheme.owner(reading.text, reading.scheme).region_of(reading.text) or "",
            characters=[
                bodies.Character(char=char, score=round(score, 4))
                for char, score in zip(reading.best, reading.characters, strict=False)
            ],
            candidates=[
                bodies.Candidate(plate=text, score=round(probability, 4))
                for text, probability in _candidates(plate, scheme)
            ],
            crop=crop,
        )


def _candidates(plate: Plate, scheme: PlateScheme) -> list[tuple[str, float]]:
    """Texts that fit a format with their probabilities, most probable first; for a sure plate only its own text."""
    settings, reading = DecodingSettings(), plate.reading
    if reading.text and (probability := prod(reading.characters)) >= settings.certain:
        return [(reading.text, probability)]  # too little probability is left for any other text
    if plate.logits is None:
        return []
    texts = format_texts(log_softmax(plate.logits[None, : scheme.classes])[0], scheme, settings.beam_width)
    return sorted(texts.items(), key=itemgetter(1), reverse=True)[:_CANDIDATES]


def _crop(frame: Frame, plate: Plate) -> str:
    """The straightened crop of a frame's plate, as a data URL of a JPEG (RFC 2397)."""
    quad = quad_of(plate)
    settings = RectificationSettings()
    if not usable(quad[None], replace(settings, least_height=1.0))[0]:
        quad = box_quads(quad_boxes(quad[None]))[0]
    (height,), (width,) = quad_size(quad[None])
    aspect = float(width) / max(float(height), 1e-6)
    x, y = settings.margin_x / max(aspect, 1e-6), settings.margin_y
    shown = min(_CROP_WIDTH, max(_CROP_HEIGHT, round(_CROP_HEIGHT * aspect)))
    done, encoded = cv2.imencode(".jpg", warp_quad(frame, widen(quad, x, y, x, y), (_CROP_HEIGHT, shown)), _JPEG)
    assert done, "such a small picture fits into a JPEG"
    return f"data:image/jpeg;base64,{base64.b64encode(encoded.tobytes()).decode()}"
