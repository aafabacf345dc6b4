"""Wording shared by several messages."""


def counted(count: int, thing: str) -> str:
    """A number and a singular noun -> "1 picture", "2 pictures"."""
    return f"{count} {thing}" if count == 1 else f"{count} {thing}s"
