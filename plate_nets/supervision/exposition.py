"""How a server stands, in Prometheus' text format (0.0.4); docs/metrics.md explains each metric."""

from collections.abc import Mapping

from plate_nets.supervision.events import Status

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


def exposition(status: Status) -> str:
    """The state and the counts -> a family of metrics each; the last recognition has no sample before the first."""
    last = status.last_recognition
    families = (
        _family("serving", "gauge", "1 while the known picture is recognised", {"": int(status.state == "serving")}),
        _family(
            "last_recognition_timestamp_seconds",
            "gauge",
            "When the known picture was recognised last",
            {} if last is None else {"": round(last, 3)},
        ),
        _family("heals_total", "counter", "Models loaded anew as they failed", _by_model(status.heals)),
        _family(
            "renewals_total", "counter", "Models loaded anew as their memory had grown", _by_model(status.renewals)
        ),
        _family("restarts_total", "counter", "Starts of the server after the first", {"": status.restarts}),
    )
    return "".join(families)


def _by_model(counts: Mapping[str, int]) -> dict[str, float]:
    return {f'{{model="{model}"}}': count for model, count in counts.items()}


def _family(name: str, kind: str, text: str, samples: Mapping[str, float]) -> str:
    """``samples``: labels in braces, or nothing -> value."""
    name = f"plates_supervisor_{name}"
    lines = (f"# HELP {name} {text}", f"# TYPE {name} {kind}", *(f"{name}{at} {of}" for at, of in samples.items()))
    return "".join(f"{line}\n" for line in lines)
