"""`make gpu-check`: converts, builds, starts, asks, compares and measures on a machine with a GPU, and writes a report.

With ``--device cpu`` it does the same on the embedded server, without a container: a rehearsal of every other step.
"""

import json
import os
import platform
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from plate_nets.triton.server import choose_ports

ROOT = Path(__file__).resolve().parents[1]
PYTHON = sys.executable
SCENE = ROOT / "out" / "scene.jpg"
IMAGE = "plate-nets:gpu"
CONTAINER = "plate-nets-gpu-check"
START = 300.0
"""Seconds that a first start on a GPU may take."""
SAME = 0.02
"""How far a confidence may lie from that of this process: a GPU rounds differently."""
_TAIL = 40
"""Lines of a command that the report shows."""


class Failed(Exception):
    """A step failed; the message says why."""


@dataclass
class Report:
    device: str
    rows: list[tuple[str, bool, float, str]] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        return all(passed for _, passed, _, _ in self.rows)

    def step(self, name: str, work: Callable[[], str]) -> bool:
        """Do one step and note its outcome -> whether it passed."""
        typer.echo(f"==> {name}")
        begun = time.monotonic()
        try:
            passed, text = True, work()
        except Failed as error:
            passed, text = False, str(error)
            typer.echo(f"failed: {text}", err=True)
        self.rows.append((name, passed, time.monotonic() - begun, text))
        return passed

    def text(self) -> str:
        """The report as Markdown."""
        lines = [
            f"# GPU check: {'passed' if self.ok else 'FAILED'}",
            "",
            f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC, device {self.device}, {platform.platform()}, "
            f"Python {platform.python_version()}",
            "",
            "| step | outcome | seconds |",
            "|---|---|---|",
            *(f"| {name} | {'passed' if ok else 'FAILED'} | {took:.1f} |" for name, ok, took, _ in self.rows),
        ]
        for name, _, _, text in self.rows:
            lines += ["", f"## {name}", "```text", *text.strip().splitlines()[-_TAIL:], "```"]
        return "\n".join(lines) + "\n"


def output(*command: str | Path) -> str:
    """Run a command -> its output.

    Raises:
        Failed: it is missing, or ended with another code than 0.
    """
    try:
        done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    except FileNotFoundError as error:
        raise Failed(f"{command[0]}: not found") from error
    if done.returncode:
        raise Failed(f"{' '.join(map(str, command))}: exit code {done.returncode}\n{done.stdout}")
    return done.stdout


def machine(device: str, engine: str) -> str:
    """What this machine has.

    Raises:
        Failed: it lacks what a check on a GPU needs.
    """
    if device == "cpu":
        return f"{os.cpu_count()} cores, no GPU asked for"
    if not engine:
        raise Failed("no container engine; run it by `make gpu-check`, which looks for docker and podman")
    if not shutil.which("nvidia-smi"):
        raise Failed("nvidia-smi: not found; install NVIDIA's driver, or rehearse with `make gpu-check DEVICE=cpu`")
    return output("nvidia-smi", "--query-gpu=name,driver_version,memory.total", "--format=csv")


def gpu_options(engine: str) -> list[str]:
    """The options that give a container every GPU, by docker's or podman's way."""
    return ["--device", "nvidia.com/gpu=all"] if Path(engine).name == "podman" else ["--gpus", "all"]


@contextmanager
def serving(device: str, engine: str, log: Path) -> Iterator[tuple[str, str]]:
    """A server for the block: a container of the image, or the embedded one -> its HTTP and health addresses."""
    ports = choose_ports({"http": 0, "grpc": 0, "metrics": 0, "health": 0})
    http, health = ports["http"], ports["health"]
    if device == "cpu":
        options = [f"--{name}-port={port}" for name, port in ports.items()]
        command = [PYTHON, "-m", "plate_nets", "serve", "--server", "embedded", "--log", str(log), *options]
    else:
        hardened = [
            "--read-only",
            "--tmpfs=/tmp",
            "--shm-size=1g",
            "--cap-drop=ALL",
            "--security-opt=no-new-privileges",
        ]
        published = [f"--publish=127.0.0.1:{here}:{there}" for here, there in ((http, 8000), (health, 8003))]
        command = [engine, "run", "--rm", "--name", CONTAINER, *gpu_options(engine), *hardened, *published, IMAGE]
    with log.with_suffix(".output").open("wb") as written:
        process = subprocess.Popen(command, cwd=ROOT, stdout=written, stderr=subprocess.STDOUT)
        try:
            yield f"127.0.0.1:{http}", f"127.0.0.1:{health}"
        finally:
            if device == "gpu":
                subprocess.run([engine, "stop", "--time", "60", CONTAINER], capture_output=True)
            else:
                process.terminate()
            process.wait()


def other_format(name: str) -> str:
    """Make the STN's file of a format, compared with the network; for AOTInductor on the GPU, if torch finds one."""
    return output(PYTHON, "-m", "converters", "stn", "--format", name)


def base(device: str, engine: str) -> str:
    """What the image has of its base: the release of Triton, its Python, its user, its backends."""
    if device == "cpu":
        return "no image: the embedded server of the wheel"
    ask = "cat /opt/tritonserver/TRITON_VERSION; python3 --version; id; ls /opt/tritonserver/backends /opt/nvidia"
    return output(engine, "run", "--rm", *gpu_options(engine), IMAGE, "sh", "-c", ask)


def healthy(supervisor: str) -> str:
    """Wait until the server reads its known picture -> what `plates health` says.

    Raises:
        Failed: it does not within `START` seconds.
    """
    deadline = time.monotonic() + START
    while True:
        try:
            return output(PYTHON, "-m", "plate_nets", "health", "--supervisor", supervisor)
        except Failed as error:
            if time.monotonic() > deadline:
                raise Failed(f"not healthy after {START:g} s: {error}") from error
            time.sleep(1)


def on_the_gpu(device: str) -> str:
    """The server's processes on the GPU.

    Raises:
        Failed: none is there, so the networks run on the processor.
    """
    if device == "cpu":
        return "not asked for"
    found = output("nvidia-smi", "--query-compute-apps=process_name,used_memory", "--format=csv,noheader")
    if not found.strip():
        raise Failed("nvidia-smi lists no process: the server does not use the GPU")
    return found


def compared(served: list[dict[str, Any]], local: list[dict[str, Any]]) -> str:
    """The plates of the server beside those that this process reads on the CPU.

    Raises:
        Failed: a text differs, or a confidence by more than `SAME`.
    """

    def plates(pictures: list[dict[str, Any]]) -> list[tuple[str, float]]:
        return [(plate["text"], plate["confidence"]) for picture in pictures for plate in picture["plates"]]

    theirs, ours = plates(served), plates(local)
    if not ours or [text for text, _ in theirs] != [text for text, _ in ours]:
        raise Failed(f"the server reads {theirs}, this process {ours}")
    widest = max(abs(one - other) for (_, one), (_, other) in zip(theirs, ours, strict=True))
    if widest > SAME:
        raise Failed(f"a confidence differs by {widest:.4f}, expected at most {SAME}")
    return f"{len(ours)} texts are the same; the confidences differ by at most {widest:.4f}"


def read(picture: Path, *options: str) -> list[dict[str, Any]]:
    """What `plates read --json` gives."""
    found: list[dict[str, Any]] = json.loads(output(PYTHON, "-m", "plate_nets", "read", picture, "--json", *options))
    return found


def main(
    device: Annotated[Literal["cpu", "gpu"], typer.Option(help="gpu, or cpu for a rehearsal.")] = "gpu",
    image_base: Annotated[str, typer.Option("--base", help="Base of the image. Default: the Dockerfile's.")] = "",
    picture: Annotated[Path, typer.Option(help="Picture to read.", exists=True, dir_okay=False)] = ROOT
    / "out/scene.jpg",
    seconds: Annotated[float, typer.Option(help="Length of each load (seconds).", min=0.1, max=600)] = 5.0,
    out: Annotated[Path, typer.Option(help="Folder for the report.", file_okay=False)] = ROOT / "out/gpu-check",
) -> None:
    """Convert, build, start, ask, compare and measure, and write report.md.

    Exit code: 0 every step passed, 1 one failed.
    """
    engine = os.environ.get("ENGINE", "")
    out.mkdir(parents=True, exist_ok=True)
    out, picture = out.resolve(), picture.resolve()
    report = Report(device)
    try:
        if not report.step("machine", lambda: machine(device, engine)):
            return
        report.step("conversion, compared with the networks", lambda: output(PYTHON, "-m", "converters"))
        report.step("other formats", lambda: "".join(map(other_format, ("onnx", "aoti"))))
        if device == "gpu" and not report.step("image", lambda: output("tools/image.sh", image_base, "gpu")):
            return
        report.step("base", lambda: base(device, engine))
        with serving(device, engine, out / "server.log") as (http, supervisor):
            if not report.step("start", lambda: healthy(supervisor)):
                return
            report.step("answers", lambda: compared(read(picture, "--url", http), read(picture, "--local")))
            report.step("processes on the GPU", lambda: on_the_gpu(device))
            loads = ["--plates", "0,1,4", "--concurrency", "1,4,8", "--seconds", f"{seconds:g}"]
            figures = ["--json", str(out / "loads.json")]
            report.step("loads", lambda: output(PYTHON, "-m", "benchmarks", "--url", http, *loads, *figures))
    finally:
        (out / "report.md").write_text(report.text(), encoding="utf-8")
        typer.echo(f"{'passed' if report.ok else 'FAILED'}: {out / 'report.md'}")
        if not report.ok:
            raise typer.Exit(1)


if __name__ == "__main__":
    typer.run(main)
