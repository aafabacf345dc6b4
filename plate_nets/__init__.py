"""Licence-plate recognition: networks, pipeline, Triton serving and client."""


def __getattr__(name: str) -> str:
    if name == "__version__":
        from importlib.metadata import version

        return version("plate-nets")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
