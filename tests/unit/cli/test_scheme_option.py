"""--scheme: names, files, and what the command passes to its own server."""

from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from plate_nets.cli import app
from plate_nets.cli.options import SCHEME_VARIABLE, use_schemes
from plate_nets.cli.output import Picture, record
from plate_nets.contract import PLATE_RECOGNITION
from plate_nets.triton.backend.settings import SchemeSettings, read_settings
from plate_nets.types import Reading
from tests.schemes import make_testland, write_testland
from tests.unit.cameras.traffic import plate


def told() -> str:
    return read_settings(SchemeSettings, PLATE_RECOGNITION.name, {}).scheme


def test_a_server_of_this_process_reads_the_named_schemes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert use_schemes(None) == () and told() == "world"
    monkeypatch.chdir(tmp_path)
    path = write_testland(tmp_path)
    names = [scheme.name for scheme in use_schemes("brazil, testland.toml")]
    assert names == ["brazil", "testland"] and told() == f"brazil,{path}", "the server runs in another folder"


def test_a_plate_without_a_text_is_explained_by_a_scheme_of_a_file(tmp_path: Path) -> None:
    schemes = [make_testland(tmp_path)]
    reading = Reading("", "AAAAAA", 0.999, (0.999,) * 6, scheme=schemes[0].name)
    picture = Picture(
        Path("car.jpg"), Path("car.jpg"), plates=(replace(plate("", 300, 200), reading=reading, logits=None),)
    )
    reasons = [record(picture, known)["plates"][0]["unread"]["reason"] for known in (schemes, ())]
    assert reasons == ["no_format", "unsure"]


@pytest.mark.parametrize(("by", "name"), [("option", "atlantis"), ("variable", "atlantis"), ("option", "")])
@pytest.mark.parametrize(
    "command", [("read", "car.jpg"), ("watch", "car.jpg"), ("web",), ("serve",), ("batch", "car.jpg", "--out", "out")]
)
def test_every_command_refuses_an_unknown_scheme_in_one_line(
    command: tuple[str, ...], by: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("car.jpg").touch()
    if by == "variable":
        monkeypatch.setenv(SCHEME_VARIABLE, name)
    result = CliRunner().invoke(app, [*command, *(["--scheme", name] if by == "option" else [])])
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    assert result.stderr.startswith("plates: scheme: expected ") and f"got {name!r}" in result.stderr
