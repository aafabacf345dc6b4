"""The record of an event: what it refuses. tests/unit/cameras/test_cars.py checks events against the schema."""

from dataclasses import replace
from typing import Any

import pytest

from plate_nets.cameras.privacy import without_texts
from plate_nets.common.errors import ContractError
from plate_nets.events.event import LATER, PlateEvent, event_schema
from tests.events import event


def record() -> dict[str, Any]:
    return event().to_dict()


def test_fields_and_schema_are_the_same() -> None:
    schema = event_schema()
    assert list(record()) == list(schema["properties"])
    assert [name for name in schema["properties"] if name not in LATER] == schema["required"]


def test_an_event_of_an_earlier_minor_version_is_read() -> None:
    values = record()
    for name in LATER:
        del values[name]
    del values["images"]["vehicle"]
    found = PlateEvent.from_dict(values)
    assert (found.vehicle, found.country, found.ground, found.images.vehicle) == (None,) * 4


def test_an_event_tells_the_latin_form_of_its_plate() -> None:
    korean = replace(event(), plate="12가3456")
    assert korean.to_dict()["latin"] == "12GA3456"
    assert PlateEvent.from_dict(korean.to_dict()) == korean
    assert record()["latin"] is None, "the plate itself is in Latin letters"
    assert without_texts(korean, b"salt").to_dict()["latin"] is None, "nor does a hash tell it"


def test_a_later_version_may_have_more_keys() -> None:
    values = record()
    assert PlateEvent.from_dict(values | {"colour": "red"}) == PlateEvent.from_dict(values)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"schema": "plate-event/2"}, "schema: expected plate-event/1, got 'plate-event/2'"),
        ({"first_seen": "yesterday"}, "Invalid isoformat"),
        ({"box": {"xmin": 1}}, "missing 3 required"),
        ({"box": [1, 2, 3, 4]}, "expected the fields of plate-event/1"),
        ({"speed": float("nan")}, "expected a finite number, got nan"),
        ({"corners": [[1, 2, 3]]}, "expected the fields of plate-event/1"),
        ({"corners": [1, 2]}, "expected the fields of plate-event/1"),
        ({"ground": {"colour": "red"}}, "expected the fields of plate-event/1"),
    ],
)
def test_an_invalid_event_is_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ContractError, match=message):
        PlateEvent.from_dict(record() | change)


@pytest.mark.parametrize("name", ["plate", "speed"])
def test_a_missing_field_is_named(name: str) -> None:
    values = record()
    del values[name]
    with pytest.raises(ContractError, match=f"got none named '{name}'"):
        PlateEvent.from_dict(values)
