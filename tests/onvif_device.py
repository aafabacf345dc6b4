"""A camera's ONVIF service, as far as its alarms need it: strict about tokens, addresses and headers."""

import contextlib
import hashlib
import queue
from base64 import b64decode
from datetime import UTC, datetime, timedelta
from xml.etree.ElementTree import Element, fromstring

from tests.local_http import LocalHttp, QuietHandler

USER, PASSWORD = "watcher", "pass & word"
MOTION = "tns1:RuleEngine/CellMotionDetector/Motion"
_WSSE = "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-secext-1.0.xsd"
_WSU = "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-utility-1.0.xsd"
_DIGEST = "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-username-token-profile-1.0#PasswordDigest"
_ANSWER = """<?xml version="1.0" encoding="UTF-8"?>
<SOAP-ENV:Envelope xmlns:SOAP-ENV="http://www.w3.org/2003/05/soap-envelope" xmlns:wsa5="http://www.w3.org/2005/08/addressing"
 xmlns:wsnt="http://docs.oasis-open.org/wsn/b-2" xmlns:tds="http://www.onvif.org/ver10/device/wsdl"
 xmlns:tev="http://www.onvif.org/ver10/events/wsdl" xmlns:tt="http://www.onvif.org/ver10/schema"
 xmlns:ter="http://www.onvif.org/ver10/error" xmlns:tns1="http://www.onvif.org/ver10/topics">
<SOAP-ENV:Body>{body}</SOAP-ENV:Body></SOAP-ENV:Envelope>"""
_FAULT = """<SOAP-ENV:Fault><SOAP-ENV:Code><SOAP-ENV:Value>SOAP-ENV:Sender</SOAP-ENV:Value><SOAP-ENV:Subcode>
<SOAP-ENV:Value>ter:{code}</SOAP-ENV:Value></SOAP-ENV:Subcode></SOAP-ENV:Code><SOAP-ENV:Reason>
<SOAP-ENV:Text xml:lang="en">{code}</SOAP-ENV:Text></SOAP-ENV:Reason></SOAP-ENV:Fault>"""
_MESSAGE = """<wsnt:NotificationMessage>
<wsnt:Topic Dialect="http://www.onvif.org/ver10/tev/topicExpression/ConcreteSet">{topic}</wsnt:Topic><wsnt:Message>
<tt:Message UtcTime="2026-11-22T10:00:00Z" PropertyOperation="Changed"><tt:Source>
<tt:SimpleItem Name="VideoSourceConfigurationToken" Value="1"/></tt:Source><tt:Data>
<tt:SimpleItem Name="{name}" Value="{value}"/></tt:Data></tt:Message></wsnt:Message></wsnt:NotificationMessage>"""


class OnvifDevice(LocalHttp):
    """Answers on a port of loopback, until it is closed; ``ahead``: how wrong its clock is."""

    def __init__(self, ahead: timedelta = timedelta(days=-700), port: int = 0) -> None:
        self.ahead = ahead
        self.actions: list[str] = []
        self._messages: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._nonces: set[bytes] = set()
        device = self

        class Handler(QuietHandler):
            def do_POST(self) -> None:
                request = fromstring(self.rfile.read(int(self.headers["content-length"])))
                status, body = device._answer(self.path, request)
                content = _ANSWER.format(body=body).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/soap+xml; charset=utf-8")
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

        super().__init__(Handler, port)

    def url(self, password: str = "pass%20%26%20word") -> str:
        return f"http://{USER}:{password}@127.0.0.1:{self.port}/onvif/device_service"

    def send(self, topic: str = MOTION, name: str = "IsMotion", value: str = "true") -> None:
        """Report an alarm to whoever pulls next."""
        self._messages.put(_MESSAGE.format(topic=topic, name=name, value=value))

    def _answer(self, path: str, request: Element) -> tuple[int, str]:
        """The path and the envelope of a request -> the status and the body of the answer."""
        action = request.findtext(".//{*}Action", "").rpartition("/")[2].removesuffix("Request")
        self.actions.append(action)
        now = datetime.now(UTC) + self.ahead
        if action == "GetSystemDateAndTime":
            moment = (
                f"<tt:Time><tt:Hour>{now.hour}</tt:Hour><tt:Minute>{now.minute}</tt:Minute><tt:Second>{now.second}"
                f"</tt:Second></tt:Time><tt:Date><tt:Year>{now.year}</tt:Year><tt:Month>{now.month}</tt:Month>"
                f"<tt:Day>{now.day}</tt:Day></tt:Date>"
            )
            return 200, (
                "<tds:GetSystemDateAndTimeResponse><tds:SystemDateAndTime><tt:DateTimeType>Manual</tt:DateTimeType>"
                f"<tt:UTCDateTime>{moment}</tt:UTCDateTime></tds:SystemDateAndTime></tds:GetSystemDateAndTimeResponse>"
            )
        if not self._is_authorized(request, now):
            return 400, _FAULT.format(code="NotAuthorized")
        if action == "GetCapabilities":
            return 200, (
                "<tds:GetCapabilitiesResponse><tds:Capabilities><tt:Events><tt:XAddr>http://10.0.0.9/onvif/events"
                "</tt:XAddr></tt:Events></tds:Capabilities></tds:GetCapabilitiesResponse>"
            )
        if action == "CreatePullPointSubscription" and path == "/onvif/events":
            return 200, (
                "<tev:CreatePullPointSubscriptionResponse><tev:SubscriptionReference><wsa5:Address>"
                "http://10.0.0.9/onvif/pull?n=7</wsa5:Address><wsa5:ReferenceParameters><id xmlns='urn:maker'>42</id>"
                "</wsa5:ReferenceParameters></tev:SubscriptionReference></tev:CreatePullPointSubscriptionResponse>"
            )
        if path != "/onvif/pull?n=7" or request.findtext("{*}Header/{urn:maker}id") != "42":
            return 400, _FAULT.format(code="InvalidArgVal")
        messages = []
        if action == "PullMessages":
            with contextlib.suppress(queue.Empty):
                messages.append(self._messages.get(timeout=0.2))
        return 200, f"<tev:{action}Response>{''.join(messages)}</tev:{action}Response>"

    def _is_authorized(self, request: Element, now: datetime) -> bool:
        """Whether the token is of the right user and password, of this minute of its own clock, and new."""
        token = f"{{*}}Header/{{{_WSSE}}}Security/{{{_WSSE}}}UsernameToken"
        nonce = b64decode(request.findtext(f"{token}/{{{_WSSE}}}Nonce", ""))
        created = request.findtext(f"{token}/{{{_WSU}}}Created", "")
        password = request.find(f"{token}/{{{_WSSE}}}Password")
        if password is None or password.get("Type") != _DIGEST:
            return False
        digest = b64decode(password.text or "")
        fresh = nonce not in self._nonces and created
        self._nonces.add(nonce)
        return bool(
            fresh
            and request.findtext(f"{token}/{{{_WSSE}}}Username") == USER
            and digest == hashlib.sha1(nonce + created.encode() + PASSWORD.encode()).digest()
            and abs(datetime.fromisoformat(created) - now) < timedelta(minutes=1)
        )
