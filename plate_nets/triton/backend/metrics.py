"""The metrics of `plate_recognition`, served with Triton's own; docs/reference/metrics.md explains each.

The instances of a model are separate processes, and Triton adds up their counts under one name and label. An increment
is a call to the server's process and takes 12 us; a frame with plates makes ten of them.
"""

from collections.abc import Mapping, Sequence

from plate_nets.common.error_codes import OURS, ErrorAnswer
from plate_nets.triton.backend.triton import metric_family
from plate_nets.types import Plate

STAGES = ("detect", "rectify", "read", "decode_text", "look_again", "tell_country")
"""The stages of a request, in order. A request that skips a stage does not observe it. The first one includes decoding,
which `yolo` does."""

BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)
"""Upper limits in seconds: from a stage of a millisecond to the longest wait in a queue."""


class RecognitionMetrics:
    def __init__(self) -> None:
        # A family must outlive its metrics
        self._families = [
            metric_family("plates_frames_total", "Frames answered", "COUNTER"),
            metric_family(
                "plates_early_stops_total", "Frames without a plate, answered by the detector alone", "COUNTER"
            ),
            metric_family("plates_plates_total", "Plates found", "COUNTER"),
            metric_family("plates_unread_plates_total", "Plates found and returned without a text", "COUNTER"),
            metric_family("plates_errors_total", "Requests answered with an error, by its code", "COUNTER"),
            metric_family("plates_request_seconds", "Time of a request, without its wait in the queue", "HISTOGRAM"),
            metric_family("plates_stage_seconds", "Time of a stage of a request, its queue included", "HISTOGRAM"),
        ]
        frames, early_stops, plates, unread, errors, requests, stages = self._families
        self._frames = frames.Metric(labels={})
        self._early_stops = early_stops.Metric(labels={})
        self._plates = plates.Metric(labels={})
        self._unread = unread.Metric(labels={})
        self._errors = {kind: errors.Metric(labels={"code": kind.phrase}) for kind in OURS}
        self._request = requests.Metric(labels={}, buckets=list(BUCKETS))
        self._stages = {stage: stages.Metric(labels={"stage": stage}, buckets=list(BUCKETS)) for stage in STAGES}

    def answered(self, plates: Sequence[Plate]) -> None:
        """Count a frame and its plates."""
        self._frames.increment(1)
        if not plates:
            self._early_stops.increment(1)
            return
        self._plates.increment(len(plates))
        unread = sum(not plate.reading.text for plate in plates)
        if unread:
            self._unread.increment(unread)

    def failed(self, kind: ErrorAnswer) -> None:
        self._errors[kind].increment(1)

    def observe(self, seconds: float, stages: Mapping[str, float]) -> None:
        """Observe the duration of a request, and of each of its `STAGES`, in seconds."""
        self._request.observe(seconds)
        for stage, metric in self._stages.items():
            if stage in stages:
                metric.observe(stages[stage])
