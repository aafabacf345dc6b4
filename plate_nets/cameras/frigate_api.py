"""What is asked of Frigate over HTTP: the pictures of an event, its license plate, its sub label."""

from typing import Any
from urllib.parse import quote

import httpx

from plate_nets.common.contexts import Closing
from plate_nets.common.credentials import hide_credentials
from plate_nets.common.errors import ServerUnavailable
from plate_nets.common.http_address import http_address

TIMEOUT = 10.0
_ABSENT = (httpx.codes.NOT_FOUND, httpx.codes.METHOD_NOT_ALLOWED)
_LONGEST = 100
"""Characters of a sub label."""


class FrigateApi(Closing):
    """Frigate's HTTP API, from version 0.16 on; an earlier one knows no license plates.

    All methods raise ServerUnavailable if it does not answer, or not now.

    Args:
        url: such as ``http://frigate:5000``; a user and password in it are sent as basic authentication.
        timeout: seconds for each step of a request.

    Raises:
        InputError: the address has another form.
    """

    def __init__(self, url: str, timeout: float = TIMEOUT) -> None:
        address = http_address("frigate", url)
        self._client = httpx.Client(base_url=address.url, timeout=timeout, **address.options)

    def close(self) -> None:
        self._client.close()

    def snapshot(self, event: str) -> bytes | None:
        """The id of an event -> the whole frame of its best moment, as a JPEG; None if there is none."""
        shown = {"crop": 0, "bbox": 0, "timestamp": 0, "quality": 95}
        answer = self._ask("GET", _of_event(event, "snapshot.jpg"), params=shown)
        return None if answer is None else answer.content

    def recorded(self, camera: str, moment: float) -> bytes | None:
        """A camera and a Unix time -> the frame of its recording, as a JPEG; None if there is none, or not yet."""
        answer = self._ask("GET", f"{quote(camera, safe='')}/recordings/{moment:.3f}/snapshot.jpg")
        return None if answer is None else answer.content

    def detect_size(self, camera: str) -> tuple[int, int] | None:
        """A camera -> height and width of the frames in which its boxes are; None if Frigate does not say."""
        answer = self._ask("GET", "config")
        try:
            detect = answer.json()["cameras"][camera]["detect"] if answer else {}
            h, w = int(detect["height"]), int(detect["width"])
        except (KeyError, TypeError, ValueError, RecursionError):
            return None
        return (h, w) if h > 0 and w > 0 else None

    def set_plate(self, event: str, text: str, score: float) -> bool:
        """Set the recognized license plate of an event -> whether Frigate knows the event, and license plates."""
        body = {"recognizedLicensePlate": text, "recognizedLicensePlateScore": score}
        return self._ask("POST", _of_event(event, "recognized_license_plate"), json=body) is not None

    def set_sub_label(self, event: str, text: str, score: float) -> bool:
        """Set the sub label of an event -> whether Frigate knows the event."""
        body = {"subLabel": text[:_LONGEST], "subLabelScore": score}
        return self._ask("POST", _of_event(event, "sub_label"), json=body) is not None

    def _ask(self, method: str, path: str, **options: Any) -> httpx.Response | None:
        what = path.rpartition("/")[2]
        try:
            answer = self._client.request(method, f"/api/{path}", **options)
        except httpx.TimeoutException as error:
            raise ServerUnavailable(f"Frigate: {what}: no answer in time") from error
        except httpx.HTTPError as error:
            raise ServerUnavailable(f"Frigate: {what}: no answer: {hide_credentials(str(error))}") from error
        if answer.status_code in _ABSENT:
            return None
        if not answer.is_success:
            raise ServerUnavailable(f"Frigate: {what}: answered {answer.status_code} {answer.reason_phrase}")
        return answer


def _of_event(event: str, what: str) -> str:
    return f"events/{quote(event, safe='')}/{what}"
