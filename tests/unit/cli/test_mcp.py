"""`plates mcp`, asked by the client of the protocol's own library."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest

from plate_nets.events.sinks.sqlite import SqliteSink
from plate_nets.recognition.health import KNOWN, known_picture
from tests.events import event, record
from tests.paths import ROOT


@pytest.mark.slow
def test_an_assistant_reads_pictures_and_finds_events(tmp_path: Path) -> None:
    from mcp import Client, StdioServerParameters, stdio_client  # imported here: takes a second

    store = tmp_path / "events.sqlite"
    with SqliteSink(store) as sink:
        sink.send([record(event(number), number) for number in (1, 2)])
    (tmp_path / "no-picture.jpg").write_text("text")

    async def conversation() -> None:
        command = ["-m", "plate_nets", "mcp", "--scheme", "russia", "--events", str(store)]
        server = StdioServerParameters(command=sys.executable, args=command, cwd=ROOT)
        async with Client(stdio_client(server)) as client:
            assert {tool.name for tool in (await client.list_tools()).tools} == {"read_plates", "find_events"}

            async def ask(tool: str, **arguments: Any) -> Any:
                answer = await client.call_tool(tool, arguments)
                return str(answer.content) if answer.is_error else answer.structured_content

            (picture,) = KNOWN.glob("*.jpg")
            read = await ask("read_plates", picture=str(picture))
            assert tuple(plate["text"] for plate in read["plates"]) == known_picture().texts
            refused = await ask("read_plates", picture=f"{tmp_path}/no-picture.jpg")
            assert "no-picture.jpg: image: expected a JPEG" in refused
            assert "none.jpg: cannot be opened: No such file" in await ask("read_plates", picture="none.jpg")

            found = (await ask("find_events"))["result"]
            assert [each["id"] for each in found] == [event(2).id, event(1).id]
            (one,) = (await ask("find_events", plate=event(1).plate, limit=1))["result"]
            assert one["plate"] == event(1).plate
            assert "since: expected a time such as" in await ask("find_events", since="yesterday")

    anyio.run(conversation)


@pytest.mark.parametrize(
    ("before", "arguments", "fault"),
    [
        ("sys.modules['mcp'] = None", (), 'pip install "plate-nets[mcp]"'),
        ("sys.modules['rapidfuzz'] = None", ("--events",), '--events needs rapidfuzz: pip install "plate-nets[web]"'),
        ("pass", ("--url", "127.0.0.1:1"), "127.0.0.1:1"),
    ],
)
def test_what_is_missing_is_said_in_one_line(
    before: str, arguments: tuple[str, ...], fault: str, tmp_path: Path
) -> None:
    (tmp_path / "events.sqlite").touch()
    names = [str(tmp_path / "events.sqlite")] if "--events" in arguments else []
    program = f"import sys; {before}; from plate_nets.cli import main; main()"
    command = [sys.executable, "-c", program, "mcp", *arguments, *names]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=250)
    assert (done.returncode, done.stdout) == (2, "")
    assert fault in done.stderr and done.stderr.count("\n") == 1
