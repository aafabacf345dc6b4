"""Users, passwords and tokens in URLs are shown nowhere."""

import re

_USER_INFO = re.compile(r"(?<=://).*@", re.DOTALL)
_SECRET_PARAMETER = re.compile(
    r"([?&;](?:user|username|usr|login|pass|passwd|password|pwd|token|auth|key|api_?key|secret|sig|signature|session)=)"
    r"[^&;#\s'\"]*",
    re.IGNORECASE,
)


def hide_credentials(text: str) -> str:
    """A text with URLs in it -> the same without users, passwords and tokens: for all that is logged, sent or drawn.

    Everything between the first ``://`` and the last ``@`` goes, so that no odd character of a password stays, be it a
    space or an ``@``.
    """
    return _SECRET_PARAMETER.sub(r"\1***", _USER_INFO.sub("", text))
