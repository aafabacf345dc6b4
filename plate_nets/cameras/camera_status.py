"""The state of a camera that is watched."""

from dataclasses import dataclass

from plate_nets.cameras.capture import CaptureState
from plate_nets.cameras.view_check import CameraView


@dataclass(frozen=True)
class CameraStatus:
    """The state of a camera; counts are since the start, rates over the last five seconds."""

    camera_id: str
    source: str
    """Without credentials."""
    state: CaptureState
    cause: str | None
    """Why it is offline or failed, or why its small stream is not watched."""
    read_fps: float
    analysed_fps: float
    read: int
    """Pictures decoded; with two streams, those of the large one that came."""
    analysed: int
    """Frames that were read, or did not have to be."""
    unmoved: int
    """Frames that were not read, because nothing moved, they would tell nothing new, or nobody asked for them."""
    dropped: int
    """Frames of a live source that were replaced by a newer one."""
    failed: int
    """Frames that the reader refused or failed to read."""
    events: int
    reconnections: int
    age: float | None
    """Seconds since the newest analysed frame arrived; None before the first."""
    position: float
    """Seconds of the source's own time that were decoded."""
    length: float | None
    """Seconds of a file, if known."""
    view: CameraView | None = None
    """How well plates can be seen; None until enough cars have come."""

    @property
    def is_at_work(self) -> bool:
        """Whether pictures come; also true once a file has ended."""
        return self.state in ("online", "ended")
