"""The state of a car -> an event (docs/reference/events.md)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, tzinfo

from plate_nets.cameras.stay import CarSettings, Stay
from plate_nets.cameras.vehicles import Sights, VehicleTrack, side_of
from plate_nets.cameras.watch_lists import WatchList, matches
from plate_nets.countries import PlateScheme
from plate_nets.events.event import Candidate, Character, Clock, Frames, Heading, PlateEvent, Region, Stage
from plate_nets.recognition.decoding import shares
from plate_nets.recognition.quads import lines_of_plate
from plate_nets.recognition.reasons import why_unread
from plate_nets.types import REASON_UNITS, Box, Side, Unread, Vehicle

_CANDIDATES = 5
"""Maximum number of candidate texts in an event."""
_SIDES: dict[Heading | None, Side] = {"towards": "front", "away": "rear"}
"""The visible end of a car, for a camera that does not move."""


@dataclass(frozen=True)
class Camera:
    id: str
    source_url: str | None = None
    """Without credentials."""
    clock: Clock = "arrival"
    zone: tzinfo = UTC


class PlateEvents:
    def __init__(
        self, camera: Camera, settings: CarSettings, scheme: PlateScheme, watch_lists: Sequence[WatchList]
    ) -> None:
        self._camera = camera
        self._settings = settings
        self._scheme = scheme
        self._watch_lists = tuple(watch_lists)
        self.start = 0.0
        """Time of the first frame, Unix seconds."""

    def of_car(self, stay: Stay, stage: Stage, supersedes: str | None = None) -> PlateEvent:
        """The next event of a car, which counts as reported then."""
        track, plate = stay.track, stay.best
        evidence, text = track.evidence, stay.text
        scheme = self._scheme.by_shape[lines_of_plate(plate.corners)]
        country, texts = stay.countries.verdict, dict(evidence.verdict.texts)
        owner = scheme.owner(text, plate.reading.scheme)
        if country and scheme.members:
            owner = next((member for member in scheme.owners(text) if member.country == country.name), owner)
        stay.revision += 1
        if stay.vehicle_track:
            stay.vehicle_track.reported = True
        stay.reported_status = stay.status
        frames = Frames(stay.frames_seen, len(evidence), evidence.readings[evidence.verdict.text])
        event = self._unread_event(stay.id, plate.box, stay.best_time, stay.first_seen, track.last_seen, frames)
        where, when = event.camera_id, event.timestamp
        return replace(
            event,
            stage=stage,
            revision=stay.revision,
            supersedes=supersedes,
            plate=owner.text_of(text),
            reading=plate.reading.best,
            score=texts[text] if text else 0.0,
            dscore=plate.score,
            characters=tuple(Character(*each) for each in owner.arranged(text, shares(text, texts) if text else ())),
            candidates=tuple(
                Candidate(scheme.text_of(other), probability, scheme.is_plate(other))
                for other, probability in evidence.verdict.texts[:_CANDIDATES]
            ),
            region=Region(owner.country, owner.region_of(text)),
            plate_type=owner.format_names(text),
            corners=tuple(zip(plate.corners[::2], plate.corners[1::2], strict=True)) or None,
            direction=stay.direction,
            heading=stay.heading,
            speed=stay.speed,
            crossings=tuple(stay.crossings),
            zones=stay.zones.until(track.last_seen if stage == "final" else None),
            is_parked=stay.is_parked,
            watch=matches(self._watch_lists, text, evidence, where, when) if text else (),
            vehicle=self._vehicle_of(stay),
            country=country,
            ground=stay.grounds.verdict,
            unread=None if text else self._why_unread(stay),
        )

    def _why_unread(self, stay: Stay) -> Unread:
        """Why a car has no text, from its best frame; if that has one, the frames together are not sure of it."""
        plate = stay.best
        if plate.reading.text:
            return Unread("unsure", round(stay.track.evidence.verdict.probability, 2))
        return why_unread(plate, self._scheme.by_shape[lines_of_plate(plate.corners)])

    def _vehicle_of(self, stay: Stay) -> Vehicle | None:
        box = stay.vehicle_box
        return None if box is None else self._vehicle(stay.sights, box, _SIDES.get(stay.heading))

    def _vehicle(self, sights: Sights, box: Box, side: Side | None = None) -> Vehicle:
        return Vehicle(box, sights.judged.name, sights.judged.score, side or side_of(sights.growth))

    def of_vehicle(self, track: VehicleTrack) -> PlateEvent:
        """The event of a vehicle that is gone and never showed a plate with a certain text."""
        frames, box = Frames(track.frames, 0, 0), track.best.box
        event = self._unread_event(track.id, box, track.best_time, track.first_seen, track.last_seen, frames)
        hidden = Unread("hidden", 0, REASON_UNITS["hidden"])
        return replace(event, vehicle=self._vehicle(track.sights, box), unread=hidden)

    def _unread_event(
        self, id: str, box: Box, best_time: float, first_seen: float, last_seen: float, frames: Frames
    ) -> PlateEvent:
        """A final event without a reading; it has only the parts that all events have. Times are Unix seconds."""
        camera = self._camera
        return PlateEvent(
            id=id,
            camera_id=camera.id,
            source_url=camera.source_url,
            clock=camera.clock,
            timestamp=datetime.fromtimestamp(best_time, camera.zone),
            first_seen=datetime.fromtimestamp(first_seen, UTC),
            last_seen=datetime.fromtimestamp(last_seen, UTC),
            position_sec=best_time - self.start,
            plate="",
            reading="",
            score=0.0,
            dscore=0.0,
            characters=(),
            candidates=(),
            region=Region(self._scheme.country, None),
            plate_type="",
            box=box,
            frames=frames,
            dwell_sec=last_seen - first_seen,
        )
