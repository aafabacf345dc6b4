"""A reader of plates by others, asked over HTTP: Plate Recognizer's API, or that of CodeProject.AI.

Fields: https://guides.platerecognizer.com/docs/snapshot/api-reference/ and
https://codeproject.github.io/codeproject.ai/api/api_reference.html .
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import cv2
import httpx

from plate_nets.common.contexts import Closing
from plate_nets.common.credentials import hide_credentials
from plate_nets.common.errors import ServerUnavailable
from plate_nets.common.http_address import http_address
from plate_nets.common.spelling import normalize
from plate_nets.types import Box, Frame

_PLATE_RECOGNIZER = "/v1/plate-reader"
_CODEPROJECT = "/v1/vision/alpr"
_TIMEOUT = 30.0
"""Seconds for each step of a request."""
_SIDES = {"box": ("xmin", "ymin", "xmax", "ymax"), "": ("x_min", "y_min", "x_max", "y_max")}


@dataclass(frozen=True)
class OtherPlate:
    """A plate as another reader told it: its box in pixels, text and confidence, 0..1."""

    box: Box
    text: str
    confidence: float


class OtherReader(Closing):
    """Asks the reader at an address.

    Args:
        url: with the path ``/v1/plate-reader/``, Plate Recognizer's API; with another or none, CodeProject.AI's.
        token: that of Plate Recognizer.

    Raises:
        InputError: it is no ``http://`` or ``https://`` URL.
    """

    def __init__(self, url: str, token: str = "") -> None:
        address = http_address("--with", url)
        self.name = hide_credentials(url)
        self._url = address.url if address.url.path.strip("/") else address.url.copy_with(path=_CODEPROJECT)
        self._is_plate_recognizer = _PLATE_RECOGNIZER in self._url.path
        headers = {"Authorization": f"Token {token}"} if token else {}
        self._client = httpx.Client(timeout=_TIMEOUT, headers=headers, follow_redirects=False, **address.options)

    def close(self) -> None:
        self._client.close()

    def read(self, frame: Frame) -> Sequence[OtherPlate]:
        """A frame (H, W, 3) BGR, which it gets as a JPEG -> its plates with a text.

        Raises:
            ServerUnavailable: it does not answer, or not as documented.
        """
        encoded = cv2.imencode(".jpg", frame)[1].tobytes()
        try:
            answer = self._client.post(self._url, files={"upload": ("picture.jpg", encoded)}).raise_for_status()
            found = answer.json()
            if self._is_plate_recognizer:
                return _plates(found["results"], "box", "score")
            return _plates(found["predictions"], "", "confidence")
        except httpx.HTTPStatusError as error:
            raise ServerUnavailable(f"{self.name}: answered {error.response.status_code}") from error
        except httpx.HTTPError as error:
            raise ServerUnavailable(f"{self.name}: no answer: {hide_credentials(str(error))}") from error
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ServerUnavailable(f"{self.name}: its answer is not that of a reader of plates") from error


def _plates(rows: Sequence[Mapping[str, Any]], box: str, confidence: str) -> list[OtherPlate]:
    return [
        OtherPlate(
            Box(*(float((row[box] if box else row)[side]) for side in _SIDES[box])),
            normalize(str(row["plate"])),
            float(row[confidence]),
        )
        for row in rows
        if row.get("plate")
    ]
