"""`python tools/moments.py VIDEO EVENTS OUT.jpg`: shows a moment of each car side by side, for the README.

VIDEO was written by `plates watch --save-video`, EVENTS by its `--jsonl`.
"""

import json
import sys
from pathlib import Path

import av
import cv2
import numpy as np

from plate_nets.events.event import PlateEvent
from plate_nets.types import Frame

SIZE = (360, 560)
"""Height and width of the part around a plate, px."""
GAP = 8
SCALE = 0.75
QUALITY = 85


def moments(video: Path, events: Path) -> list[Frame]:
    """The surroundings of each car's plate, in the best frame that shows its text."""
    records = [PlateEvent.from_dict(json.loads(line)) for line in events.read_text(encoding="utf-8").splitlines()]
    with av.open(str(video)) as container:
        frames = [
            (frame.time or 0.0, np.asarray(frame.to_ndarray(format="bgr24"), np.uint8))
            for frame in container.decode(video=0)
        ]
    shown = []
    for final in (each for each in records if each.stage == "final"):
        first = next(each for each in records if (each.id, each.plate) == (final.id, final.plate))
        reported = first.position_sec + (first.last_seen - first.timestamp).total_seconds()
        time = max(reported, final.position_sec)
        frame = frames[int(np.argmin([abs(at - time) for at, _ in frames]))][1]
        shown.append((time, _around(frame, final)))
    return [picture for _, picture in sorted(shown, key=lambda each: each[0])]


def _around(frame: Frame, event: PlateEvent) -> Frame:
    (height, width), box = SIZE, event.box
    left = int(np.clip((box.xmin + box.xmax - width) / 2, 0, frame.shape[1] - width))
    top = int(np.clip((box.ymin + box.ymax) / 2 - 0.65 * height, 0, frame.shape[0] - height))
    return frame[top : top + height, left : left + width]


if __name__ == "__main__":
    source, lines, target = map(Path, sys.argv[1:])
    apart = [np.pad(each, ((0, 0), (0, GAP), (0, 0)), constant_values=255) for each in moments(source, lines)]
    strip = cv2.resize(np.hstack(apart)[:, :-GAP], None, fx=SCALE, fy=SCALE, interpolation=cv2.INTER_AREA)
    cv2.imwrite(str(target), strip, [cv2.IMWRITE_JPEG_QUALITY, QUALITY])
