"""The embedded server's life: how it starts, how it fails to, and that nothing is left however it ends."""

import os
import re
import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from plate_nets.cli import INTERRUPTED
from plate_nets.cli.options import SCHEME_VARIABLE
from plate_nets.cli.serve import EMBEDDED
from plate_nets.client import PlateClient
from plate_nets.common.errors import ServerStartError
from plate_nets.networks.runtimes.choices import CHOICES_VARIABLE
from plate_nets.networks.runtimes.precision import AUTO, PRECISION_VARIABLE
from plate_nets.triton.server import EmbeddedTriton
from plate_nets.triton.server.stubs import stub_model
from tests.commands import run
from tests.serve import SHARED_MEMORY, Serve
from tests.waiting import eventually


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    with Serve(tmp_path) as running:
        yield running


def test_ctrl_c_ends_it_and_leaves_nothing_behind(serve: Serve) -> None:
    assert len(serve.family) >= 6  # guard, server, a stub for each model
    assert serve.left() != []
    sockets = [each for member in serve.family for each in member.net_connections()]
    listening = [each.laddr.ip for each in sockets if each.status == psutil.CONN_LISTEN]
    assert len(listening) >= 3  # of the server; the supervisor's own is not among its descendants
    assert {address.removeprefix("::ffff:") for address in listening} == {"127.0.0.1"}
    assert run("health", "--url", serve.addresses["http"]).exit_code == 0
    assert serve.process.stdout is not None
    assert serve.process.stdout.readline() == f"{EMBEDDED}\n"
    assert serve.finish(signal.SIGINT) == INTERRUPTED
    assert serve.left() == []
    assert "Traceback" not in serve.errors()
    assert "Started HTTPService" in serve.log_text()


def test_health_detects_a_dead_model_and_an_exception_in_the_block_ends_the_server(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """There is no supervisor, and Triton reports the dead model as ready. The server still ends cleanly."""

    class Expected(Exception):
        pass

    monkeypatch.setenv(SCHEME_VARIABLE, "russia")  # fewer models to load
    before = set(psutil.Process().children(recursive=True))
    with pytest.raises(Expected), EmbeddedTriton(exit_timeout=0) as server:
        prefix = server.region_prefix
        assert list(SHARED_MEMORY.glob(f"{prefix}*"))
        url = f"grpc://{server.grpc_url}"
        found = run("health", "--url", url)
        assert found.exit_code == 0, found.stderr
        assert found.stdout.startswith("healthy: ")
        family = set(psutil.Process().children(recursive=True)) - before
        for process in family:
            if stub_model(process) == "stn":
                process.kill()
        with PlateClient(url) as client:
            assert client.is_ready()
        found = run("health", "--url", url, "--timeout", 3)
        assert found.exit_code == 1
        assert found.stderr.startswith("unhealthy: ")
        raise Expected
    assert len(family) >= 6
    assert not [each for each in family if each.is_running()]
    assert not list(SHARED_MEMORY.glob(f"{prefix}*"))
    assert server.region_prefix == ""


def test_a_precision_is_chosen_once_and_sigkill_leaves_nothing_behind(tmp_path: Path) -> None:
    """A model's second process, a replaced process, and a restarted server all use the first choice, even if no file
    can keep it."""
    with Serve(tmp_path, environment={PRECISION_VARIABLE: AUTO, CHOICES_VARIABLE: "/none/choices"}) as serve:
        first = dict.fromkeys([("yolo", ""), ("corners", ""), ("lprnet", "")], 1)
        again = [("yolo", AGAIN), ("corners", AGAIN)]
        serve.stubs("yolo")[0].kill()  # as soon as it reports ready
        assert chosen(serve) == first | dict.fromkeys(again, 1)
        assert eventually(lambda: serve.events("heal"), 60)
        assert chosen(serve) == first | dict.fromkeys(again, 3)
        serve.server().kill()
        assert eventually(lambda: serve.events("restart"), 120)
        assert chosen(serve) == first | dict.fromkeys(again, 5) | {("lprnet", AGAIN): 1}
        serve.family = serve.members()
        serve.finish(signal.SIGKILL)
        assert eventually(lambda: not serve.left(), 30), serve.left()


AGAIN = "as chosen before"


def chosen(serve: Serve) -> Counter[tuple[str, str]]:
    """The networks in a server's log, with `AGAIN` if their precision was known -> how often."""
    return Counter(re.findall(rf"(yolo|corners|lprnet): [\w-]+: ({AGAIN})?", serve.log_text()))


def test_a_broken_configuration_shows_the_server_s_error(repository: Path) -> None:
    """The other models are left out, because they load without a fault and slowly."""
    config = repository / "lprnet" / "config.pbtxt"
    config.write_text(config.read_text(encoding="utf-8").replace("[23, 18]", "[23, 18"), encoding="utf-8")
    mine = f"plates_{os.getpid()}_*"
    before = set(SHARED_MEMORY.glob(mine))
    fault = r"(?s)17:3: Expected.*lprnet/config.pbtxt"
    with pytest.raises(ServerStartError, match=fault) as caught:
        EmbeddedTriton(repository, model_control="explicit", load=["lprnet"], exit_timeout=0).start()
    assert re.match(r"the server (exited with code \d+ before it was|did not become) ready", str(caught.value))
    assert set(SHARED_MEMORY.glob(mine)) == before


def test_a_start_that_takes_too_long_is_given_up() -> None:
    before = set(psutil.Process().children(recursive=True))
    with pytest.raises(ServerStartError, match=r"not ready within 0.5 s"):
        EmbeddedTriton(start_timeout=0.5, exit_timeout=0).start()
    assert set(psutil.Process().children(recursive=True)) <= before
