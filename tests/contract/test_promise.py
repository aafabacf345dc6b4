"""The promise of docs/reference/stability.md: within 2.x, no name in `promise.json` is renamed or removed.

Names may be added; a release adds its new ones to the file.
"""

import contextlib
import json
import re
import sqlite3
from collections.abc import Iterator
from dataclasses import fields
from typing import Any, get_args

import click
import pytest
import typer.main

import plate_nets
from plate_nets import cli, contract
from plate_nets.batch.rows import PLATE, ROW
from plate_nets.cameras.cameras_file import WatchPlan
from plate_nets.cameras.settings import CameraSettings
from plate_nets.cli.serve import TUNING
from plate_nets.common import error_codes
from plate_nets.events.event import event_schema
from plate_nets.events.sinks.files import COLUMNS
from plate_nets.events.sinks.settings import SinkSettings
from plate_nets.events.sinks.sqlite import EVENT_STORE
from plate_nets.recognition.decoding import DecodingSettings
from plate_nets.recognition.detection import DetectionSettings
from plate_nets.recognition.reader import FrameLimits
from plate_nets.triton.backend.settings import SchemeSettings
from plate_nets.types import Box, Plate, Reading
from plate_nets.web.app import create_app
from plate_nets.web.health import Backend
from plate_nets.web.settings import WebSettings
from tests.paths import ROOT


def tensors() -> list[str]:
    spec = contract.PLATE_RECOGNITION
    return [f"{each.name} {each.dtype}" for each in (*spec.inputs, *spec.outputs)]


def http() -> list[str]:
    with plate_nets.PlateClient("127.0.0.1:1") as reader:
        app: Any = create_app(Backend(reader, "server"), WebSettings())
    api = app._app.openapi()
    calls = {f"{method.upper()} {path}": call for path, calls in api["paths"].items() for method, call in calls.items()}
    kinds = [kind for call in calls.values() for kind in call.get("requestBody", {}).get("content", {}).values()]
    bodies = api["components"]["schemas"] | {each["schema"].get("title", ""): each["schema"] for each in kinds}
    return [*calls, *(f"{name}.{field}" for name, body in bodies.items() for field in body.get("properties", {}))]


def options() -> list[str]:
    group = typer.main.get_command(cli.app)
    assert isinstance(group, click.Group)
    found = []
    for name, command in {**group.commands, "events export": group.commands["events"].commands["export"]}.items():  # type: ignore[attr-defined]
        stable = [each for each in command.params if getattr(each, "rich_help_panel", None) != TUNING]
        found += [f"{name} {option}" for each in stable for option in (*each.opts, *each.secondary_opts)]
    return [each for each in found if " --" in each and not each.startswith("evaluate ")]


def keys() -> list[str]:
    kinds = get_args(SinkSettings)
    sinks = [(kind.type, each.name) for kind in kinds for each in fields(kind)]
    return [
        *(each.name for each in fields(WatchPlan)),
        *(f"cameras.{each.name}" for each in fields(CameraSettings)),
        *(f"sinks.{kind}.{name}" for kind, name in sinks),
    ]


def names_in(schema: dict[str, Any], prefix: str = "") -> Iterator[str]:
    """The names of all properties of a JSON Schema, nested ones with a dot."""
    for name, part in schema.get("properties", {}).items():
        yield prefix + name
        yield from names_in(part.get("items", part), f"{prefix}{name}.")
    for part in schema.get("anyOf", []):
        yield from names_in(part, prefix)


def stored() -> list[str]:
    with contextlib.closing(sqlite3.connect(":memory:")) as database:
        database.executescript(EVENT_STORE.schema)
        return [name for _, name, *_ in database.execute("PRAGMA table_info(events)")]


PLATE_OF_CHINA = Plate(Box(0, 0, 1, 1), 1.0, Reading("京A88731", "京A88731", 1.0, country="cn", ground="blue"))
CURRENT = {
    "tensors": tensors,
    "parameters of a request": lambda: [contract.SCHEME, contract.SURE],
    "events": lambda: [*names_in(event_schema())],
    "http": http,
    "options": options,
    "exit codes": lambda: [str(code) for code in (cli.FAILED, cli.INTERRUPTED, cli.TERMINATED)],
    "cameras.yaml": keys,
    "errors": lambda: [f"{each.phrase} {each.http} {each.grpc}" for each in error_codes.OURS],
    "plates in JSON": lambda: [*PLATE_OF_CHINA.to_dict()],
    "columns of Parquet": lambda: [*ROW.names, *(f"plates.{each.name}" for each in PLATE)],
    "columns of tables of events": lambda: list(COLUMNS),
    "columns of the event store": stored,
    "python": lambda: list(plate_nets.__all__),
}
PROMISE: dict[str, Any] = json.loads((ROOT / "tests" / "contract" / "promise.json").read_text(encoding="utf-8"))


def test_the_promise_lists_every_kind_of_name() -> None:
    assert list(PROMISE) == list(CURRENT)


@pytest.mark.parametrize("kind", CURRENT)
def test_no_promised_name_is_missing(kind: str) -> None:
    assert sorted(set(PROMISE[kind]) - set(CURRENT[kind]())) == []


def test_pages_teach_only_names_that_are_exported() -> None:
    reference = ROOT / "docs" / "reference"
    page = (reference / "python.md").read_text(encoding="utf-8")
    taught = re.findall(r"^::: plate_nets\.(?!common\.errors$).+\.(\w+)$", page, re.M)
    raised = re.findall(r"\| `([A-Z][A-Za-z]+)` \|", (reference / "errors.md").read_text(encoding="utf-8"))
    assert {"Watcher", "load_scheme"} < set(taught) and "ModelDied" in raised
    assert {*taught, *raised} - {*plate_nets.__all__} == set()


def test_pages_import_only_from_the_package_itself() -> None:
    for page in (ROOT / "README.md", *(ROOT / "docs").rglob("*.md")):
        found = re.search(r"^ *(from|import) plate_nets\.|`plate_nets\.\w+\.", page.read_text(encoding="utf-8"), re.M)
        assert found is None, page


@pytest.mark.parametrize("kind", ["columns of tables of events", "columns of the event store"])
def test_columns_are_added_at_the_end(kind: str) -> None:
    assert CURRENT[kind]()[: len(PROMISE[kind])] == PROMISE[kind]


def test_promised_variables_are_read() -> None:
    """Model variables are composed of model and field; the others appear in the code."""
    settings = (
        *(("yolo", each) for each in (*fields(DetectionSettings), *fields(FrameLimits))),
        *(("plate_recognition", each) for each in (*fields(DecodingSettings), *fields(SchemeSettings))),
    )
    read = {f"PLATES_{model}_{field.name}".upper() for model, field in settings}
    code = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "plate_nets").rglob("*.py"))
    page = (ROOT / "docs" / "reference" / "settings.md").read_text(encoding="utf-8")
    variables = re.findall(r"^\| `([A-Z_]+)`(?: or `([A-Z_]+)`)? \|", page, re.M)
    names = [name for row in variables for name in row if name]
    assert "PLATES_URL" in names and len(names) > 15
    assert [name for name in names if name not in read and f'"{name}"' not in code] == []
