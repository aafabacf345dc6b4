"""The plates that Dahua's cameras post (ITSAPI: TollgateInfo), as JSON with pictures in base64."""

from base64 import b64decode
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_pascal

from plate_nets.common.errors import InputError
from plate_nets.web.faults import invalid_body
from plate_nets.web.reports import Report, moment

SOURCE = "dahua"

_Text = Annotated[str, BeforeValidator(lambda value: "" if value is None else value)]
_Percent = Annotated[float, BeforeValidator(lambda value: value or 0.0), Field(ge=0, allow_inf_nan=False)]


class _Part(BaseModel):
    model_config = ConfigDict(alias_generator=to_pascal, frozen=True)


class _Plate(_Part):
    plate_number: _Text = ""
    confidence: _Percent = 0.0


class _Snap(_Part):
    accurate_time: _Text = ""
    snap_time: _Text = ""


class _Stored(_Part):
    content: _Text = ""
    pic_name: _Text = ""


class _Picture(_Part):
    plate: _Plate = _Plate()
    snap_info: _Snap = _Snap()
    normal_pic: _Stored = _Stored()
    """The whole frame."""
    vehicle_pic: _Stored = _Stored()
    cutout_pic: _Stored = _Stored()
    """The plate."""


class _Tollgate(_Part):
    picture: _Picture


def report_of(post: bytes) -> Report:
    """A post -> the report.

    Raises:
        InputError: it is no such post.
    """
    try:
        picture = _Tollgate.model_validate_json(post).picture
    except ValidationError as error:
        raise invalid_body(error) from error
    stored = max((picture.normal_pic, picture.vehicle_pic, picture.cutout_pic), key=lambda each: len(each.content))
    taken = picture.snap_info.accurate_time or picture.snap_info.snap_time
    try:
        encoded = b64decode(stored.content.rpartition("base64,")[2], validate=True)
    except ValueError as error:
        raise InputError("body: Picture: Content: expected base64") from error
    plate = picture.plate
    key = f"{stored.pic_name} {taken} {plate.plate_number}"
    return Report(SOURCE, plate.plate_number, min(1.0, plate.confidence / 100), moment(taken), key, encoded)
