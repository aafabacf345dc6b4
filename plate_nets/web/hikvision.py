"""The alerts that Hikvision's cameras post (ISAPI, "HTTP listening": EventNotificationAlert), of which ANPR counts."""

from plate_nets.common.errors import InputError
from plate_nets.common.intake.xml_text import read_xml
from plate_nets.web.reports import Report, moment

SOURCE = "hikvision"


def report_of(alert: bytes, picture: bytes = b"") -> Report | None:
    """An alert, XML, and the largest picture beside it -> the report; None for heartbeats and other alerts.

    Raises:
        InputError: it is no such alert.
    """
    root = read_xml(alert, "alert")
    if root.tag.rpartition("}")[2] != "EventNotificationAlert":
        raise InputError(f"alert: expected an EventNotificationAlert, got {root.tag[:64]}")

    def text(path: str) -> str:
        return root.findtext(path.replace("/", "/{*}"), "")

    if text("./eventType").upper() != "ANPR":
        return None
    plate, taken = text("./ANPR/licensePlate"), text("./dateTime")
    try:
        score = min(1.0, max(0.0, float(text("./ANPR/confidenceLevel") or 0) / 100))
    except ValueError as error:
        raise InputError("alert: confidenceLevel: expected a number") from error
    return Report(SOURCE, plate, score, moment(taken), text("./UUID") or f"{taken} {plate}", picture)
