"""Hides users, passwords and tokens in URLs."""

import re

_USER_INFO = re.compile(r"(?<=://).*@", re.DOTALL)
_SECRET_PARAMETER = re.compile(
    r"([?&;](?:user|username|usr|login|pass|passwd|password|pwd|token|auth|key|api_?key|secret|sig|signature|session)=)"
    r"[^&;#\s'\"]*",
    re.IGNORECASE,
)


def hide_credentials(text: str) -> str:
    """Remove users, passwords and tokens from the URLs in a text, for everything that is logged, sent or drawn.

    Everything between the first ``://`` and the last ``@`` is removed, whatever characters the password contains, even
    a space or an ``@``.
    """
    return _SECRET_PARAMETER.sub(r"\1***", _USER_INFO.sub("", text))
