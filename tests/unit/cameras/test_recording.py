"""What the saved video shows of cars on a watch list, and of others."""

from dataclasses import replace
from pathlib import Path

import av

from plate_nets.cameras.analysis import AnalysedFrame
from plate_nets.cameras.cars import Car
from plate_nets.cameras.frames import VideoFrame
from plate_nets.cameras.overlay import Overlay
from plate_nets.cameras.recording import Recording
from tests.events import event


def test_a_car_is_shown_only_while_it_is_on_a_list(tmp_path: Path, drawn: list[list[str]]) -> None:
    listed = event(0, stage="provisional", listed=True)
    car = Car(listed.id, listed.box, listed.plate, 0.99, 0.0, seen=True)
    with Recording(tmp_path / "out.mp4", Overlay(blur_unlisted=True, shown=str.lower)) as recording:
        for number, events in enumerate(([], [listed], [], [replace(listed, stage="update", watch=())], [])):
            frame = VideoFrame(av.VideoFrame(320, 240, "bgr24"), float(number), float(number), 0.0)
            recording.write(AnalysedFrame("gate", frame, [], (car,), events))
    text = listed.plate.lower()
    assert drawn == [[], [text], [text], [], []]
