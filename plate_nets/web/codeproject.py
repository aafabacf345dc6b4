"""`POST /v1/vision/alpr` in the format of CodeProject.AI Server.

Field names follow the outputs in modulesettings.json of https://github.com/codeproject/CodeProject.AI-ALPR .
"""

from typing import Any

from starlette.responses import JSONResponse

from plate_nets.web import bodies
from plate_nets.web.faults import answer_of, fault_of

PATHS = ("/v1/vision/alpr", "/v1/image/alpr")
"""The second is its older name, which many clients still use."""


def answer(picture: bodies.Picture) -> dict[str, Any]:
    """A picture that was read -> the answer, without plates that have no reading."""
    predictions = [_prediction(plate) for plate in picture.plates if plate.reading]
    return {
        "success": True,
        "message": f"Found {', '.join(each['label'] for each in predictions)}" if predictions else "No plates found",
        "predictions": predictions,
        "count": len(predictions),
        "inferenceMs": round(sum(picture.stages.values())),
        "processMs": round(picture.milliseconds or 0),
        "code": 200,
    }


def _prediction(plate: bodies.Plate) -> dict[str, Any]:
    sides = zip(("x_min", "y_min", "x_max", "y_max"), map(round, plate.box), strict=True)
    return {
        "confidence": plate.confidence,
        "label": f"Plate: {plate.reading}",
        "plate": plate.reading,
        **dict(sides),
    }


def error_response(error: Exception) -> JSONResponse:
    """An exception -> the error in those clients' format."""
    status = int(answer_of(error).http)
    return JSONResponse({"success": False, "error": fault_of(error).message, "code": status}, status)
