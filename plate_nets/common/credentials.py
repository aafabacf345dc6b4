"""Hides users, passwords and tokens in URLs."""

import re

_USER_INFO = re.compile(r"(?<=://).*@", re.DOTALL)
_SECRET_PARAMETER = re.compile(
    r"([?&;/_](?:user(?:name)?|usr|login(?:use)?"
    r"|[\w-]{0,40}(?:token|pas(?:s(?:w\w*|phrase|code)?)?|pwd|secret|key|sig(?:nature)?|auth|session(?:_?id)?))=)"
    r"(?:(?!_(?:password|channel|stream)=)[^&;#\s'\"])*",  # some cameras have /user=U_password=P_channel=1_stream=0.sdp
    re.IGNORECASE,
)


def hide_credentials(text: str) -> str:
    """Remove users, passwords and tokens from the URLs in a text, for everything that is logged, sent or drawn.

    Everything between the first ``://`` and the last ``@`` is removed, whatever characters the password contains, even
    a space or an ``@``. So is the value of each parameter whose name ends like that of a secret, in a query or a path.
    """
    return _SECRET_PARAMETER.sub(r"\1***", _USER_INFO.sub("", text))
