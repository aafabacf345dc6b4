"""Options that a command takes from settings."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import pytest
import typer
from typer.testing import CliRunner

from plate_nets.cli.setting_options import given, options_of


@dataclass(frozen=True, kw_only=True)
class Settings:
    sure: Annotated[float, typer.Option(help="How sure.", max=1)] = 0.5
    pictures: Annotated[Path | None, typer.Option("--save-events", help="A folder.")] = None
    blur: Annotated[bool, typer.Option(help="Blur.")] = False
    memory: float = 60.0


IN_FILE = Settings(sure=0.9, blur=True, memory=1.0)


def invoke(*arguments: str) -> str:
    app = typer.Typer()

    @app.command()
    @options_of(Settings)
    def command(source: str, **options: Any) -> None:
        typer.echo(repr(replace(IN_FILE, **given(Settings, options))))

    result = CliRunner().invoke(app, list(arguments), env={"COLUMNS": "200"})
    return result.output.strip()


@pytest.mark.parametrize(
    ("arguments", "changes"),
    [([], {}), (["--sure", "0"], {"sure": 0.0}), (["--save-events", "out", "--blur"], {"pictures": Path("out")})],
)
def test_only_an_option_that_is_given_replaces_the_value_of_the_file(
    arguments: list[str], changes: dict[str, Any]
) -> None:
    assert invoke("a.mp4", *arguments) == repr(replace(IN_FILE, **changes))


def test_the_help_says_what_the_settings_say() -> None:
    shown = " ".join(invoke("--help").split())
    assert all(each in shown for each in ("How sure. Default: 0.5.", "[x<=1]"))
    assert not any(each in shown for each in ("--memory", "--no-blur"))
