"""Calls over HTTP."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPException
from typing import Any

import gevent  # type: ignore[import-untyped]
import gevent.ssl  # type: ignore[import-untyped]
import tritonclient.http
from tritonclient.utils import InferenceServerException

from plate_nets.client.transports.base import QUIET, SILENT, ClientTransport, ServerAccess
from plate_nets.client.transports.calls import Call
from plate_nets.common.control_key import headers as key_headers
from plate_nets.common.errors import ConnectionLost, DeadlineExceeded

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=gevent.reinit)  # without it a forked child cannot connect


class HttpTransport(ClientTransport):
    """One tritonclient and connection per thread, because it fails with a greenlet error if threads share it.

    gevent treats the thread that imports this module as the main one, which alone receives signals while it waits.
    """

    def __init__(self, access: ServerAccess) -> None:
        super().__init__(access, key_headers)
        self._ca = access.ca
        self._watches = access.watched
        self._of_thread = threading.local()

    def close(self) -> None:
        """Close this thread's connection. Those of other threads close when the thread or this object ends."""
        self._drop()
        self._of_thread = threading.local()

    def _exchange(self, call: Call[Any], headers: dict[str, str], seconds: float) -> Any:
        # tritonclient's timeouts are per connect, send and receive: a server that sends slowly never exceeds one
        limit = gevent.Timeout(seconds)
        try:
            with limit, self._watched(headers):
                return call.ask(tritonclient.http, self._client(), {"headers": headers})
        except InferenceServerException:
            raise  # an answer, so the connection can be used again
        except BaseException as error:
            self._drop()
            if error is limit:
                raise DeadlineExceeded(f"no answer within {seconds:.3g} s") from error
            raise

    @contextmanager
    def _watched(self, headers: dict[str, str]) -> Iterator[None]:
        """Watch for a server that stops responding, if the access says so."""
        if not self._watches:
            yield
            return
        watch = gevent.spawn_later(QUIET, self._watch, gevent.getcurrent(), headers)
        try:
            yield
        finally:
            watch.kill()

    def _watch(self, asking: Any, headers: dict[str, str]) -> None:
        """Check over another connection that the server is alive; if it is not, end the call that waits for it."""
        while True:
            client = self._new_client()
            try:
                with gevent.Timeout(SILENT):
                    client.is_server_live(headers=dict(headers))
            except InferenceServerException:
                pass  # an error is an answer too
            except (gevent.Timeout, OSError, HTTPException):
                gevent.kill(asking, ConnectionLost(f"silent for {QUIET + SILENT:g} s"))
                # Until it is killed with the call, so that no later call of the thread gets the exception
                gevent.sleep(SILENT)
                return
            finally:
                client.close()
            gevent.sleep(QUIET)

    def _client(self) -> Any:
        client = getattr(self._of_thread, "client", None)
        if client is None:
            client = self._of_thread.client = self._new_client()
        return client

    def _new_client(self) -> Any:
        return tritonclient.http.InferenceServerClient(
            str(self.address),
            connection_timeout=None,
            network_timeout=None,
            ssl=self.address.encrypted,
            ssl_options={"ca_certs": str(self._ca)} if self._ca else None,
            ssl_context_factory=gevent.ssl.create_default_context,
        )

    def _drop(self) -> None:
        client = self._of_thread.__dict__.pop("client", None)
        if client is not None:
            client.close()
