"""Triton's endpoints that are not for users, and the key that protects them.

The key is sent as a header: `headers` over HTTP, `metadata` over gRPC.
"""

import hashlib
import re
import secrets

from plate_nets.common.errors import InputError

RESTRICTED = ("model-repository", "model-config", "shared-memory", "statistics", "trace", "logging")
"""Triton's names of the protected endpoints, on both protocols; shared memory covers the system's and CUDA's."""

KEY_VARIABLE = "PLATES_CONTROL_KEY"
_HEADER = "plates-control-key"
_GRPC_PREFIX = "triton-grpc-protocol-"


def new_key() -> str:
    """Create a random key of 256 bits."""
    return secrets.token_urlsafe(32)


def check_key(key: str) -> None:
    """Raise InputError unless ``key`` has 16 characters or more of A-Z, a-z, 0-9, _ and -."""
    if not re.fullmatch(r"[\w-]{16,}", key, re.ASCII):
        raise InputError(f"control key: expected 16 characters or more of A-Z a-z 0-9 _ -, got {len(key)} characters")


def restrictions(key: str) -> list[str]:
    """The key -> the tritonserver options that protect the endpoints with it."""
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
    """The key -> a token that marks the supervisor's own requests; the token reveals nothing about the key."""
    return hashlib.sha256(f"probe {_sendable(key)}".encode()).hexdigest()


def _sendable(key: str) -> str:
    """Strip the key's line end. HTTP's own complaint about another character would contain the key."""
    key = key.strip()
    if not re.fullmatch(r"[!-~]+", key):
        raise InputError("control key: expected printable ASCII characters without spaces")
    return key
