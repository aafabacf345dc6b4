"""Calls over HTTP."""

import threading
from typing import Any

import gevent  # type: ignore[import-untyped]
import gevent.ssl  # type: ignore[import-untyped]
import tritonclient.http
from tritonclient.utils import InferenceServerException

from plate_nets.client.transports.base import ClientTransport, ServerAccess
from plate_nets.client.transports.calls import Call
from plate_nets.control_key import headers as key_headers
from plate_nets.errors import DeadlineExceeded


class HttpTransport(ClientTransport):
    """One tritonclient and connection a thread: shared by threads it dies with a greenlet error.

    gevent takes the thread that imports this module for the main one, which alone hears signals while it waits.
    """

    _headers_for = staticmethod(key_headers)

    def __init__(self, access: ServerAccess) -> None:
        super().__init__(access)
        self._ca = access.ca
        self._of_thread = threading.local()

    def close(self) -> None:
        """Close this thread's connection; those of others close with their threads, or with this object."""
        self._drop()
        self._of_thread = threading.local()

    def _exchange(self, call: Call[Any], headers: dict[str, str], seconds: float) -> Any:
        # tritonclient's own limits are per connect, send and receive: a server that trickles would never meet one.
        limit = gevent.Timeout(seconds)
        try:
            with limit:
                return call.ask(tritonclient.http, self._client(), {"headers": headers})
        except InferenceServerException:
            raise  # an answer, after which the connection is as good as new
        except BaseException as error:
            self._drop()
            if error is limit:
                raise DeadlineExceeded(f"no answer within {seconds:.3g} s") from error
            raise

    def _client(self) -> Any:
        client = getattr(self._of_thread, "client", None)
        if client is None:
            client = self._of_thread.client = tritonclient.http.InferenceServerClient(
                str(self.address),
                connection_timeout=None,
                network_timeout=None,
                ssl=self.address.encrypted,
                ssl_options={"ca_certs": str(self._ca)} if self._ca else None,
                ssl_context_factory=gevent.ssl.create_default_context,
            )
        return client

    def _drop(self) -> None:
        client = self._of_thread.__dict__.pop("client", None)
        if client is not None:
            client.close()
