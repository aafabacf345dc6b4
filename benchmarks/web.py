"""`python -m benchmarks.web`: what the page costs: its weight, a photo against its reader, a million events, streams.

A photo is read in turn by the reader itself and over HTTP with its crops, so both meet the same machine.
"""

import json
import random
import sqlite3
import statistics
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any

import httpx
import typer

from plate_nets.client import PlateClient
from plate_nets.recognition.local import LocalReader
from plate_nets.server import EmbeddedTriton
from plate_nets.sinks.sqlite import create
from plate_nets.web.app import Sources, create_app
from plate_nets.web.health import Backend
from plate_nets.web.server import WebServer
from plate_nets.web.settings import WebSettings
from plate_nets.web.store import EventFilter, EventStore

_SCRIPTS = ("page", "common", "try", "plate", "viewer", "export", "video", "event", "live", "lists", "health")
_FILES = ("page.css", "theme.js", "icon.svg", "icons.svg", *(f"{name}.js" for name in _SCRIPTS))
_ASSETS = ("/", *(f"/static/{name}" for name in _FILES))
_LETTERS = "ABEKMHOPCTYX"
_ROWS = "INSERT INTO events VALUES (?, 1, ?, 'final', ?, ?, ?, ?, 0.99, ?, ?)"

app = typer.Typer(add_completion=False)


@app.command()
def main(
    photo: Annotated[Path, typer.Option(help="Read in turn by both.", exists=True)] = Path("out/scene.jpg"),
    rounds: Annotated[int, typer.Option(min=2)] = 40,
    events: Annotated[int, typer.Option(help="Of the store; 0 leaves it out.", min=0)] = 1_000_000,
    store: Annotated[Path | None, typer.Option(help="A store to use, or to make where it is not there.")] = None,
    readers: Annotated[int, typer.Option(help="Of the stream; 0 leaves it out.", min=0)] = 50,
    seconds: Annotated[float, typer.Option(help="Of the stream.", min=1)] = 20,
    local: Annotated[bool, typer.Option("--local", help="In this process, without a Triton.")] = False,
) -> None:
    """Print one line of JSON a measure."""
    with ExitStack() as stack:
        backend = _backend(stack, local)
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        with WebServer(create_app(backend, WebSettings(rate=1e6, burst=10**6))) as server:
            show("page", weight(server.url))
            show("photo", photos(backend, server.url, photo.read_bytes(), rounds))
        if events:
            path = store or folder / "events.sqlite"
            if not path.exists():
                make_store(path, events)
            show("events", searches(path))
        if readers:
            show("stream", stream(backend, folder / "stream.sqlite", readers, seconds))


def show(name: str, facts: dict[str, Any]) -> None:
    """One measure as a line."""
    typer.echo(json.dumps({"measure": name, **facts}))


def weight(url: str) -> dict[str, Any]:
    """Bytes of everything that the page and all its sections load, and of the page with its first section."""
    with httpx.Client(base_url=url, trust_env=False) as client:
        sizes = {path: len(client.get(path).raise_for_status().content) for path in _ASSETS}
    later = ("/static/live.js", "/static/lists.js", "/static/health.js")
    return {"first_load_bytes": sum(sizes.values()) - sum(sizes[path] for path in later), "all": sum(sizes.values())}


def photos(backend: Backend, url: str, encoded: bytes, rounds: int) -> dict[str, Any]:
    """Milliseconds of a photo by the reader itself and by the page's request, in turn; medians, and their ratio."""
    own, page = [], []
    with httpx.Client(base_url=url, timeout=60, trust_env=False) as client:
        for number in range(rounds + 3):
            started = time.perf_counter()
            backend.reader.read(encoded)
            between = time.perf_counter()
            client.post("/api/v1/plates?crops=true", files={"file": encoded}).raise_for_status()
            if number >= 3:  # the first ones open connections and load networks
                own.append((between - started) * 1000)
                page.append((time.perf_counter() - between) * 1000)
    facts = {"reader_ms": statistics.median(own), "page_ms": statistics.median(page)}
    return {name: round(value, 1) for name, value in facts.items()} | {
        "ratio": round(facts["page_ms"] / facts["reader_ms"], 3),
        "rounds": rounds,
    }


def make_store(path: Path, count: int) -> None:
    """A store of so many events of eight cameras, 25 s apart, one in a thousand on a list."""
    rng = random.Random(1)
    begin = datetime(2026, 1, 1, tzinfo=UTC)

    def row(number: int) -> tuple[object, ...]:
        plate = make_plate(rng)
        moment = (begin + timedelta(seconds=25 * number)).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        id, camera = f"{number:026}", f"gate-{number % 8}"
        document = {"id": id, "plate": plate, "camera_id": camera, "timestamp": moment, "filled": "x" * 900}
        lists = '["staff"]' if rng.random() < 0.001 else "[]"
        return id, number + 1, camera, moment, plate, plate, lists, json.dumps(document)

    with sqlite3.connect(path) as database:
        database.execute("PRAGMA journal_mode = OFF")
        database.execute("PRAGMA synchronous = OFF")
        database.execute("PRAGMA cache_size = -1000000")
        create(database)
        database.executemany(_ROWS, map(row, range(count)))
    database.close()


def make_plate(rng: random.Random) -> str:
    """A private plate of Russia."""
    letters = [rng.choice(_LETTERS) for _ in range(3)]
    return f"{letters[0]}{rng.randrange(1000):03}{letters[1]}{letters[2]}{rng.choice(('77', '177', '199', '50', '78'))}"


def searches(path: Path) -> dict[str, Any]:
    """Milliseconds, 95 % of 40 questions each after one that is not counted, of the wall and of this process's CPU."""
    store = EventStore(path)
    rng = random.Random(2)
    kinds: dict[str, Callable[[], EventFilter]] = {
        "first_page": lambda: EventFilter(),
        "prefix_1": lambda: EventFilter(text=rng.choice(_LETTERS)),
        "prefix_4": lambda: EventFilter(text=make_plate(rng)[:4]),
        "camera": lambda: EventFilter(camera=f"gate-{rng.randrange(8)}"),
        "list": lambda: EventFilter(list="staff"),
        "fuzzy_1": lambda: EventFilter(text=make_plate(rng), distance=1),
        "fuzzy_2": lambda: EventFilter(text=make_plate(rng), distance=2),
    }
    facts = {}
    for name, ask in kinds.items():
        store.page(ask())
        spent = []
        for _ in range(40):
            wall, cpu = time.perf_counter(), time.process_time()
            store.page(ask())
            spent.append(((time.perf_counter() - wall) * 1000, (time.process_time() - cpu) * 1000))
        walls, cpus = (sorted(each) for each in zip(*spent, strict=True))
        facts[name] = {"wall_p95_ms": round(walls[37], 1), "cpu_p95_ms": round(cpus[37], 1)}
    store.close()
    return facts


def stream(backend: Backend, path: Path, readers: int, seconds: float) -> dict[str, Any]:
    """Ten events a second written by another connection -> milliseconds until each of the readers has each."""
    store = EventStore(path)
    writer = sqlite3.connect(path, isolation_level=None)
    sent: dict[int, float] = {}
    delays: list[float] = []
    ended = threading.Event()
    with WebServer(create_app(backend, WebSettings(), Sources(store))) as server:

        def read() -> None:
            with httpx.stream("GET", f"{server.url}/api/v1/events/stream", timeout=60, trust_env=False) as lines:
                for line in lines.iter_lines():
                    if line.startswith("data: "):
                        delays.append((time.perf_counter() - sent[json.loads(line[6:])["number"]]) * 1000)
                    if ended.is_set():
                        return

        threads = [threading.Thread(target=read) for _ in range(readers)]
        for thread in threads:
            thread.start()
        until = time.monotonic() + seconds
        number = 0
        while time.monotonic() < until:
            number += 1
            moment = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
            sent[number] = time.perf_counter()
            document = json.dumps({"number": number, "watch": []})
            writer.execute(_ROWS, (f"{number:026}", number, "gate", moment, "A", "A", "[]", document))
            time.sleep(0.1)
        ended.set()
        writer.execute(
            _ROWS, (f"{number + 1:026}", number + 1, "gate", "", "A", "A", "[]", json.dumps({"number": number}))
        )
        for thread in threads:
            thread.join(10)
    writer.close()
    store.close()
    delays.sort()
    return {
        "readers": readers,
        "events": number,
        "received": len(delays),
        "p50_ms": round(delays[len(delays) // 2], 1),
        "p99_ms": round(delays[int(len(delays) * 0.99)], 1),
    }


def _backend(stack: ExitStack, local: bool) -> Backend:
    if local:
        return Backend(LocalReader(), "local")
    triton = stack.enter_context(EmbeddedTriton(exit_timeout=0))
    client = PlateClient(triton.grpc_url, "grpc", 30, shared_memory=True, control_key=triton.control_key)
    return Backend(stack.enter_context(client), "embedded", client.url)


if __name__ == "__main__":
    app()
