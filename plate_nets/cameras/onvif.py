"""What is asked of a camera over ONVIF: its clock, and the alarms of a pull point.

These are five calls of SOAP. Libraries that know the whole of ONVIF bring a SOAP stack, lxml and a second HTTP client.
Formats: ONVIF Core Specification, "Event handling"; WS-BaseNotification 1.3; WS-Security UsernameToken Profile 1.1.
"""

import hashlib
import os
import re
from base64 import b64encode
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from time import monotonic
from xml.etree.ElementTree import Element, tostring
from xml.sax.saxutils import escape

import httpx

from plate_nets.common.contexts import Closing
from plate_nets.common.credentials import hide_credentials
from plate_nets.common.errors import InputError, SourceError
from plate_nets.common.http_address import http_address
from plate_nets.common.intake.xml_text import read_xml

_TIMEOUT = 10.0
_PULL_SECONDS = 2
"""For how long the camera holds an answer if there is no alarm."""
_KEPT_SECONDS = 60
"""For how long the camera keeps a pull point that nobody asks any more."""
_RENEWED = 20.0
_ALARMS = re.compile("motion|vehicle|digitalinput|crossed", re.I)
"""What the topic of an alarm, or the name of its value, has in it."""
_STATES = {"true": True, "1": True, "false": False, "0": False}
_EVENTS, _DEVICE = "http://www.onvif.org/ver10/events/wsdl", "http://www.onvif.org/ver10/device/wsdl"
_PULL, _RENEW = f"{_EVENTS}/PullPointSubscription", "http://docs.oasis-open.org/wsn/bw-2/SubscriptionManager"
_WSS = "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss"
_ENVELOPE = (
    '<?xml version="1.0" encoding="UTF-8"?><s:Envelope xmlns:s="http://www.w3.org/2003/05/soap-envelope"'
    ' xmlns:a="http://www.w3.org/2005/08/addressing"><s:Header>{header}</s:Header><s:Body>{body}</s:Body></s:Envelope>'
)
_TOKEN = (
    f'<wsse:Security s:mustUnderstand="1" xmlns:wsse="{_WSS}-wssecurity-secext-1.0.xsd"'
    f' xmlns:wsu="{_WSS}-wssecurity-utility-1.0.xsd"><wsse:UsernameToken><wsse:Username>{{user}}</wsse:Username>'
    f'<wsse:Password Type="{_WSS}-username-token-profile-1.0#PasswordDigest">{{digest}}</wsse:Password>'
    f'<wsse:Nonce EncodingType="{_WSS}-soap-message-security-1.0#Base64Binary">{{nonce}}</wsse:Nonce>'
    "<wsu:Created>{created}</wsu:Created>"
    "</wsse:UsernameToken></wsse:Security>"
)


@dataclass(frozen=True)
class Alarm:
    name: str
    """Its topic and where it is, the same for its beginning and its end."""
    is_on: bool | None
    """Whether it begins or ends; None if it has no duration."""


class OnvifCamera(Closing):
    """A camera's ONVIF service.

    All methods raise SourceError if it does not answer, or refuses.

    Args:
        url: of the device service, such as ``http://user:password@192.168.1.20/onvif/device_service``.

    Raises:
        InputError: the address has another form.
    """

    def __init__(self, url: str) -> None:
        address = http_address("onvif", url)
        self._url = address.url
        self._user = address.auth
        # For cameras that ask for it beside the token
        login = httpx.DigestAuth(*address.auth) if address.auth else None
        self._client = httpx.Client(timeout=_TIMEOUT, **{**address.options, "auth": login})
        self._ahead = timedelta()
        """How far the camera's clock is ahead of ours."""
        self._point: httpx.URL | None = None
        """The address of the pull point."""
        self._header = ""
        """What the camera wants back with each request to it."""
        self._renewed = 0.0

    def close(self) -> None:
        """Give the pull point back, if the camera answers."""
        if self._point is not None:
            body = '<n:Unsubscribe xmlns:n="http://docs.oasis-open.org/wsn/b-2"/>'
            with suppress(SourceError):  # it ends by itself
                self._ask(self._point, f"{_RENEW}/UnsubscribeRequest", body, self._header)
        self._client.close()

    def subscribe(self) -> None:
        self._set_clock()
        body = f'<d:GetCapabilities xmlns:d="{_DEVICE}"><d:Category>Events</d:Category></d:GetCapabilities>'
        capabilities = self._ask(self._url, f"{_DEVICE}/GetCapabilities", body)
        events = self._at_camera(_text(capabilities, "Events/XAddr"))
        ends = f"<e:InitialTerminationTime>PT{_KEPT_SECONDS}S</e:InitialTerminationTime>"
        body = f'<e:CreatePullPointSubscription xmlns:e="{_EVENTS}">{ends}</e:CreatePullPointSubscription>'
        created = self._ask(events, f"{_EVENTS}/EventPortType/CreatePullPointSubscriptionRequest", body)
        self._point = self._at_camera(_text(created, "SubscriptionReference/Address"))
        wanted = created.find(".//{*}SubscriptionReference/{*}ReferenceParameters")
        self._header = "".join(tostring(each, "unicode") for each in (() if wanted is None else wanted))
        self._renewed = monotonic()

    def alarms(self) -> list[Alarm]:
        """Wait for up to two seconds -> the alarms that began or ended."""
        assert self._point is not None, "`subscribe` came before"
        if monotonic() - self._renewed > _RENEWED:
            ends = f"<n:TerminationTime>PT{_KEPT_SECONDS}S</n:TerminationTime>"
            body = f'<n:Renew xmlns:n="http://docs.oasis-open.org/wsn/b-2">{ends}</n:Renew>'
            with suppress(SourceError):  # some cameras cannot: there, pulling keeps the pull point
                self._ask(self._point, f"{_RENEW}/RenewRequest", body, self._header)
            self._renewed = monotonic()
        what = f"<e:Timeout>PT{_PULL_SECONDS}S</e:Timeout><e:MessageLimit>100</e:MessageLimit>"
        body = f'<e:PullMessages xmlns:e="{_EVENTS}">{what}</e:PullMessages>'
        return list(_alarms(self._ask(self._point, f"{_PULL}/PullMessagesRequest", body, self._header)))

    def _set_clock(self) -> None:
        """Take over the camera's clock, which tokens must be of; everybody may ask for it."""
        body = f'<d:GetSystemDateAndTime xmlns:d="{_DEVICE}"/>'
        answer = self._ask(self._url, f"{_DEVICE}/GetSystemDateAndTime", body, signed=False)
        if answer.find(".//{*}UTCDateTime") is None:  # it need not say
            return
        parts = ("Date/Year", "Date/Month", "Date/Day", "Time/Hour", "Time/Minute", "Time/Second")
        try:
            year, month, day, hour, minute, second = (int(_text(answer, f"UTCDateTime/{part}")) for part in parts)
            self._ahead = datetime(year, month, day, hour, minute, second, tzinfo=UTC) - datetime.now(UTC)
        except ValueError as error:
            raise SourceError(f"onvif: its clock: {error}") from error

    def _at_camera(self, address: str) -> httpx.URL:
        """An address as the camera knows itself -> where it is reached from here."""
        try:
            return self._url.copy_with(raw_path=httpx.URL(address).raw_path)
        except httpx.InvalidURL as error:
            raise SourceError(f"onvif: expected an address, got {address[:64]!r}") from error

    def _ask(self, url: httpx.URL, action: str, body: str, header: str = "", *, signed: bool = True) -> Element:
        to = f'<a:Action s:mustUnderstand="1">{action}</a:Action><a:To s:mustUnderstand="1">{escape(str(url))}</a:To>'
        security = self._token() if signed else ""
        content = _ENVELOPE.format(header=security + to + header, body=body).encode()
        kind = {"Content-Type": f'application/soap+xml; charset=utf-8; action="{action}"'}
        try:
            answer = self._client.post(url, content=content, headers=kind)
            root = read_xml(answer.content, "answer")
        except httpx.TimeoutException as error:
            raise SourceError("onvif: no answer in time") from error
        except httpx.HTTPError as error:
            raise SourceError(f"onvif: no answer: {hide_credentials(str(error))}") from error
        except InputError as error:
            raise SourceError(f"onvif: answered {answer.status_code} without SOAP") from error
        fault = root.find("{*}Body/{*}Fault")
        if fault is not None or not answer.is_success:
            raise SourceError(_reason(fault, answer.status_code))
        return root

    def _token(self) -> str:
        """The user, and a digest that proves the password at this moment of the camera's clock."""
        if self._user is None:
            return ""
        user, password = self._user
        nonce = os.urandom(16)
        created = (datetime.now(UTC) + self._ahead).strftime("%Y-%m-%dT%H:%M:%SZ")
        digest = hashlib.sha1(nonce + created.encode() + password.encode()).digest()
        return _TOKEN.format(
            user=escape(user), digest=b64encode(digest).decode(), nonce=b64encode(nonce).decode(), created=created
        )


def _alarms(answer: Element) -> Iterator[Alarm]:
    for message in answer.iter("{http://docs.oasis-open.org/wsn/b-2}NotificationMessage"):
        topic = (message.findtext("{*}Topic") or "").strip()
        source = [each.get("Value", "") for each in message.findall(".//{*}Source/{*}SimpleItem")]
        values = {each.get("Name", ""): each.get("Value", "") for each in message.findall(".//{*}Data/{*}SimpleItem")}
        states = {_STATES.get(value.lower()) for name, value in values.items() if _ALARMS.search(f"{topic}/{name}")}
        if states - {None} or _ALARMS.search(topic):
            yield Alarm(" ".join([topic, *source]), None if states <= {None} else True in states)


def _text(answer: Element, path: str) -> str:
    """The text of the first element at a path of names, in any namespace."""
    found = answer.findtext(".//" + "/".join(f"{{*}}{name}" for name in path.split("/")))
    if found is None:
        raise SourceError(f"onvif: expected {path} in its answer")
    return found.strip()


def _reason(fault: Element | None, status: int) -> str:
    codes = [] if fault is None else [each.text or "" for each in fault.iter() if each.tag.endswith("}Value")]
    if status == httpx.codes.UNAUTHORIZED or any("NotAuthorized" in code or "FailedAuth" in code for code in codes):
        return "onvif: it refuses the user or the password"
    words = "" if fault is None else " ".join((fault.findtext("{*}Reason/{*}Text") or "").split())[:200]
    return f"onvif: answered {status} {words}".rstrip()
