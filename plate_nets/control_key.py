"""Triton's endpoints that are not for users, and the key that opens them.

Whoever asks them sends the key as a header: `headers` over HTTP, `metadata` over gRPC.
"""

import hashlib
import re
import secrets

from plate_nets.errors import InputError

RESTRICTED = ("model-repository", "model-config", "shared-memory", "statistics", "trace", "logging")
"""Triton's own names of the endpoints behind the key, on both protocols; shared memory is the system's and CUDA's."""

KEY_VARIABLE = "PLATES_CONTROL_KEY"
_HEADER = "plates-control-key"
_GRPC_PREFIX = "triton-grpc-protocol-"


def new_key() -> str:
    """A key that nobody guesses: 256 random bits."""
    return secrets.token_urlsafe(32)


def check_key(key: str) -> None:
    """Raises InputError where ``key`` is not 16 characters or more of A-Z, a-z, 0-9, _ and -."""
    if not re.fullmatch(r"[\w-]{16,}", key, re.ASCII):
        raise InputError(f"control key: expected 16 characters or more of A-Z a-z 0-9 _ -, got {len(key)} characters")


def restrictions(key: str) -> list[str]:
    """The key -> the options of tritonserver that put the endpoints behind it."""
    names = ",".join(RESTRICTED)
    return [
        f"--http-restricted-api={names}:{_HEADER}={key}",
        f"--grpc-restricted-protocol={names}:{_HEADER}={key}",
    ]


def headers(key: str) -> dict[str, str]:
    """The key -> the header of a request over HTTP."""
    return {_HEADER: _sendable(key)}


def metadata(key: str) -> dict[str, str]:
    """The key -> the metadata of a request over gRPC (``headers=`` of NVIDIA's client)."""
    return {_GRPC_PREFIX + _HEADER: _sendable(key)}


def probe_token(key: str) -> str:
    """The key -> what tells the supervisor's own requests from a user's; who reads it learns nothing of the key."""
    return hashlib.sha256(f"probe {_sendable(key)}".encode()).hexdigest()


def _sendable(key: str) -> str:
    """The key without the line end that its file has. HTTP's own complaint about another character would name it."""
    key = key.strip()
    if not re.fullmatch(r"[!-~]+", key):
        raise InputError("control key: expected printable characters of ASCII without spaces")
    return key
