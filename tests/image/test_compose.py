"""deploy/compose.yaml as it is: the server, and the Prometheus that scrapes it.

Debian has no package of Grafana's server; tests/served/test_prometheus.py runs the queries of its dashboard.
"""

import json
import os
import shutil
import subprocess
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from plate_nets.client import PlateClient
from plate_nets.recognition.health import known_picture
from tests.container import GRACE, engine
from tests.faults.conftest import LENIENT
from tests.packaging.conftest import COMPOSE, SERVICES
from tests.waiting import eventually

STARTED = ("triton", "prometheus")
STAND_IN = """\
FROM plate-nets-standin
COPY prometheus /bin/
RUN mkdir /prometheus && chown nobody /prometheus
USER nobody
ENTRYPOINT ["/bin/prometheus"]
"""


def compose(*arguments: str) -> "subprocess.CompletedProcess[str]":
    command = ["docker-compose"] if shutil.which("docker-compose") else [os.environ["ENGINE"], "compose"]
    done = subprocess.run(
        [*command, "--file", str(COMPOSE), *arguments], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    return done


@pytest.fixture
def prometheus(tmp_path: Path) -> Iterator[None]:
    """The image that the file names, or Debian's Prometheus under that name."""
    name = SERVICES["prometheus"]["image"]
    if engine("pull", name, check=False).returncode == 0:
        yield
        return
    shutil.copy(str(shutil.which("prometheus")), tmp_path / "prometheus")
    (tmp_path / "Dockerfile").write_text(STAND_IN, encoding="utf-8")
    engine("build", "--tag", name, str(tmp_path))
    yield
    engine("rmi", name)


def fetch(url: str) -> bytes:
    """The answer at an address; empty if nothing answers with 200."""
    try:
        with urllib.request.urlopen(url, timeout=10) as answer:
            found: bytes = answer.read()
            return found
    except OSError:
        return b""


def health() -> list[str]:
    """What Prometheus says of each server that it scrapes."""
    targets = fetch("http://127.0.0.1:9090/api/v1/targets")
    return [each["health"] for each in json.loads(targets)["data"]["activeTargets"]] if targets else []


def test_prometheus_finds_the_server(prometheus: None) -> None:
    try:
        compose("up", "--detach", "--no-build", *STARTED)
        answers = eventually(lambda: fetch("http://127.0.0.1:8003/health"), 60 * LENIENT)
        assert answers, compose("logs").stdout[-5000:]
        with PlateClient("127.0.0.1:8000", timeout=60) as client:
            assert [plate.reading.text for plate in client.read(known_picture().image)] == list(known_picture().texts)
        assert eventually(lambda: health() == ["up", "up"], 60 * LENIENT), (health(), compose("logs", "prometheus"))
        rules = json.loads(fetch("http://127.0.0.1:9090/api/v1/rules"))["data"]["groups"][0]["rules"]
        assert all(rule["health"] in ("ok", "unknown") for rule in rules) and len(rules) > 0
        container = compose("ps", "--quiet", "triton").stdout.strip()
        compose("stop", "--timeout", str(GRACE))
        assert engine("inspect", "--format", "{{.State.ExitCode}}", container).stdout.strip() == "0"
    finally:
        compose("down", "--volumes", "--timeout", "5")
