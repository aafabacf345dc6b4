"""`POST /v1/plate-reader/` in the shape that clients of Plate Recognizer's Snapshot API know.

Field names after https://guides.platerecognizer.com/docs/snapshot/api-reference/ . Texts are in small letters there.
There is no vehicle in our answer: the field that its clients look for is there, and says that nothing was found.
"""

from datetime import UTC, datetime
from typing import Any

from starlette.responses import JSONResponse

from plate_nets.web import bodies
from plate_nets.web.faults import answer_of, fault_of

COUNTRY = "ru"
"""ISO 3166 of the scheme's plates."""


def answer(picture: bodies.Picture, camera: str | None, timestamp: str | None) -> dict[str, Any]:
    """A picture that was read, and what its sender said of it -> the answer."""
    return {
        "processing_time": picture.milliseconds,
        "results": [_result(plate) for plate in picture.plates],
        "filename": picture.file,
        "version": 1,
        "camera_id": camera,
        "timestamp": timestamp or datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z"),
    }


def _result(plate: bodies.Plate) -> dict[str, Any]:
    xmin, ymin, xmax, ymax = map(round, plate.box)
    best = {"plate": plate.reading.lower(), "score": plate.confidence}
    others = [{"plate": each.plate.lower(), "score": each.score} for each in plate.candidates]
    return {
        **best,
        "dscore": plate.score,
        "box": {"xmin": xmin, "ymin": ymin, "xmax": xmax, "ymax": ymax},
        "region": {"code": COUNTRY, "score": 1.0 if plate.text else 0.0},
        "candidates": [best, *(each for each in others if each["plate"] != best["plate"])],
        "vehicle": {"type": "Unknown", "score": 0.0, "box": None},
    }


def error_response(error: Exception) -> JSONResponse:
    """An exception -> the error as those clients read it."""
    fault, status = fault_of(error), int(answer_of(error).http)
    return JSONResponse({"detail": fault.message, "error": fault.code, "status_code": status}, status)
