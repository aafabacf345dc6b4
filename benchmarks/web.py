"""`python -m benchmarks.web`: measures the page: its size, a photo, a million events, fifty browsers.

The reader itself, the page's request and a request with crops read a photo in turn, so that all meet the same load. The
page cuts its crops in the browser, after it has shown the texts.
"""

import http.client
import json
import multiprocessing
import random
import sqlite3
import statistics
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

import httpx
import psutil
import typer

from plate_nets.client import PlateClient
from plate_nets.recognition.local import LocalReader
from plate_nets.server import EmbeddedTriton
from plate_nets.sinks.sqlite import EVENT_STORE
from plate_nets.sinks.sqlite_file import SqliteFile
from plate_nets.video.cameras_file import WatchPlan
from plate_nets.video.settings import CameraSettings
from plate_nets.web.app import Sources, create_app
from plate_nets.web.cameras import CameraRoom
from plate_nets.web.health import Backend
from plate_nets.web.server import WebServer
from plate_nets.web.settings import WebSettings
from plate_nets.web.store import EventFilter, EventStore
from tests.clips import still, write_clip
from tests.rtsp import RtspCamera

_SCRIPTS = ("page", "common", "try", "crop", "plate", "viewer", "export", "video", "event", "live", "lists", "health")
_FILES = ("page.css", "theme.js", "icon.svg", "icons.svg", *(f"{name}.js" for name in _SCRIPTS))
_ASSETS = ("/", *(f"/static/{name}" for name in _FILES))
_LETTERS = "ABEKMHOPCTYX"
_ROWS = "INSERT INTO events VALUES (?, 1, ?, 'final', ?, ?, ?, ?, 0.99, ?, ?)"

_SETTLED = 5.0
"""Maximum seconds to wait for a camera to start."""

app = typer.Typer(add_completion=False)


@app.command()
def main(
    photo: Annotated[
        Path, typer.Option(help="Photo that the page and the reader alone read in turn.", exists=True)
    ] = Path("out/scene.jpg"),
    rounds: Annotated[int, typer.Option(help="How often to read the photo; 0 skips this.", min=0)] = 40,
    events: Annotated[int, typer.Option(help="How many events the store holds; 0 skips this.", min=0)] = 1_000_000,
    store: Annotated[Path | None, typer.Option(help="Store to use; it is created if it does not exist.")] = None,
    count: Annotated[
        int, typer.Option("--browsers", help="How many browsers open the live page; 0 skips this.", min=0)
    ] = 50,
    seconds: Annotated[float, typer.Option(help="How long they stay (seconds).", min=1)] = 20,
    local: Annotated[bool, typer.Option("--local", help="Read in this process, without Triton.")] = False,
) -> None:
    """Measure the page: its size, a photo, a search, many browsers. Prints a line of JSON per measurement."""
    with ExitStack() as stack:
        backend = _backend(stack, local)
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        if rounds:
            with WebServer(create_app(backend, WebSettings(rate=1e6, burst=10**6))) as server:
                show("page", weight(server.url))
                show("photo", photos(backend, server.url, photo.read_bytes(), rounds))
        if events:
            path = store or folder / "events.sqlite"
            if not path.exists():
                make_store(path, events)
            show("events", searches(path))
        if count:
            show("browsers", browsers(backend, folder, count, seconds))


def show(name: str, facts: dict[str, Any]) -> None:
    """Print one measurement as a line."""
    typer.echo(json.dumps({"measure": name, **facts}))


def weight(url: str) -> dict[str, Any]:
    """Bytes of everything that the page and all its sections load, and of the page with its first section."""
    with httpx.Client(base_url=url, trust_env=False) as client:
        sizes = {path: len(client.get(path).raise_for_status().content) for path in _ASSETS}
    later = ("/static/live.js", "/static/lists.js", "/static/health.js")
    return {"first_load_bytes": sum(sizes.values()) - sum(sizes[path] for path in later), "all": sum(sizes.values())}


def photos(backend: Backend, url: str, encoded: bytes, rounds: int) -> dict[str, Any]:
    """Read a photo with the reader, the page's request and one with crops in turn -> median milliseconds and ratios."""
    with httpx.Client(base_url=url, timeout=60, trust_env=False) as client:
        ways: dict[str, Callable[[], object]] = {
            "reader": lambda: backend.reader.read(encoded),
            "page": lambda: client.post("/api/v1/plates", files={"file": encoded}).raise_for_status(),
            "crops": lambda: client.post("/api/v1/plates?crops=true", files={"file": encoded}).raise_for_status(),
        }
        spent: dict[str, list[float]] = {name: [] for name in ways}
        for number in range(rounds + 3):
            for name, ask in ways.items():
                started = time.perf_counter()
                ask()
                if number >= 3:  # the first ones open connections and load networks
                    spent[name].append((time.perf_counter() - started) * 1000)
    medians = {name: statistics.median(each) for name, each in spent.items()}
    return {f"{name}_ms": round(value, 1) for name, value in medians.items()} | {
        "ratio": round(medians["page"] / medians["reader"], 3),
        "ratio_crops": round(medians["crops"] / medians["reader"], 3),
        "rounds": rounds,
    }


def make_store(path: Path, count: int) -> None:
    """Write a store with ``count`` events of eight cameras, 25 s apart, one in a thousand on a list."""
    rng = random.Random(1)
    begin = datetime(2026, 1, 1, tzinfo=UTC)

    def row(number: int) -> tuple[object, ...]:
        plate = make_plate(rng)
        moment = (begin + timedelta(seconds=25 * number)).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        id, camera = f"{number:026}", f"gate-{number % 8}"
        document = {"id": id, "plate": plate, "camera_id": camera, "timestamp": moment, "filled": "x" * 900}
        lists = '["staff"]' if rng.random() < 0.001 else "[]"
        return id, number + 1, camera, moment, plate, plate, lists, json.dumps(document)

    SqliteFile(path, EVENT_STORE).close()
    with sqlite3.connect(path) as database:
        database.execute("PRAGMA journal_mode = OFF")
        database.execute("PRAGMA synchronous = OFF")
        database.execute("PRAGMA cache_size = -1000000")
        database.executemany(_ROWS, map(row, range(count)))
    database.close()


def make_plate(rng: random.Random) -> str:
    """A random private Russian plate."""
    letters = [rng.choice(_LETTERS) for _ in range(3)]
    return f"{letters[0]}{rng.randrange(1000):03}{letters[1]}{letters[2]}{rng.choice(('77', '177', '199', '50', '78'))}"


def searches(path: Path) -> dict[str, Any]:
    """Time 40 searches of each kind after a warm-up -> the 95th percentile in milliseconds, of the wall clock and of
    CPU."""
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


def browsers(backend: Backend, folder: Path, count: int, seconds: float) -> dict[str, Any]:
    """Play browsers on the live page from another process: the stream, and the requests that the page makes besides.

    Another connection writes ten events a second. A camera is watched meanwhile, and alone before.
    """
    path = folder / "stream.sqlite"
    store = EventStore(path)
    writer = sqlite3.connect(path, isolation_level=None)
    camera = RtspCamera(write_clip(folder / "camera.mkv", still(round((seconds + 60) * 10), (360, 640)), fps=10))
    watched = CameraSettings(camera.url(), id="camera", fps=5, motion_gate=False)
    room = CameraRoom(WatchPlan((watched,), outbox=folder / "outbox.sqlite"), path, backend.reader, ())
    context = multiprocessing.get_context("spawn")
    results, theirs = context.Pipe(duplex=False)
    alone, beside, memory = [], [], []
    try:
        with room, WebServer(create_app(backend, WebSettings(), Sources(store, cameras=room))) as server:
            time.sleep(_SETTLED)
            for _ in range(10):
                time.sleep(1)
                alone.append(room.status()[0])
            player = context.Process(target=browse, args=(server.url, count, seconds, theirs))
            player.start()
            assert results.recv() == "ready"
            spent, until, number = time.process_time(), time.monotonic() + seconds, 0
            while time.monotonic() < until:
                number += 1
                moment = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
                document = json.dumps({"sent": time.monotonic(), "watch": []})
                writer.execute(_ROWS, (f"{number:026}", number, "gate", moment, "A", "A", "[]", document))
                if number % 10 == 0:
                    beside.append(room.status()[0])
                    memory.append(psutil.Process().memory_info().rss / 1e6)
                time.sleep(0.1)
            spent = time.process_time() - spent
            delays, pictures = results.recv()
            player.join()
    finally:
        camera.kill()
        writer.close()
        store.close()
    delays.sort()
    settled = memory[len(memory) // 5 :]
    tenth = max(1, len(settled) // 10)
    return {
        "browsers": count,
        "events": number,
        "received": len(delays),
        "p50_ms": round(1000 * delays[len(delays) // 2]),
        "p99_ms": round(1000 * delays[int(len(delays) * 0.99)]),
        "pictures": pictures,
        "camera_fps_alone": round(statistics.mean(each.analysed_fps for each in alone), 2),
        "camera_fps": round(statistics.mean(each.analysed_fps for each in beside), 2),
        "camera_age_s": round(statistics.mean(each.age or 0.0 for each in beside), 2),
        "memory_mb": round(statistics.mean(settled[:tenth])),
        "memory_growth_mb": round(statistics.mean(settled[-tenth:]) - statistics.mean(settled[:tenth]), 1),
        "cores": round(spent / seconds, 2),
    }


def browse(url: str, count: int, seconds: float, results: Connection) -> None:
    """In its own process: make the requests of ``count`` browsers -> the delays of all events, and the number of
    pictures."""
    ended = threading.Event()
    delays: list[float] = []
    pictures: list[int] = []
    connected = threading.Barrier(count + 1)

    def stream() -> None:
        with httpx.stream("GET", f"{url}/api/v1/events/stream", timeout=60, trust_env=False) as answer:
            connected.wait()
            for line in answer.iter_lines():
                if line.startswith("data: "):
                    delays.append(time.monotonic() - json.loads(line[6:])["sent"])
                if ended.is_set():
                    return

    def look(path: str, every: float) -> None:
        address = urlsplit(url)
        connection = http.client.HTTPConnection(str(address.hostname), address.port)
        while not ended.wait(every):
            connection.request("GET", path)
            pictures.append(len(connection.getresponse().read()))
        connection.close()

    threads = [threading.Thread(target=stream, daemon=True) for _ in range(count)]
    for path, every in (("/api/v1/cameras/camera/frame.jpg", 0.4), ("/api/v1/cameras", 1.0)):
        threads += [threading.Thread(target=look, args=(path, every), daemon=True) for _ in range(count)]
    for thread in threads:
        thread.start()
    connected.wait(60)
    results.send("ready")
    time.sleep(seconds + 1)  # let the last events arrive
    ended.set()
    results.send((delays, len(pictures)))


def _backend(stack: ExitStack, local: bool) -> Backend:
    if local:
        return Backend(LocalReader(), "local")
    triton = stack.enter_context(EmbeddedTriton(exit_timeout=0))
    client = PlateClient(triton.grpc_url, "grpc", 30, shared_memory=True, control_key=triton.control_key)
    return Backend(stack.enter_context(client), "embedded", client.url)


if __name__ == "__main__":
    app()
