"""The state of cameras and sinks, as JSON for ``/health`` and as metrics (docs/reference/metrics.md)."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, get_args

from prometheus_client import Metric
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from plate_nets.cameras.camera_status import CameraStatus
from plate_nets.cameras.view_check import CameraView
from plate_nets.events.sinks.delivery import Delivery
from plate_nets.recognition.reasons import Spoilt

_CAMERA_GAUGES = (
    ("online", "1 while pictures come", "is_at_work"),
    ("frame_age_seconds", "Seconds since the newest analysed frame arrived", "age"),
)
_CAMERA_COUNTERS = (
    ("pictures_read", "Pictures decoded", "read"),
    ("frames_analysed", "Frames read, or that did not have to be", "analysed"),
    ("frames_unmoved", "Frames not read: nothing moved, they would tell nothing new, or nobody asked", "unmoved"),
    ("frames_dropped", "Frames replaced by a newer one", "dropped"),
    ("frames_failed", "Frames that the reader refused or failed to read", "failed"),
    ("reconnections", "How often the source came back online", "reconnections"),
    ("events", "Records of events", "events"),
)
_VIEW_GAUGES = (
    ("plate_blur", "Radius of the blur of plates that is not from motion, in heights of a plate", "blur"),
    ("plate_smear", "How far plates move while a frame is taken, in heights of a plate", "smear"),
    ("plate_brightness", "Brightness of the bright parts of plates, 0 to 1", "brightness"),
)
_SINK_COUNTERS = (
    ("delivered", "Records delivered", "delivered"),
    ("failures", "Attempts that failed", "failures"),
    ("refused", "Records that the sink will never take", "refused"),
    ("dropped", "Records that the sink lost because the outbox was full", "dropped"),
)
_SINK_GAUGES = (
    ("waiting", "Records in the outbox that wait for it", "waiting"),
    ("failing", "1 while the last attempt failed", "is_failing"),
)


class WatchStatus(Collector):
    """Cameras and sinks of a process."""

    def __init__(self, cameras: Callable[[], Sequence[CameraStatus]], deliveries: Sequence[Delivery]) -> None:
        self._cameras = cameras
        self._deliveries = deliveries

    @property
    def is_live(self) -> bool:
        """Always true: a camera that hangs shows in the age of its frames."""
        return True

    def summary(self) -> dict[str, Any]:
        """The cameras that do not work and the sinks that fail; "serving" if there are none."""
        offline = {
            camera.camera_id: camera.cause or camera.state for camera in self._cameras() if not camera.is_at_work
        }
        failing = {delivery.name: error for delivery in self._deliveries if (error := delivery.state().error)}
        return {"state": "failing" if offline or failing else "serving", "offline": offline, "sinks": failing}

    def collect(self) -> Iterator[Metric]:
        """The current metrics. prometheus-client adds ``_total`` to the names of counters."""
        cameras = {camera.camera_id: camera for camera in self._cameras()}
        views = {name: camera.view for name, camera in cameras.items() if camera.view}
        sinks = {delivery.name: delivery.state() for delivery in self._deliveries}
        yield from _families(GaugeMetricFamily, "camera", cameras, _CAMERA_GAUGES)
        yield from _families(CounterMetricFamily, "camera", cameras, _CAMERA_COUNTERS)
        yield from _families(GaugeMetricFamily, "camera", views, _VIEW_GAUGES)
        yield _spoilt(views)
        yield from _families(CounterMetricFamily, "sink", sinks, _SINK_COUNTERS)
        yield from _families(GaugeMetricFamily, "sink", sinks, _SINK_GAUGES)


def _families(
    kind: type[GaugeMetricFamily | CounterMetricFamily],
    label: str,
    sources: Mapping[str, object],
    rows: Iterable[tuple[str, str, str]],
) -> Iterator[Metric]:
    """A metric for each row of name, text and field: the field of each source, unless it is None."""
    for name, text, field in rows:
        family = kind(f"plates_{label}_{name}", text, labels=[label])
        for source, state in sources.items():
            if (value := getattr(state, field)) is not None:
                family.add_metric([source], value)
        yield family


def _spoilt(views: Mapping[str, CameraView]) -> Metric:
    text = "Share of cars whose plates are hard to read"
    family = GaugeMetricFamily("plates_camera_plates_spoilt_ratio", text, labels=["camera", "reason"])
    for camera, view in views.items():
        for reason in get_args(Spoilt):
            family.add_metric([camera, reason], view.spoilt.get(reason, 0.0))
    return family
