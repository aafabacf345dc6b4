"""Words that messages of several parts have in common."""


def counted(count: int, thing: str) -> str:
    """A number and a thing in the singular -> "1 picture", "2 pictures"."""
    return f"{count} {thing}" if count == 1 else f"{count} {thing}s"
