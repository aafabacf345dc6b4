"""Calls over gRPC."""

import os
from typing import Any

import tritonclient.grpc
from google.protobuf.json_format import MessageToDict
from google.protobuf.message import Message
from tritonclient.utils import InferenceServerException

from plate_nets.client.transports.base import QUIET, SILENT, ClientTransport, ServerAccess
from plate_nets.client.transports.calls import Call
from plate_nets.common.control_key import metadata as key_metadata
from plate_nets.common.errors import ConnectionLost, ServerError
from plate_nets.common.proxies import proxy_for

# By default, gRPC's pauses between two attempts to connect grow to 2 minutes, in which every call fails at once
_CHANNEL_OPTIONS = (
    ("grpc.max_send_message_length", -1),
    ("grpc.max_receive_message_length", -1),
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 100),
)
_WATCHING = (
    ("grpc.keepalive_time_ms", round(QUIET * 1000)),
    ("grpc.keepalive_timeout_ms", round(SILENT * 1000)),
    ("grpc.http2.ping_timeout_ms", round(SILENT * 1000)),  # a minute by default, even with a shorter keepalive timeout
    ("grpc.min_reconnect_backoff_ms", round(SILENT * 1000)),  # also the time limit for connecting
)
_PROXY_VARIABLES = ("grpc_proxy", "https_proxy", "http_proxy")
"""Those that gRPC reads, the strongest first."""
_BROKEN = ("Stream removed", "Socket closed", "Connection reset", "Broken pipe", "ping timeout", "GOAWAY")
"""gRPC's messages if a connection broke during a call."""
_NEVER_SENT = "failed to connect"
_LONGEST = 1e8
"""Seconds, about three years; gRPC does not accept much larger values."""


class GrpcTransport(ClientTransport):
    """One channel for all threads."""

    def __init__(self, access: ServerAccess) -> None:
        super().__init__(access, key_metadata)
        self._closed = False
        self._proxy = proxy_for(self.address.host, _PROXY_VARIABLES)
        self._client = tritonclient.grpc.InferenceServerClient(
            str(self.address),
            ssl=self.address.encrypted,
            root_certificates=str(access.ca) if access.ca else None,
            channel_args=[
                *_CHANNEL_OPTIONS,
                *(_WATCHING if access.watched else ()),
                ("grpc.enable_http_proxy", int(self._proxy is not None)),
                # Channels with equal options share connections, which a forked child must not do
                ("plates.process", os.getpid()),
            ],
        )

    def close(self) -> None:
        """Close the channel; later calls are refused."""
        self._closed = True
        self._client.close()

    def _exchange(self, call: Call[Any], headers: dict[str, str], seconds: float) -> Any:
        try:
            limits = {"headers": headers, "client_timeout": min(seconds, _LONGEST)}
            answer = call.ask(tritonclient.grpc, self._client, limits)
        except ValueError as error:
            if self._closed:
                raise ServerError("the client is closed") from error
            raise
        except InferenceServerException as error:
            message = error.message() or ""
            unavailable = str(error.status()).endswith("UNAVAILABLE") and _NEVER_SENT not in message
            if unavailable and any(words in message for words in _BROKEN):
                raise ConnectionLost(message) from error
            raise
        return MessageToDict(answer, preserving_proto_field_name=True) if isinstance(answer, Message) else answer
