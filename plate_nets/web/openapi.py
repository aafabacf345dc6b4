"""The OpenAPI 3.1 document of the HTTP API, generated from the models in `bodies.py`."""

from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from plate_nets.common.error_codes import OURS, WEB
from plate_nets.web import bodies, codeproject, plate_recognizer

Json = dict[str, Any]

_MODELS: tuple[type[BaseModel], ...] = (
    bodies.Pictures,
    bodies.Address,
    bodies.Correction,
    bodies.Entry,
    bodies.StoredEntry,
    bodies.Near,
    bodies.Failure,
    bodies.Wellness,
)
_REF = "#/components/schemas/{model}"


@cache
def document(version: str) -> Json:
    """Build the document for a version of the package."""
    _, schemas = models_json_schema([(model, "serialization") for model in _MODELS], ref_template=_REF)
    return {
        "openapi": "3.1.0",
        "info": {"title": "plate-nets", "version": version, "license": {"name": "AGPL-3.0-or-later"}},
        "security": [{"token": []}],
        "paths": _paths(),
        "components": {
            "schemas": schemas["$defs"],
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "responses": {"Failure": _answer("the error; docs/reference/errors.md explains the codes", bodies.Failure)},
        },
    }


def _paths() -> Json:
    files = {"type": "object", "properties": {"file": {"type": "array", "items": _BINARY}}, "required": ["file"]}
    return {
        "/api/v1/plates": {
            "post": {
                "summary": "Read the plates of pictures",
                "description": "One picture or several; with several, each has its own plates or its own error.",
                "parameters": [
                    _query("crops", "boolean", "also return a straightened crop of each plate"),
                    _query("vehicles", "boolean", "also find the vehicle that each plate belongs to"),
                    _query("sure", "number", "minimum confidence of a text, 0 to 1; default 0.8"),
                ],
                "requestBody": {
                    "required": True,
                    "content": {
                        "multipart/form-data": {"schema": files},
                        "image/*": {"schema": _BINARY},
                        "application/json": {"schema": _ref(bodies.Address)},
                    },
                },
                "responses": {"200": _answer("the pictures, in order", bodies.Pictures), **_failures()},
            }
        },
        **_plate_recognizer(),
        **_codeproject(),
        "/api/v1/videos": {
            "post": {
                "summary": "Watch a video",
                "description": "Lines of JSON: {event}, {position, length}, finally {done} or {error}.",
                "parameters": [_query("sure", "number", "minimum probability of an event's text; default 0.99")],
                "requestBody": _body("video/*", _BINARY),
                "responses": {"200": {"description": "application/x-ndjson"}, **_failures()},
            }
        },
        "/api/v1/events": {
            "get": {
                "summary": "Events of the store, newest first, and the cursor of the next page",
                "parameters": [
                    *_SEARCH,
                    _query("limit", "integer", "1 to 200"),
                    _query("cursor", "string", "from the previous page"),
                ],
                "responses": {"200": _ANY, **_failures()},
            }
        },
        "/api/v1/events/stream": {
            "get": {
                "summary": "Stream of new events; the header Last-Event-ID resumes a broken stream",
                "responses": {"200": {"description": "text/event-stream"}, **_failures()},
            }
        },
        "/api/v1/events/table.csv": {
            "get": {
                "summary": "The newest 100,000 events of a search as CSV that is safe in a spreadsheet",
                "parameters": _SEARCH,
                "responses": {"200": {"description": "text/csv"}, **_failures()},
            }
        },
        "/api/v1/events/hours": {
            "get": {
                "summary": "Number of events of a search in each hour from since until until, at most 7 days",
                "parameters": _SEARCH,
                "responses": {"200": _ANY, **_failures()},
            }
        },
        "/api/v1/events/visits": {
            "get": {
                "summary": "How often a plate was seen, first and last, and by which cameras",
                "parameters": [_query("plate", "string", "the text exactly as in its events, or its hash")],
                "responses": {"200": _ANY, **_failures()},
            }
        },
        "/api/v1/events/cameras": {"get": {"summary": "The cameras that have events", "responses": {"200": _ANY}}},
        "/api/v1/events/{id}": {"get": {"summary": "One event", "parameters": [_ID], "responses": _FOUND}},
        "/api/v1/events/{id}/correction": {
            "put": {
                "summary": "Store the true text of a plate",
                "parameters": [_ID],
                "requestBody": _body("application/json", _ref(bodies.Correction)),
                "responses": {"200": _ANY, **_failures()},
            }
        },
        "/api/v1/events/{id}/{picture}.jpg": {
            "get": {
                "summary": "A picture of an event",
                "parameters": [_ID, _place("picture", "plate, frame or vehicle")],
                "responses": _PICTURE,
            }
        },
        "/api/v1/lists": {"get": {"summary": "Watch lists with their entries", "responses": {"200": _ANY}}},
        "/api/v1/lists/{name}/entries": {
            "post": {
                "summary": "Add an entry, or change one",
                "parameters": [_place("name")],
                "requestBody": _body("application/json", _ref(bodies.Entry)),
                "responses": {"201": _answer("the stored entry", bodies.StoredEntry), **_failures()},
            }
        },
        "/api/v1/lists/{name}/near": {
            "get": {
                "summary": "Entries that a text may be a misreading of, and whether they match a car with it",
                "parameters": [_place("name"), _query("text", "string", "of a plate")],
                "responses": {"200": _answer("the 100 nearest", bodies.Near), **_failures()},
            }
        },
        "/api/v1/lists/{name}/entries/{plate}": {
            "delete": {
                "summary": "Remove an entry",
                "parameters": [_place("name"), _place("plate")],
                "responses": {"204": {"description": "removed, if it was there"}, **_failures()},
            }
        },
        "/api/v1/lists/{name}.csv": {
            "get": {
                "summary": "The list as CSV, with an apostrophe before labels that a spreadsheet would compute",
                "parameters": [_place("name")],
                "responses": {"200": {"description": "text/csv"}, **_failures()},
            },
            "post": _import("Add the entries of a table"),
            "put": _import("Replace all entries by those of a table"),
        },
        "/api/v1/cameras": {"get": {"summary": "Status of each camera", "responses": {"200": _ANY}}},
        "/api/v1/cameras/{camera}/frame.jpg": {
            "get": {
                "summary": "The newest analysed frame of a camera",
                "parameters": [_place("camera")],
                "responses": _PICTURE,
            }
        },
        "/health": {
            "get": {
                "summary": "Whether plates are being read; needs no token",
                "security": [],
                "responses": {
                    "200": _answer("they are", bodies.Wellness),
                    "503": _answer("they are not", bodies.Wellness),
                },
            }
        },
        "/api/v1/health": {
            "get": {"summary": "Status of the server, its models and its cameras", "responses": {"200": _ANY}}
        },
        "/metrics": {"get": {"summary": "Counters for Prometheus", "responses": {"200": {"description": "text"}}}},
    }


def _plate_recognizer() -> Json:
    snapshot = {
        "summary": "Read a picture, in the format of Plate Recognizer's Snapshot API",
        "description": "Errors are {detail, error, status_code}.",
        "requestBody": _body(
            "multipart/form-data",
            {
                "type": "object",
                "properties": {
                    "upload": {**_BINARY, "description": "the picture, or its base64 as text"},
                    "upload_url": {"type": "string"},
                    "camera_id": {"type": "string"},
                    "timestamp": {"type": "string"},
                },
            },
        ),
        "responses": {"201": {"description": "processing_time, results, filename, version, camera_id, timestamp"}},
    }
    return {path: {"post": snapshot} for path in plate_recognizer.PATHS}


def _codeproject() -> Json:
    alpr = {
        "summary": "Read a picture, in the format of CodeProject.AI Server",
        "description": "Errors are {success, error, code}.",
        "requestBody": _body(
            "multipart/form-data",
            {
                "type": "object",
                "properties": {"upload": _BINARY, "min_confidence": {"type": "number"}},
                "required": ["upload"],
            },
        ),
        "responses": {
            "200": {
                "description": "success, message, predictions, count, inferenceMs, processMs, analysisRoundTripMs, "
                "moduleId, moduleName, inferenceDevice, processedBy, command, code"
            }
        },
    }
    custom = {
        **alpr,
        "summary": "Read a picture with a custom model of CodeProject.AI Server",
        "parameters": [_place("model", "alpr, or license-plate for the boxes alone")],
    }
    models = {"summary": "The custom models, as CodeProject.AI Server lists them", "responses": {"200": _ANY}}
    status = {
        "summary": "The status, as CodeProject.AI Server tells it",
        "parameters": [_place("name", ", ".join(codeproject.STATUSES))],
        "responses": _FOUND,
    }
    return {
        **{path: {"post": alpr} for path in codeproject.PATHS},
        codeproject.LIST: {"get": models, "post": models},
        codeproject.CUSTOM: {"post": custom},
        **{path: {"get": status} for path in codeproject.STATUS},
    }


_BINARY: Mapping[str, str] = {"type": "string", "format": "binary"}
_ANY: Json = {"description": "facts by name", "content": {"application/json": {"schema": {"type": "object"}}}}


def _place(name: str, meaning: str = "") -> Json:
    return {"name": name, "in": "path", "required": True, "description": meaning, "schema": {"type": "string"}}


_ID: Json = _place("id")
_MISSING: Json = {"404": {"$ref": "#/components/responses/Failure"}}
_FOUND: Json = {"200": _ANY, **_MISSING}
_PICTURE: Json = {"200": {"description": "the picture", "content": {"image/jpeg": {"schema": _BINARY}}}, **_MISSING}


def _body(kind: str, schema: Mapping[str, Any]) -> Json:
    return {"required": True, "content": {kind: {"schema": schema}}}


def _import(summary: str) -> Json:
    """An operation that takes a table of a watch list."""
    return {
        "summary": summary,
        "description": "The header has the columns plate and label, and may have valid_from, valid_until, hours and "
        "cameras. Faulty rows are skipped, and named in the answer.",
        "parameters": [_place("name")],
        "requestBody": _body("text/csv", _BINARY),
        "responses": {"200": _ANY, **_failures()},
    }


def _query(name: str, kind: str, meaning: str) -> Json:
    return {"name": name, "in": "query", "description": meaning, "schema": {"type": kind}}


_SEARCH: Final = (
    _query("text", "string", "start of the text, a pattern with * and ?, or a hash"),
    _query("distance", "integer", "characters by which it may differ, 0 to 2"),
    _query("camera", "string", "its id"),
    _query("list", "string", "name of a matching watch list"),
    _query("since", "string", "from this time on, ISO 8601"),
    _query("until", "string", "before this time"),
)


def _ref(model: type[BaseModel]) -> Json:
    return {"$ref": _REF.format(model=model.__name__)}


def _answer(meaning: str, model: type[BaseModel]) -> Json:
    return {"description": meaning, "content": {"application/json": {"schema": _ref(model)}}}


def _failures() -> Json:
    """All possible error statuses."""
    statuses = sorted({each.http for each in (*OURS, *WEB)})
    return {status: {"$ref": "#/components/responses/Failure"} for status in statuses}
