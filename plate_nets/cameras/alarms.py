"""Lets a camera be read when it reports an alarm of its own, such as motion or a vehicle."""

import threading
import time
from collections.abc import Callable

from plate_nets.cameras.onvif import OnvifCamera
from plate_nets.common.threads import LastingThread, cause

_LONGEST_ALARM = 60.0
"""Seconds after which an alarm is over whose end the camera has not reported."""


class CameraAlarms:
    """Asks for the alarms of a camera, in a thread of its own, again and again if it does not answer.

    Args:
        url: of its ONVIF device service.
        read: called at the beginning of an alarm, and every few seconds until its end.
        notice: called with a line when it does not answer, and when it does again.
        ending: while it is set, nothing is asked any more.
    """

    def __init__(
        self,
        camera: str,
        url: str,
        read: Callable[[], object],
        notice: Callable[[str], None],
        ending: threading.Event,
    ) -> None:
        self._url = url
        self._read = read
        self._ending = ending
        self._service: OnvifCamera | None = None
        self._begun: dict[str, float] = {}
        """When each alarm began that has not ended, on `time.monotonic`."""
        self._thread = LastingThread(
            f"alarms {camera}",
            self._take_some,
            ending=ending,
            failed=lambda error: notice(f"{cause(error)}; its alarms are not known until it answers"),
            recovered=lambda: notice("onvif: answers again"),
            ended=self._close,
        )

    def start(self) -> None:
        self._thread.start()

    def _take_some(self) -> bool:
        try:
            if self._service is None:
                self._service = OnvifCamera(self._url)
                self._service.subscribe()
            alarms, now = self._service.alarms(), time.monotonic()
        except Exception:
            self._close()
            raise
        self._begun |= {alarm.name: now for alarm in alarms if alarm.is_on}
        if self._begun or any(alarm.is_on is None for alarm in alarms):
            self._read()
        over = {alarm.name for alarm in alarms if alarm.is_on is False}
        self._begun = {
            name: begun for name, begun in self._begun.items() if name not in over and now - begun < _LONGEST_ALARM
        }
        return not self._ending.is_set()

    def _close(self) -> None:
        service, self._service, self._begun = self._service, None, {}
        if service is not None:
            service.close()
