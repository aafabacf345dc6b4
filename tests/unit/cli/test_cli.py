"""The command line without a server: its input, its output, its end."""

import csv
import importlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import replace
from importlib import metadata
from pathlib import Path
from types import MappingProxyType
from unittest.mock import Mock

import cv2
import numpy as np
import pytest
from click import Argument, Group
from typer.core import TyperArgument
from typer.main import get_command
from typer.testing import CliRunner

import plate_nets.cli
from plate_nets.cli import app
from plate_nets.cli.read import Source, find_pictures
from plate_nets.client.healing import Healing
from plate_nets.common.errors import DeadlineExceeded, InputError, ModelDied, ServerError, ServerUnavailable
from plate_nets.countries.designs import UNKNOWN
from plate_nets.recognition.left_out import LeftOut
from plate_nets.types import CORNER_COLUMNS, PLATE_COLUMNS, VEHICLE_COLUMNS, Box, Plate, Reading
from tests.commands import Result
from tests.frames import Placed, compose, encode

CORNERS = (10.04, 20, 59, 21, 60, 31, 11, 30)
READ = Plate(
    Box(10.04, 20, 60, 31), 0.91234, Reading("A123BC77", "A123BC77", 0.98765, format="private"), corners=CORNERS
)
UNREAD = Plate(Box(1, 2, 3, 4), 0.5, Reading("", "A12", 0.25))
PICTURE = encode(compose(60, 80), ".jpg")


READ_MODULE = importlib.import_module("plate_nets.cli.read")  # in the package, this name is the command
Answers = Mapping[bytes, list[Plate] | BaseException]


Run = Callable[..., Result]
asked: list[float | None] = []
"""The minimum confidence requested for each picture of the last run."""
recovered: list[int] = []
"""How often the last run recovered the server."""


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Run:
    """`plates read` with a client that knows pictures by their bytes; anything else is no picture."""

    def invoke(*arguments: object, answers: Answers = MappingProxyType({PICTURE: [READ, UNREAD]})) -> Result:
        def read(image: bytes, *, sure: float | None = None, **_: object) -> list[Plate]:
            asked.append(sure)
            answer = answers.get(image, InputError("image: expected a picture"))
            if isinstance(answer, BaseException):
                raise answer
            return answer

        recovered.clear()
        asked.clear()
        reader = Healing(Mock(read=read), lambda: recovered.append(1))
        monkeypatch.setattr(READ_MODULE, "open_reader", lambda *_, **__: nullcontext(reader))
        return CliRunner().invoke(app, ["read", *map(str, arguments)])

    return invoke


@pytest.fixture
def car(tmp_path: Path) -> Path:
    path = tmp_path / "car.jpg"
    path.write_bytes(PICTURE)
    return path


def test_one_line_per_plate_is_printed(run: Run, car: Path) -> None:
    result = run(car)
    assert (result.exit_code, re.sub(r"\d+ ms", "T", result.stdout).splitlines()) == (
        0,
        [
            f"{car}: A123BC77  confidence 0.988  score 0.912  box 10,20,60,31  T",
            f"{car}: unread (A12? too_low 1 px)  confidence 0.250  score 0.500  box 1,2,3,4  T",
        ],
    )
    result = run(car, answers={PICTURE: []})
    assert result.exit_code == 0 and "car.jpg: no plate" in result.stdout


@pytest.mark.parametrize(("country", "shown"), [("tr", "  tr 0.970"), (UNKNOWN, ""), ("", "")])
def test_a_line_ends_with_the_country_if_it_is_known(run: Run, car: Path, country: str, shown: str) -> None:
    plate = replace(READ, reading=replace(READ.reading, country=country, country_confidence=0.97))
    assert run(car, answers={PICTURE: [plate]}).stdout.rstrip("\n").endswith(f" ms{shown}")


def test_the_minimum_confidence_is_checked_first_and_sent(run: Run, car: Path) -> None:
    assert run(car).exit_code == 0 and asked == [None]
    assert run(car, "--sure", 0.95).exit_code == 0 and asked == [0.95]
    result = run(car, "--sure", 95)
    assert result.exit_code == 2 and not asked
    assert result.stderr == "plates: sure: expected a probability between 0 and 1, got 95.0\n"


def test_one_bad_file_never_ends_the_run(run: Run, car: Path, tmp_path: Path) -> None:
    faults: dict[str, Exception] = {
        "slow": DeadlineExceeded("host:1: no answer within 1 s"),
        "bomb": ModelDied("host:1: PLATES_MODEL_DIED: yolo: not healthy"),
        "error": ServerError("host:1: PLATES_INTERNAL: stn: out of memory (500)"),
    }
    bad, slow, bomb, error = (tmp_path / f"{name}.jpg" for name in ("bad", *faults))
    for path in (bad, slow, bomb, error):
        path.write_bytes(path.stem.encode())
    answers = {PICTURE: [READ]} | {name.encode(): fault for name, fault in faults.items()}
    result = run(bad, tmp_path / "missing.jpg", slow, bomb, error, car, answers=answers)
    assert (result.exit_code, len(recovered)) == (1, 1), "the server is recovered from what killed a process"
    assert len(result.stdout.splitlines()) == 1 and "A123BC77" in result.stdout
    assert result.stderr.splitlines() == [
        f"{bad}: image: expected a picture",
        f"{tmp_path / 'missing.jpg'}: cannot be opened: No such file or directory",
        *(f"{tmp_path / name}.jpg: {fault}" for name, fault in faults.items()),
        "plates: 5 of 6 pictures failed",
    ]


def test_a_server_that_is_gone_ends_the_run(run: Run, car: Path) -> None:
    """JSON is complete nevertheless."""
    for options, said in ((), ""), (("--json",), "[]"):
        result = run(car, car, *options, answers={PICTURE: ServerUnavailable("host:1: Connection refused")})
        assert (result.exit_code, result.stderr) == (2, "plates: host:1: Connection refused\n")
        assert result.stdout.strip() == said


@pytest.mark.parametrize(
    "arguments",
    [[], ["--protocol", "ftp", "x.jpg"], *(["--timeout", each, "x.jpg"] for each in ("0", "inf", "1e12", "-1"))],
)
def test_wrong_usage(run: Run, arguments: list[str]) -> None:
    assert run(*arguments).exit_code == 2


def test_the_shape_of_pictures_may_be_told(car: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    client = Mock()
    client.read.return_value = [replace(READ, box=Box(10, 20, 60, 30))]
    monkeypatch.setattr(READ_MODULE, "open_reader", lambda *_, **__: nullcontext(client))
    result = CliRunner().invoke(app, ["read", "--aspect", "8:3", "--json", str(car)])
    (((picture,), _),) = client.read.call_args_list
    assert picture.shape == (60, 160, 3)
    assert json.loads(result.stdout)[0]["plates"][0]["box"] == [5.0, 20.0, 30.0, 30.0]
    refused = CliRunner().invoke(app, ["read", "--aspect", "portrait", str(car)])
    assert refused.exit_code == 2
    assert refused.stderr.startswith("plates: aspect: expected width:height of the whole picture, such as 16:9")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["read", "--url", "host:99999", "car.jpg"], "expected host:port, got 'host:99999'"),
        (["read", "no.jpg"], "no such file or folder: no.jpg"),
        (["serve", "--health-port", "0", "--model-repository", "none"], "none: no such model repository"),
    ],
)
def test_what_cannot_be_used_is_named_before_anything_starts(
    arguments: list[str], says: str, car: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(car.parent)
    result = CliRunner().invoke(app, arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("plates: ") and says in result.stderr and result.stderr.count("\n") == 1


def test_a_run_with_plates_of_one_country_says_how_to_name_it(run: Run, car: Path) -> None:
    def plates(*countries: str) -> list[Plate]:
        schemes = {"ru": "russia", "kz": "kazakhstan", UNKNOWN: "latin"}
        return [
            replace(READ, reading=replace(READ.reading, scheme=schemes[each], country=each, country_confidence=0.9))
            for each in countries
        ]

    says = "plates: all plates whose country is known are of one: --scheme kazakhstan reads these alone\n"
    answers = {("kz", "kz"): says, ("kz", UNKNOWN): says, ("kz", "ru"): "", (UNKNOWN,): "", (): ""}
    for countries, expected in answers.items():
        assert run(car, answers={PICTURE: plates(*countries)}).stderr == expected
    for named in (["--scheme", "kazakhstan"], ["--url", "127.0.0.1:1"]):
        assert run(*named, car, answers={PICTURE: plates("kz")}).stderr == ""


@pytest.mark.parametrize(
    ("reading", "says"),
    [
        (Reading("", "K646CE71", 0.998, scheme="kazakhstan"), "unread (K646CE71? no_format 1)  conf"),
        (Reading("", "K646CE71", 0.4, scheme="russia"), "unread (K646CE71? unsure 0.4)  conf"),
        (Reading("", "K646CE71", 0.998, scheme="of-the-server"), "unread (K646CE71? unsure 1)  conf"),
    ],
)
def test_the_reason_why_a_plate_has_no_text_is_shown(run: Run, car: Path, reading: Reading, says: str) -> None:
    placed = Placed("K646CE71", 40, 40, width=120)
    car.write_bytes(picture := encode(compose(120, 240, [placed])))
    result = run(car, answers={picture: [Plate(placed.box, 0.5, reading)]})
    assert f"car.jpg: {says}" in result.stdout


def test_the_help_describes_every_argument() -> None:
    group = get_command(app)
    assert isinstance(group, Group)
    for name, command in group.commands.items():
        for argument in (each for each in command.params if isinstance(each, Argument)):
            assert isinstance(argument, TyperArgument) and argument.help, f"{name} {argument.name}"


def test_the_version_equals_that_of_the_package_and_the_help_lists_every_command() -> None:
    version, shown = (CliRunner().invoke(app, [option]) for option in ("--version", "--help"))
    assert (version.exit_code, version.stdout) == (0, f"plates {metadata.version('plate-nets')}\n")
    assert shown.exit_code == 0 and all(command.__name__ in shown.stdout for command in plate_nets.cli.COMMANDS)


def test_an_empty_folder_is_an_error(run: Run, tmp_path: Path) -> None:
    result = run(tmp_path)
    assert result.exit_code == 2
    assert result.stderr.startswith(
        f"plates: no picture found in {tmp_path}; looked for .apng, .avif, .bmp, .dib, .heic, .heif, .hif, "
        ".jfi, .jfif, .jif, .jpe, .jpeg, .jpg, .mpo, .pjp, .pjpeg, .png, .webp"
    )


def test_pictures_that_are_not_read_are_counted_and_named(run: Run, car: Path, tmp_path: Path) -> None:
    for name in ("b.tif", "c.GIF", "d.jp2", "e.txt", *(f"scan{each}.tiff" for each in range(5))):
        (tmp_path / name).write_bytes(b"II*\0")
    last = run(tmp_path).stderr.splitlines()[-1]
    assert last.startswith("plates: left out 8 pictures of formats that are not read: 1 GIF (")
    assert last.endswith("; convert them to JPEG or PNG")
    assert f"{tmp_path / 'c.GIF'}" in last and "1 JPEG 2000" in last and "6 TIFF" in last and ", ...)" in last
    car.unlink()
    assert "looked for" in (empty := run(tmp_path)).stderr and "left out 8 pictures" in empty.stderr


KINDS = {
    "JPEG 2000": ".jp2 .j2k .j2c .jpx",
    "raw photo": ".nef .nrw .pef .srw .CR3 .dng",
    "Netpbm": ".ppm .pgm .pbm .pnm",
    "Windows icon": ".ico",
    "image sequence": ".heics .avifs",
}


@pytest.mark.parametrize(("kind", "suffixes"), KINDS.items())
def test_a_picture_that_is_not_read_is_named_with_its_format(
    run: Run, tmp_path: Path, kind: str, suffixes: str
) -> None:
    for suffix in suffixes.split():
        (tmp_path / f"a{suffix}").write_bytes(b"x")
    assert f": {len(suffixes.split())} {kind} (" in run(tmp_path).stderr


def test_pictures_with_rarer_suffixes_are_read_from_a_folder(run: Run, tmp_path: Path) -> None:
    names = ["a.JPE", "a.apng", "a.dib", "a.jfif", "a.mpo", "a.pjpeg"]
    for name in names:
        (tmp_path / name).write_bytes(PICTURE)
    result = run(tmp_path, "--json")
    assert result.exit_code == 0
    assert sorted(Path(each["file"]).name for each in json.loads(result.stdout)) == names


def test_json_is_one_array(run: Run, car: Path, tmp_path: Path) -> None:
    result = run(car, tmp_path / "missing.jpg", "--json")
    assert result.exit_code == 1
    good, bad = json.loads(result.stdout)
    assert good["file"] == str(car)
    assert good["milliseconds"] >= 0
    read = {"text": "A123BC77", "reading": "A123BC77", "confidence": 0.9877, "score": 0.9123, "format": "private"}
    read |= {"box": [10.0, 20.0, 60.0, 31.0], "corners": [10.0, 20.0, 59.0, 21.0, 60.0, 31.0, 11.0, 30.0]}
    unread = {"text": "", "reading": "A12", "confidence": 0.25, "score": 0.5, "box": [1.0, 2.0, 3.0, 4.0]}
    unread |= {"corners": [], "format": "", "unread": {"reason": "too_low", "number": 1.0, "unit": "px"}}
    other = {"scheme": "", "vehicle": None}
    assert good["plates"] == [read | other | {"unread": None}, unread | other]
    assert bad == {"file": str(tmp_path / "missing.jpg"), "error": "cannot be opened: No such file or directory"}


def rows_of(table: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(table.read_text(encoding="utf-8").splitlines()))


def test_the_table_has_a_row_per_plate_and_every_picture(run: Run, car: Path, tmp_path: Path) -> None:
    empty = tmp_path / "empty.jpg"
    empty.write_bytes(b"empty")
    table = tmp_path / "plates.csv"
    result = run(car, empty, tmp_path / "no", "--csv", table, answers={PICTURE: [READ, UNREAD], b"empty": []})
    assert result.exit_code == 1
    rows = rows_of(table)
    assert tuple(rows[0]) == PLATE_COLUMNS
    told = ("country", "country_confidence", "ground", "ground_confidence")
    assert PLATE_COLUMNS[-20:] == (*CORNER_COLUMNS, "scheme", *told, *VEHICLE_COLUMNS, "latin"), "new columns come last"
    assert {row[name] for row in rows for name in told} == {""}, "nobody asked"
    assert [[row[name] for name in CORNER_COLUMNS] for row in rows[:2]] == [[f"{x:.1f}" for x in CORNERS], [""] * 8]
    assert [(Path(row["file"]).name, row["text"], row["reading"], row["xmin"], row["error"]) for row in rows] == [
        ("car.jpg", "A123BC77", "A123BC77", "10.0", ""),
        ("car.jpg", "", "A12", "1.0", ""),
        ("empty.jpg", "", "", "", ""),
        ("no", "", "", "", "cannot be opened: No such file or directory"),
    ]


def test_json_and_csv_contain_country_and_colour_and_csv_the_latin_form_of_another_script(
    run: Run, car: Path, tmp_path: Path
) -> None:
    reading = replace(READ.reading, country="ru", country_confidence=0.87654, ground="white", ground_confidence=0.99999)
    answers = {PICTURE: [replace(READ, reading=reading)]}
    (picture,) = json.loads(run(car, "--json", answers=answers).stdout)
    told = {"country": "ru", "country_confidence": 0.8765, "ground": "white", "ground_confidence": 1.0}
    assert picture["plates"][0].items() >= told.items()
    table = tmp_path / "plates.csv"
    answers[PICTURE].append(replace(READ, reading=replace(READ.reading, text="117تونس3989")))
    assert run(car, "--csv", table, answers=answers).exit_code == 0
    row, other = rows_of(table)
    assert [row[name] for name in told] == ["ru", "0.8765", "white", "1.0000"]
    assert (row["latin"], other["text"], other["latin"]) == ("", "117تونس3989", "117TN3989")


def test_annotated_pictures_keep_their_folders(run: Run, tmp_path: Path) -> None:
    photos, out = tmp_path / "photos", tmp_path / "out"
    for name in ("a.jpg", "night/a.jpg", "night/b.JPG"):
        (photos / name).parent.mkdir(parents=True, exist_ok=True)
        (photos / name).write_bytes(PICTURE)
    (photos / "notes.txt").write_text("no picture", encoding="utf-8")
    assert run(photos, photos / "a.jpg", "--save-annotated", out).exit_code == 0
    written = sorted(path.relative_to(out) for path in out.rglob("*.*"))
    expected = ["a_plates.jpg", "a_plates2.jpg", "night/a_plates.jpg", "night/b_plates.jpg"]
    assert written == [Path(name) for name in expected]
    assert all(cv2.imread(str(out / name)).shape == (60, 80, 3) for name in written)


def test_annotating_beside_the_pictures_overwrites_none(run: Run, car: Path) -> None:
    beside = car.with_name("car_plates.jpg")
    beside.write_bytes(PICTURE)
    for _ in range(2):
        assert run(car, "--save-annotated", car.parent).exit_code == 0
    assert (car.read_bytes(), beside.read_bytes()) == (PICTURE, PICTURE)
    assert sorted(path.name for path in car.parent.iterdir()) == ["car.jpg", "car_plates.jpg", "car_plates2.jpg"]


def test_a_run_skips_the_pictures_that_an_earlier_run_wrote(run: Run, car: Path) -> None:
    for folder in (car.parent, car.parent / "out"):
        for _ in range(2):
            result = run(car.parent, "--save-annotated", folder)
            assert (result.exit_code, len(result.stdout.splitlines())) == (0, 2)
    assert [path.name for path in (car.parent / "out").iterdir()] == ["car_plates.jpg"]


def test_a_table_never_replaces_a_picture(run: Run, car: Path) -> None:
    link = car.with_name("table.csv")
    link.symlink_to(car)
    for table in (car, link):
        result = run(car, "--csv", table)
        assert (result.exit_code, "would overwrite one of the pictures" in result.stderr) == (2, True)
    assert car.read_bytes() == PICTURE


def test_a_name_that_is_not_utf8_is_escaped(run: Run, tmp_path: Path) -> None:
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.jpg"))
    path.write_bytes(PICTURE)
    table = tmp_path / "table.csv"
    result = run(path, "--csv", table, "--json")
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)[0]["file"].endswith("\\xff.jpg")
    assert "\\xff.jpg" in table.read_text(encoding="utf-8")


def test_a_picture_too_wide_for_its_format_is_annotated_as_png(run: Run, tmp_path: Path) -> None:
    wide = encode(np.zeros((8, 16_400, 3), np.uint8), ".png")
    path = tmp_path / "wide.webp"
    path.write_bytes(wide)
    assert run(path, "--save-annotated", tmp_path / "out", answers={wide: [READ]}).exit_code == 0
    assert (tmp_path / "out" / "wide_plates.png").is_file()


def test_a_picture_too_large_to_be_annotated_is_named_and_the_others_are_saved(run: Run, car: Path) -> None:
    large = encode(np.zeros((7072, 7072), np.uint8), ".png")
    car.with_name("a.png").write_bytes(large)
    result = run(car.parent, "--save-annotated", car.parent / "out", answers={large: [READ], PICTURE: [READ]})
    assert (result.exit_code, "a_plates.png: image: expected at most 50000000 pixels" in result.stderr) == (0, True)
    assert [path.name for path in (car.parent / "out").iterdir()] == ["car_plates.jpg"]


def test_links_to_folders_are_followed_once(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "car.jpg").touch()
    (tmp_path / "a" / "again").symlink_to(tmp_path)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "bus.jpg").touch()
    (tmp_path / "a" / "linked").symlink_to(tmp_path / "elsewhere")
    assert [str(source.name) for source in find_pictures([tmp_path / "a"], LeftOut())] == [
        "again/elsewhere/bus.jpg",
        "car.jpg",
    ]


@pytest.mark.parametrize(
    ("option", "place", "says"),
    [
        ("--csv", "/dev/full", "No space left on device"),
        ("--csv", "car.jpg/below", "Not a directory"),
        ("--save-annotated", "car.jpg/below", "Not a directory"),
    ],
)
def test_an_unwritable_output_is_named(run: Run, car: Path, option: str, place: str, says: str) -> None:
    result = run(car, option, car.parent / place)
    assert (result.exit_code, result.stderr) == (2, f"plates: {option} {car.parent / place}: {says}\n")


def test_folders_are_searched_in_order(tmp_path: Path) -> None:
    for name in ("b.png", "a/c.webp", "a/d.txt", "a/e.bmp"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    file = tmp_path / "a" / "d.txt"
    assert list(find_pictures([tmp_path, file], LeftOut())) == [
        Source(tmp_path / "a/c.webp", Path("a/c.webp")),
        Source(tmp_path / "a/e.bmp", Path("a/e.bmp")),
        Source(tmp_path / "b.png", Path("b.png")),
        Source(file, Path("d.txt")),
    ]


def test_ctrl_c_is_a_clean_end(run: Run, car: Path) -> None:
    result = run(car, answers={PICTURE: KeyboardInterrupt()})
    assert result.exit_code == 130
    assert "Traceback" not in result.output


@pytest.mark.parametrize(
    ("option", "address"),
    [("--url", "127.0.0.1:1"), *(("--supervisor", each) for each in ("x y", "x:y", "[", "\u0439:1", "127.0.0.1:1"))],
)
def test_health_of_what_does_not_answer(option: str, address: str) -> None:
    result = CliRunner().invoke(app, ["health", option, address, "--timeout", "5"])
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith(f"unhealthy: {address}: ")


@pytest.mark.parametrize("content", [b"\xff\xfe", None, b"secret key\n"], ids=["no text", "no file", "no key"])
def test_an_unusable_control_key_file_is_reported_in_one_line(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "key"
    if content is not None:
        path.write_bytes(content)
    result = CliRunner().invoke(app, ["swap", "stn", "--list", "--control-key-file", str(path), "--url", "127.0.0.1:1"])
    assert result.exit_code == 2
    assert result.stderr.startswith("plates: ") and result.stderr.count("\n") == 1
    assert "secret" not in result.stderr


def test_an_interrupted_swap_names_the_command_to_check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("plate_nets.triton.swap.controller.Controller.states", lambda *_arguments: {})
    monkeypatch.setattr("plate_nets.triton.swap.swap.roll_back", Mock(side_effect=KeyboardInterrupt))
    result = CliRunner().invoke(app, ["swap", "stn", "--back", "--model-repository", str(tmp_path)])
    assert result.exit_code == plate_nets.cli.INTERRUPTED
    assert result.stderr == "plates: interrupted; `plates swap stn --list` says which version answers\n"


WAITS = """
import os, sys, time, plate_nets.cli as cli
def wait() -> None:
    '''Wait.'''
    try:
        print(os.getpid(), flush=True); time.sleep(600)
    finally:
        print('cleaned')
cli.app.command()(cli.guarded(wait)); sys.argv = ['plates', 'wait']; cli.main()
"""


@pytest.mark.parametrize(
    ("number", "exit_code"), [(signal.SIGINT, plate_nets.cli.INTERRUPTED), (signal.SIGTERM, plate_nets.cli.TERMINATED)]
)
def test_a_command_that_waits_ends_on_a_signal(number: int, exit_code: int) -> None:
    # Like a background command of a shell script: SIGINT is ignored
    command = ["/bin/sh", "-c", '"$@" & wait $!', "sh", sys.executable, "-c", WAITS]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as shell:
        assert shell.stdout is not None
        pid = int(shell.stdout.readline())
        time.sleep(0.05)
        os.kill(pid, number)
        assert shell.stdout.read() == "cleaned\n"
        assert shell.wait(20) == exit_code
