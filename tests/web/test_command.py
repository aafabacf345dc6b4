"""`plates web` as a user runs it."""

import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest
import yaml
from typer.testing import CliRunner

from plate_nets.cli import app
from plate_nets.cli.options import SCHEME_VARIABLE
from tests.clips import passing, write_clip
from tests.frames import Placed, compose, encode, hard_to_read
from tests.paths import ODD_FOLDER
from tests.waiting import eventually
from tests.web.conftest import CAR, TEXT, TOKEN


@contextmanager
def started(folder: Path, *options: str) -> Iterator[tuple[subprocess.Popen[str], list[str]]]:
    """`plates web` on a free port, and its lines until it is ready."""
    command = [sys.executable, "-m", "plate_nets", "web", "--port", "0", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=folder) as process:
        try:
            assert process.stdout is not None
            said: list[str] = []
            while not said or not said[-1].startswith("Ready"):
                said.append(process.stdout.readline())
                assert said[-1], said
            yield process, said
            process.send_signal(signal.SIGTERM)
            assert process.wait(60) == 128 + signal.SIGTERM
        finally:
            process.kill()


@pytest.fixture(scope="module")
def public(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[str]]:
    """A page on all addresses that reads plates of two countries -> its lines."""
    trusted = ("--trust", "10.0.0.0/8", "--trust", "127.0.0.2")
    options = ("--local", "--address", "0.0.0.0", *trusted, "--scheme", "kazakhstan,russia")
    with started(tmp_path_factory.mktemp("public"), *options) as (_, said):
        yield said


def asking(public: list[str], address: str = "127.0.0.1") -> httpx.Client:
    """A client with an address of this machine."""
    url = public[0].split()[1].replace("0.0.0.0", "127.0.0.1")
    return httpx.Client(base_url=url, transport=httpx.HTTPTransport(local_address=address), timeout=60)


def test_a_public_address_requires_a_token_and_says_so(public: list[str]) -> None:
    assert "asks for a token" in public[2]
    assert public[3] == "Clients in 10.0.0.0/8, 127.0.0.2/32 need no token.\n"
    path, token = "/api/openapi.json", public[1].split()[1]
    with asking(public) as client, asking(public, "127.0.0.2") as trusted:
        assert client.get(path).status_code == 401
        assert client.get(path, headers={"X-Forwarded-For": "127.0.0.2"}).status_code == 401
        assert client.get(path, headers={"Authorization": f"Bearer {token}"}).status_code == 200
        assert trusted.get(path).status_code == 200


def test_with_codeproject_it_listens_where_its_clients_look() -> None:
    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        with suppress(OSError):  # then another program has it
            taken.bind(("127.0.0.1", 32168))
            taken.listen()
        result = CliRunner().invoke(app, ["web", "--local", "--codeproject"])
    assert (result.exit_code, "port 32168 on 127.0.0.1" in result.stderr) == (2, True)


def test_without_an_option_the_command_starts_its_own_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SCHEME_VARIABLE, "russia")  # fewer models start
    with started(tmp_path) as (process, said):
        with httpx.Client(base_url=said[0].split()[1], trust_env=False, timeout=60) as client:
            (picture,) = client.post("/api/v1/plates", files={"file": CAR}).raise_for_status().json()["pictures"]
            health = client.get("/api/v1/health").json()
        below = psutil.Process(process.pid).children(recursive=True)
        assert "tritonserver" in {each.name() for each in below}
    assert [plate["text"] for plate in picture["plates"]] == [TEXT]
    assert (health["state"], health["backend"]["kind"]) == ("serving", "embedded")
    assert health["models"] and all(model["ready"] for model in health["models"])
    assert health["version"]
    assert not psutil.wait_procs(below, timeout=30)[1], "nothing of it stays"


def test_with_several_schemes_plates_have_a_country_and_a_colour(public: list[str]) -> None:
    unsure = encode(hard_to_read(compose(480, 640, [Placed(TEXT, 100, 300)])), ".png")
    with asking(public, "127.0.0.2") as client:
        files = [("file", CAR), ("file", unsure)]
        pictures = client.post("/api/v1/plates", files=files).raise_for_status().json()["pictures"]
    (plate,), (other,) = (picture["plates"] for picture in pictures)
    assert (plate["text"], plate["scheme"], plate["region"], plate["country"]) == (TEXT, "russia", "77", "ru")
    assert plate["ground"] == "white" and min(plate["country_confidence"], plate["ground_confidence"]) > 0.5
    assert TEXT in [each["plate"] for each in other["candidates"]], "by the alphabet of the reader that read it"


def test_every_file_may_be_in_a_folder_of_any_name(tmp_path: Path) -> None:
    folder = tmp_path / ODD_FOLDER
    folder.mkdir(parents=True)
    clip = write_clip(tmp_path / "car.mp4", passing(12, empty=8), fps=4).rename(folder / "car.mp4")
    (folder / "staff.csv").write_text(f"plate,label,cameras\n{TEXT},Ann,gate gaet\n,nobody,\n", encoding="utf-8")
    (folder / "tokens").write_text(TOKEN, encoding="utf-8")
    plan = {"cameras": [{"id": "gate", "source": str(clip), "fps": 4}], "outbox": str(folder / "outbox.sqlite")}
    (folder / "cameras.yaml").write_text(yaml.safe_dump(plan), encoding="utf-8")
    files = {"cameras": "cameras.yaml", "events": "e.sqlite", "pictures": "p", "watch-list": "staff.csv"}
    options = [f"--{name}={folder / path}" for name, path in (files | {"token-file": "tokens"}).items()]
    with (
        started(tmp_path, "--local", *options) as (_, said),
        httpx.Client(
            base_url=said[0].split()[1], headers={"Authorization": f"Bearer {TOKEN}"}, trust_env=False
        ) as page,
    ):

        def events() -> list[Any]:
            return page.get("/api/v1/events").raise_for_status().json()["events"]

        assert eventually(events, 60)
        (event,) = events()
        assert event["watch"][0]["label"] == "Ann"
        picture = page.get(f"/api/v1/events/{event['id']}/plate.jpg")
        assert picture.raise_for_status().headers["content-type"] == "image/jpeg"
        assert said[1:3] == [
            "watch list staff, line 3: expected a plate, got ''\n",
            "watch list staff: no camera is called gaet\n",
        ]
        assert page.get("/api/v1/lists/staff.csv").text == f"plate,label,cameras\n{TEXT},Ann,gate gaet\n"
        entry = {"plate": "B777BB77", "label": "Bob"}
        page.post("/api/v1/lists/staff/entries", json=entry).raise_for_status()
    assert "B777BB77,Bob,\n" in (folder / "staff.csv").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--local", "--url", "127.0.0.1:9"], "cannot be used together"),
        (["--local", "--token-file", "empty"], "no token found; write one per line"),
        (["--local", "--trust", "192.168.1.5/16"], "--trust: expected a network such as 192.168.0.0/16: "),
        (["--local", "--trust", "home"], "'home' does not appear to be an IPv4 or IPv6 network"),
        (["--local", "--cameras", "none.yaml"], "none.yaml"),
        (["--local", "--cameras", "hashed.yaml"], "hash: expected false, because the page shows texts"),
        (["--local", "--sure", "2"], "sure: expected a probability between 0 and 1, got 2.0"),
        (["--url", "127.0.0.1:9"], "127.0.0.1:9"),
    ],
)
def test_wrong_usage_is_one_line(
    arguments: list[str], says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("empty").touch()
    Path("hashed.yaml").write_text("cameras: [{source: car.mp4}]\nhash: true\n", encoding="utf-8")
    result = CliRunner().invoke(app, ["web", *arguments])
    assert result.exit_code == 2
    assert says in result.stderr
    assert result.stderr.count("\n") == 1
