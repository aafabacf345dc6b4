"""Fuzzes the entrances of a user with inputs like those that once failed: client, command line, labels.

Each input is generated from its number, so a failure names the input that repeats it. `tests/faults/hostile.py` has the
inputs that no client sends.
"""

import itertools
import os
import shutil
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from plate_nets.cli import app
from plate_nets.client import PlateClient, parse_url
from plate_nets.common.errors import PlateError
from plate_nets.evaluation.dataset import COLUMNS, load_dataset
from plate_nets.recognition.health import known_picture
from tests.bombs import BOMBS, animated_webp
from tests.faults.hostile import COMPLETE, LEAK, PICTURES, Rng, Target, attack, mutated, oversized
from tests.serve import Served

SHORT = 160
BETWEEN_GOOD = 40
MINUTES = float(os.environ.get("PLATES_SOAK_MINUTES", "60"))
"""Length in full."""
KIN = (*PICTURES, animated_webp(), *(made() for made in BOMBS.values()), known_picture().image)
TEXTS = (
    "", "x", "0", "-1", "1e400", "inf", "nan", "я" * 300, "a\0b", "a\nb", "\udcff", "[red]", "/dev/null", "x" * 5000,
)  # fmt: skip
ARGUMENTS = tuple(text for text in TEXTS if "\0" not in text)
"""A process argument, which ends at a zero byte."""
NAMES = (
    b"car.jpg", b"\xff.png", b"a b.jpg", b"-x.jpg", b"[red].jpg", b"\n.bmp", b"car_plates.jpg", b"x" * 200 + b".png",
)  # fmt: skip
FAILED = (0, 1, 2)
"""Exit codes of `plates`."""


def picture(rng: Rng) -> bytes:
    return rng.choice((lambda: mutated(rng, rng.choice(KIN)), lambda: oversized(rng), lambda: rng.choice(KIN)))()


def client(rng: Rng, served: Served, folder: Path) -> str:
    """Anything that can be passed to `PlateClient.read`."""
    shape = [rng.choice((0, 1, 3, 7, 8, 64, 300)) for _ in range(rng.randrange(5))]
    odd: tuple[Callable[[], Any], ...] = (
        lambda: np.zeros(shape, rng.choice((np.uint8, np.float32, np.bool_, np.int64, np.complex64, np.dtype("S3")))),
        lambda: np.zeros((64, 64, 6), np.uint8)[::-2, ::2, ::2],
        lambda: rng.choice((None, 1, "x", [], [[1, 2], [3]], object(), Path("x"))),
    )
    given = rng.choice((lambda: picture(rng), lambda: picture(rng), rng.choice(odd)))()
    url = rng.choice((served.http, f"grpc://{served.grpc}"))
    with PlateClient(url, timeout=60, retries=rng.choice((0, 3))) as asking:
        return f"{len(asking.read(given, evidence=rng.random() < 0.2))} plates"


def address(rng: Rng, served: Served, folder: Path) -> str:
    """Any text as the address of a server."""
    text = "".join(
        rng.choice(("http", "grpc", "s", "://", "[", "]", "::1", "@", "/", ":", "80", "x", *TEXTS)) for _ in range(4)
    )
    parse_url(text)
    return "an address"


def command(rng: Rng, served: Served, folder: Path) -> str:
    """`plates read` of files with absurd names."""
    for name in rng.sample(NAMES, rng.randrange(1, 4)):
        (folder / os.fsdecode(name)).write_bytes(picture(rng))
    if rng.random() < 0.3:
        os.mkfifo(folder / "fifo.jpg")
    options = [
        *("--url", rng.choice((served.http, f"grpc://{served.grpc}"))),
        *rng.choice(((), ("--json",))),
        *rng.choice(((), ("--csv", str(folder / rng.choice(("t.csv", "car.jpg", "no/t.csv")))))),
        *rng.choice(((), ("--save-annotated", str(folder / rng.choice(("", "out", "car.jpg")))))),
        *rng.choice(((), (), ("--timeout", "60"), ("--timeout", rng.choice(ARGUMENTS)))),
        *rng.choice(((), (), (), (rng.choice(("--protocol", "--log", "--json", "--x")), rng.choice(ARGUMENTS)))),
    ]
    before = {path: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    result = CliRunner().invoke(app, ["read", *options, rng.choice((str(folder), str(folder / "car.jpg")))])
    assert result.exception is None or isinstance(result.exception, SystemExit), repr(result.exception)
    assert result.exit_code in FAILED, result.output
    assert "Traceback" not in result.output
    owned = {path: data for path, data in before.items() if not path.stem.endswith("_plates")}
    assert all(path.read_bytes() == data for path, data in owned.items()), "a picture of the user's was written over"
    return f"exit code {result.exit_code}"


def labels(rng: Rng, served: Served, folder: Path) -> str:
    """A labelled folder whose table is damaged."""
    (folder / "images").mkdir()
    (folder / "images" / "car.png").write_bytes(picture(rng) if rng.random() < 0.3 else PICTURES[1])
    fields = ("car.png", "1", "2", "30", "40", "A123BC77", *TEXTS)
    rows = [",".join(rng.choice(fields) for _ in COLUMNS) for _ in range(3)]
    table = "\n".join((",".join(COLUMNS), "car.png,1,2,30,14,A123BC77,,,,,,,,", *rows)).encode("utf-8", "surrogatepass")
    (folder / "labels.csv").write_bytes(mutated(rng, table) if rng.random() < 0.7 else table)
    return f"{len(load_dataset(folder, strict=rng.random() < 0.2).labels)} labels"


KINDS: tuple[Callable[[Rng, Served, Path], str], ...] = (client, address, command, labels)


def fuzz(served: Served, numbers: Iterable[int], folder: Path) -> None:
    """Try every input of these numbers: each gives an answer, or an error of ours without a path of the server."""
    found: Counter[str] = Counter()
    target = Target(parse_url(served.http).port, parse_url(served.grpc).port, timeout=60)
    with PlateClient(served.grpc, "grpc", timeout=60, retries=0) as good:
        for number in numbers:
            kind = KINDS[number % len(KINDS)]
            mine = folder / str(number)
            mine.mkdir()
            try:
                said = kind(Rng(number), served, mine)
            except PlateError as error:
                said = type(error).__name__
                assert not LEAK.search(str(error).replace(str(folder), "").encode()), f"input {number}: {error}"
            except BaseException as error:
                error.add_note(f"input {number}, {kind.__name__}")
                raise
            found[f"{kind.__name__}: {said}"] += 1
            shutil.rmtree(mine)
            name, answer = attack(number, target)
            assert answer.status is not None or name not in COMPLETE, f"input {number}, {name}: {answer}"
            if number % BETWEEN_GOOD == 0:
                texts = tuple(plate.reading.text for plate in good.read(known_picture().image))
                assert texts == known_picture().texts, f"input {number}"
    sys.stdout.write("\n".join(f"{count:6} {what}" for what, count in sorted(found.items())) + "\n")


def test_a_user_gets_an_answer_or_a_clear_error(served: Served, tmp_path: Path) -> None:
    fuzz(served, range(SHORT), tmp_path)


@pytest.mark.soak
@pytest.mark.timeout(MINUTES * 60 + 300)
def test_odd_inputs_for_the_given_minutes(served: Served, tmp_path: Path) -> None:
    end = time.monotonic() + MINUTES * 60
    fuzz(served, itertools.takewhile(lambda _: time.monotonic() < end, itertools.count(SHORT)), tmp_path)
