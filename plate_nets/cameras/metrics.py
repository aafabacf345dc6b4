"""The state of cameras and sinks, as JSON for ``/health`` and as metrics (docs/reference/metrics.md)."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, get_args

from prometheus_client import Metric
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from plate_nets.cameras.camera_status import CameraStatus
from plate_nets.cameras.view_check import CameraView
from plate_nets.events.sinks.delivery import Delivery
from plate_nets.recognition.reasons import Spoilt


class WatchStatus(Collector):
    """Cameras and sinks of a process.

    Args:
        cameras: returns the current state of the cameras.
        deliveries: the sinks.
    """

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

        def gauge(name: str, text: str, values: Mapping[str, float | None]) -> Metric:
            return _family(GaugeMetricFamily(f"plates_camera_{name}", text, labels=["camera"]), values)

        def counter(name: str, text: str, field: str) -> Metric:
            values = {name: getattr(camera, field) for name, camera in cameras.items()}
            return _family(CounterMetricFamily(f"plates_camera_{name}", text, labels=["camera"]), values)

        yield gauge("online", "1 while pictures come", {name: camera.is_at_work for name, camera in cameras.items()})
        yield gauge(
            "frame_age_seconds",
            "Seconds since the newest analysed frame arrived",
            {name: camera.age for name, camera in cameras.items()},
        )
        yield counter("pictures_read", "Pictures decoded", "read")
        yield counter("frames_analysed", "Frames read, or found to be without motion", "analysed")
        yield counter("frames_unmoved", "Frames not read: nothing moved, or nobody asked", "unmoved")
        yield counter("frames_dropped", "Frames replaced by a newer one", "dropped")
        yield counter("frames_failed", "Frames that the reader refused or failed to read", "failed")
        yield counter("reconnections", "How often the source came back online", "reconnections")
        yield counter("events", "Records of events", "events")
        yield from self._of_views({name: camera.view for name, camera in cameras.items() if camera.view})
        yield from self._of_sinks()

    def _of_views(self, views: Mapping[str, CameraView]) -> Iterator[Metric]:
        for name, text, field in (
            ("blur", "Radius of the blur of plates that is not from motion, in heights of a plate", "blur"),
            ("smear", "How far plates move while a frame is taken, in heights of a plate", "smear"),
            ("brightness", "Brightness of the bright parts of plates, 0 to 1", "brightness"),
        ):
            values = {camera: getattr(view, field) for camera, view in views.items()}
            yield _family(GaugeMetricFamily(f"plates_camera_plate_{name}", text, labels=["camera"]), values)
        spoilt = GaugeMetricFamily(
            "plates_camera_plates_spoilt_ratio",
            "Share of cars whose plates are hard to read",
            labels=["camera", "reason"],
        )
        for camera, view in views.items():
            for reason in get_args(Spoilt):
                spoilt.add_metric([camera, reason], view.spoilt.get(reason, 0.0))
        yield spoilt

    def _of_sinks(self) -> Iterator[Metric]:
        states = {delivery.name: delivery.state() for delivery in self._deliveries}
        for name, text, field in (
            ("delivered", "Records delivered", "delivered"),
            ("failures", "Attempts that failed", "failures"),
            ("refused", "Records that the sink will never take", "refused"),
            ("dropped", "Records that the sink lost because the outbox was full", "dropped"),
        ):
            values = {sink: getattr(state, field) for sink, state in states.items()}
            yield _family(CounterMetricFamily(f"plates_sink_{name}", text, labels=["sink"]), values)
        waiting = {sink: state.waiting for sink, state in states.items()}
        yield _family(
            GaugeMetricFamily("plates_sink_waiting", "Records in the outbox that wait for it", labels=["sink"]), waiting
        )
        failing = {sink: state.error is not None for sink, state in states.items()}
        yield _family(
            GaugeMetricFamily("plates_sink_failing", "1 while the last attempt failed", labels=["sink"]), failing
        )


def _family(
    family: GaugeMetricFamily | CounterMetricFamily, values: Mapping[str, float | None]
) -> GaugeMetricFamily | CounterMetricFamily:
    for name, value in values.items():
        if value is not None:
            family.add_metric([name], value)
    return family
