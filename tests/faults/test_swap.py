"""Hot swaps on a real server: new weights come into service under load without a lost request, or not at all."""

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from plate_nets.client import PlateClient
from plate_nets.common.control_key import KEY_VARIABLE
from plate_nets.common.errors import SwapError
from plate_nets.networks.checkpoint import read_metadata, weights_path
from plate_nets.recognition.health import known_picture
from plate_nets.triton.server import EmbeddedTriton
from plate_nets.triton.swap.controller import Controller
from plate_nets.triton.swap.swap import CANARIES, put_into_service, swap
from plate_nets.triton.swap.versions import add, latest, locked, scratch_folder, versions
from tests.commands import Result, run
from tests.faults.load import PAUSE, Load
from tests.networks import save_ir
from tests.waiting import eventually

pytestmark = pytest.mark.timeout(300)

CONCURRENCY = 4


@pytest.fixture(scope="module")
def repository(model_repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A writable copy of the converted models."""
    return Path(shutil.copytree(model_repository, tmp_path_factory.mktemp("swap") / "models"))


@pytest.fixture(scope="module")
def server(repository: Path) -> Iterator[EmbeddedTriton]:
    with EmbeddedTriton(repository, model_control="explicit", exit_timeout=0) as server:
        yield server


@pytest.fixture
def controller(server: EmbeddedTriton) -> Iterator[Controller]:
    with Controller(server.http_url, server.control_key) as controller:
        yield controller


@pytest.fixture
def client(server: EmbeddedTriton) -> Iterator[PlateClient]:
    with PlateClient(server.http_url, timeout=60) as client:
        yield client


def changed(model: str, path: Path, noise: float, seed: int = 0) -> Path:
    """Write the committed weights of a network with noise, relative to each tensor's deviation, to ``path``."""
    generator = torch.Generator().manual_seed(seed)
    state, metadata = load_file(weights_path(model)), read_metadata(weights_path(model))
    for name, tensor in state.items():
        if name.endswith("weight") and tensor.numel() > 1:
            tensor += noise * tensor.std() * torch.randn(tensor.shape, generator=generator)
    save_file(state, path, metadata)
    return path


def swap_under_load(
    models: list[str], server: EmbeddedTriton, controller: Controller, client: PlateClient, folder: Path
) -> None:
    repository = server.model_repository
    with Load(server.http_url, CONCURRENCY, pause=PAUSE) as load:
        for number, model in enumerate(models):
            before = versions(repository / model)
            weights = changed(model, folder / "new.safetensors", 1e-3, seed=number)
            done = swap(model, weights, repository, controller, client)
            assert done.version == before[-1] + 1
            assert done.former == before[-1]
            assert controller.states(model)[done.version] == "READY"
            # until it has answered users as well
            assert eventually(lambda: controller.answered(model, done.version) > CANARIES, 60)  # noqa: B023
    assert not load.failed() and not load.wrong
    assert len(load.answers) > len(models) * CONCURRENCY
    sys.stdout.write(f"{len(models)} swaps, {len(load.answers)} requests, none failed\n")


def test_no_request_is_lost_in_3_swaps(
    server: EmbeddedTriton, controller: Controller, client: PlateClient, tmp_path: Path
) -> None:
    swap_under_load(["stn", "lprnet", "stn"], server, controller, client, tmp_path)


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_no_request_is_lost_in_20_swaps(
    server: EmbeddedTriton, controller: Controller, client: PlateClient, tmp_path: Path
) -> None:
    swap_under_load((["lprnet", "stn", "yolo"] * 7)[:20], server, controller, client, tmp_path)
    for model in ("lprnet", "stn", "yolo"):
        assert len(versions(server.model_repository / model)) == 3  # the released, the previous and the new version
    assert (
        server.model_repository / "yolo" / str(versions(server.model_repository / "yolo")[-1]) / "model.py"
    ).exists()


def kept(server: EmbeddedTriton, client: PlateClient, model: str, before: list[int]) -> None:
    """Check that nothing of a refused version is left, and that the previous one answers."""
    folder = server.model_repository / model
    assert versions(folder) == before
    assert [path for path in folder.iterdir() if path.name.startswith(".")] == []
    assert [plate.reading.text for plate in client.read(known_picture().image)] == list(known_picture().texts)


def test_a_network_that_does_not_read_is_refused_before_the_server_sees_it(
    server: EmbeddedTriton, controller: Controller, client: PlateClient, tmp_path: Path
) -> None:
    before = versions(server.model_repository / "stn")
    weights = changed("stn", tmp_path / "bad.safetensors", 3.0)
    with pytest.raises(SwapError, match="nothing was changed: the known picture is not recognised"):
        swap("stn", weights, server.model_repository, controller, client)
    assert before[-1] + 1 not in controller.states("stn")
    kept(server, client, "stn", before)


class UpsideDown(torch.nn.Module):
    def forward(self, crops: torch.Tensor) -> torch.Tensor:
        return crops.flip(2)


def test_a_version_that_reads_wrongly_is_rolled_back(
    server: EmbeddedTriton, controller: Controller, client: PlateClient, tmp_path: Path
) -> None:
    """An STN that turns plates upside down, as if it had passed the checks."""
    folder = server.model_repository / "stn"
    before = versions(folder)
    save_ir(UpsideDown(), folder / ".bad")
    version = add(folder / ".bad", folder)
    with pytest.raises(
        SwapError, match=rf"version {version} was rolled back, and {before[-1]} answers again: the known"
    ):
        put_into_service("stn", version, server.model_repository, controller, client)
    kept(server, client, "stn", before)


def test_an_interrupted_swap_is_rolled_back(
    server: EmbeddedTriton, controller: Controller, client: PlateClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_arguments: object) -> None:
        raise KeyboardInterrupt

    folder = server.model_repository / "stn"
    before = versions(folder)
    monkeypatch.setattr("plate_nets.triton.swap.swap.prepare", as_it_is)
    monkeypatch.setattr("plate_nets.triton.swap.swap.canary", interrupted)
    with pytest.raises(KeyboardInterrupt):
        swap("stn", weights_path("stn"), server.model_repository, controller, client)
    kept(server, client, "stn", before)


@contextmanager
def as_it_is(network: str, weights: Path, repository: Path) -> Iterator[tuple[Path, tuple[()]]]:
    """Prepare a copy of the version in service. Ctrl-C comes when the folder of the preparation is removed."""
    folder = repository / network
    with scratch_folder(folder) as scratch:
        yield Path(shutil.copytree(folder / str(latest(folder)), scratch / "1")), ()
    raise KeyboardInterrupt


def test_a_version_that_does_not_load_is_rolled_back(
    server: EmbeddedTriton, controller: Controller, client: PlateClient
) -> None:
    folder = server.model_repository / "stn"
    before = versions(folder)
    (folder / ".bad").mkdir()
    (folder / ".bad" / "model.xml").write_bytes(b"no network")
    with Load(server.http_url, CONCURRENCY, pause=PAUSE) as load:
        version = add(folder / ".bad", folder)
        with pytest.raises(SwapError, match="was rolled back"):
            put_into_service("stn", version, server.model_repository, controller, client)
    assert load.answers and not load.failed() and not load.wrong
    kept(server, client, "stn", before)


def test_the_server_of_another_repository_is_noticed(
    server: EmbeddedTriton, controller: Controller, client: PlateClient, tmp_path: Path
) -> None:
    other = Path(shutil.copytree(server.model_repository, tmp_path / "models"))
    version = add(Path(shutil.copytree(other / "stn" / "1", other / "stn" / ".copy")), other / "stn")
    with pytest.raises(SwapError, match="is it the server of this repository"):
        put_into_service("stn", version, other, controller, client)
    assert version not in versions(other / "stn")


def swapped(server: EmbeddedTriton, *words: str | Path) -> Result:
    """Run `plates swap` on the server's repository."""
    options = ("--url", server.http_url, "--model-repository", server.model_repository)
    return run("swap", *words, *options, **{KEY_VARIABLE: server.control_key})


def test_command_swaps_lists_and_goes_back(server: EmbeddedTriton, controller: Controller, tmp_path: Path) -> None:
    """A server started later serves the swapped version, because it is the latest on disk."""
    repository = server.model_repository
    former = versions(repository / "stn")[-1]
    done = swapped(server, "stn", changed("stn", tmp_path / "new.safetensors", 1e-3, seed=99))
    assert done.exit_code == 0, done.stderr
    assert f"stn: version {former + 1} answers, {former} before" in done.stdout
    listed = swapped(server, "stn", "--list")
    assert f"stn {former + 1}  ready" in listed.stdout
    with (
        EmbeddedTriton(repository, model_control="explicit", load=["stn"], exit_timeout=0) as later,
        Controller(later.http_url, later.control_key) as other,
    ):
        assert other.states("stn") == {former + 1: "READY"}
    done = swapped(server, "stn", "--back")
    assert done.exit_code == 0, done.stderr
    assert controller.states("stn")[former] == "READY"
    assert controller.states("stn")[former + 1] == "UNAVAILABLE"


@pytest.mark.parametrize(
    ("words", "code", "fault"),
    [
        (["lprnet", weights_path("stn")], 1, "not weights of LPRNet"),
        (["lprnet"], 2, "needs exactly one of FILE, --back and --list"),
        (["plate_recognition", weights_path("stn")], 2, "Invalid value"),
    ],
)
def test_command_refuses_in_one_line(
    server: EmbeddedTriton, client: PlateClient, words: list[str | Path], code: int, fault: str
) -> None:
    before = versions(server.model_repository / "lprnet")
    done = swapped(server, *words)
    assert (done.exit_code, fault in done.stderr) == (code, True), done.output
    kept(server, client, "lprnet", before)


def test_a_second_swap_at_once_is_refused(server: EmbeddedTriton, controller: Controller, client: PlateClient) -> None:
    with locked(server.model_repository / "stn"), pytest.raises(SwapError, match="another swap is already in progress"):
        swap("stn", weights_path("stn"), server.model_repository, controller, client)
