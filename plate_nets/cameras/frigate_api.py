"""What is asked of Frigate over HTTP: the picture of an event, its license plate, its sub label."""

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
        """The id of an event -> the whole frame of its best moment, as a JPEG; None if there is none.

        Raises:
            ServerUnavailable: it does not answer, or not now.
        """
        shown = {"crop": 0, "bbox": 0, "timestamp": 0, "quality": 95}
        answer = self._ask("GET", event, "snapshot.jpg", params=shown)
        return None if answer is None else answer.content

    def set_plate(self, event: str, text: str, score: float) -> bool:
        """Set the recognized license plate of an event -> whether Frigate knows the event, and license plates.

        Raises:
            ServerUnavailable: it does not answer, or not now.
        """
        body = {"recognizedLicensePlate": text, "recognizedLicensePlateScore": score}
        return self._ask("POST", event, "recognized_license_plate", json=body) is not None

    def set_sub_label(self, event: str, text: str, score: float) -> bool:
        """Set the sub label of an event -> whether Frigate knows the event.

        Raises:
            ServerUnavailable: it does not answer, or not now.
        """
        body = {"subLabel": text[:_LONGEST], "subLabelScore": score}
        return self._ask("POST", event, "sub_label", json=body) is not None

    def _ask(self, method: str, event: str, what: str, **options: Any) -> httpx.Response | None:
        try:
            answer = self._client.request(method, f"/api/events/{quote(event, safe='')}/{what}", **options)
        except httpx.TimeoutException as error:
            raise ServerUnavailable(f"Frigate: {what}: no answer in time") from error
        except httpx.HTTPError as error:
            raise ServerUnavailable(f"Frigate: {what}: no answer: {hide_credentials(str(error))}") from error
        if answer.status_code in _ABSENT:
            return None
        if not answer.is_success:
            raise ServerUnavailable(f"Frigate: {what}: answered {answer.status_code} {answer.reason_phrase}")
        return answer
