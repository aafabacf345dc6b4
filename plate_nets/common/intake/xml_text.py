"""XML from other devices: limited in size, and without the entities that can expand to a billion characters."""

from xml.etree.ElementTree import Element, ParseError

from defusedxml.common import DefusedXmlException
from defusedxml.ElementTree import fromstring

from plate_nets.common.errors import InputError, InputTooLarge
from plate_nets.common.intake.files import MAX_TEXT


def read_xml(encoded: bytes, what: str) -> Element:
    """A document -> its root.

    Raises:
        InputError: it is not XML, or has a document type; the message begins with ``what``.
    """
    if len(encoded) > MAX_TEXT:
        raise InputTooLarge(f"{what}: expected at most {MAX_TEXT} bytes of XML, got {len(encoded)}")
    try:
        root: Element = fromstring(encoded, forbid_dtd=True)
    except (ParseError, DefusedXmlException, ValueError, LookupError) as error:  # the last two: of its encoding
        raise InputError(f"{what}: expected XML: {error}") from error
    return root
