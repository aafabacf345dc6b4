"""YAML, TOML and CSV that would block a parser, overflow its stack or be ambiguous are refused at once, by name."""

import os
from pathlib import Path

import pytest

from plate_nets.common.errors import InputError
from plate_nets.common.intake.files import MAX_DEPTH, MAX_TEXT, MAX_VALUES
from plate_nets.common.intake.table import is_line, read_table
from plate_nets.common.intake.toml_file import read_toml
from plate_nets.common.intake.yaml_file import read_yaml
from tests.limited import in_little_memory

LAUGHS = "a0: &a0 [x, x]\n" + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 30))


def written(folder: Path, text: str, name: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


HOSTILE: dict[str, list[tuple[str, str]]] = {
    "yaml": [
        (LAUGHS, r"line 2: expected YAML: no aliases"),
        ("&a [*a]", r"line 1: expected YAML: no aliases"),
        ("a: &a {b: *a}", r"line 1: expected YAML: no aliases"),
        ("[" * 3000, f"line 1: expected YAML: at most {MAX_DEPTH} levels"),
        ("".join(" " * n + "a:\n" for n in range(500)), f"at most {MAX_DEPTH} levels"),
        ("[" + "a, " * (MAX_VALUES + 1) + "]", f"at most {MAX_VALUES} values"),
        ("a: 1\nb: 2\na: 3\n", r"line 3: expected YAML: duplicate key a"),
        ("cameras: [{id: a, id: b}]", r"duplicate key id"),
        ("a: 2026-02-31", "expected YAML: day is out of range"),
        ("a: " + "9" * 5000, "expected YAML: Exceeds the limit"),
        ("!!python/object/apply:os.system [ls]", "could not determine a constructor"),
        ("a\0b", "special characters"),
        ("#" * (MAX_TEXT + 1), f"at most {MAX_TEXT} bytes"),
    ],
    "toml": [
        ("a = " + "[" * 5000, "levels"),
        (" . ".join(["a"] * 100_000) + " = 1", "levels"),
        ("a = [" + "1," * (MAX_VALUES + 1) + "]", "values"),
        (".".join(['"\\""', "'b'"] * 50_000) + " = 1", "levels"),
        ("a = 1\na = 2", "expected TOML in UTF-8"),
        ("#" * (MAX_TEXT + 1), "bytes"),
    ],
}


@pytest.mark.parametrize(("kind", "text", "says"), [(kind, *row) for kind, rows in HOSTILE.items() for row in rows])
def test_a_hostile_document_is_refused(tmp_path: Path, kind: str, text: str, says: str) -> None:
    path = written(tmp_path, text, f"document.{kind}")
    with pytest.raises(InputError, match=says) as caught:
        (read_yaml if kind == "yaml" else read_toml)(path)
    assert str(caught.value).startswith(str(path))


def test_plain_yaml_is_read_as_before(tmp_path: Path) -> None:
    clock = read_yaml(written(tmp_path, "aspect: 16:9\ntime: 1:30.5\n", "b.yaml"))
    assert clock == {"aspect": "16:9", "time": "1:30.5"}
    assert read_yaml(written(tmp_path, "\ufeffa: [1, {b: null}]\nc: 2026-01-02\n", "a.yaml"))["a"] == [1, {"b": None}]


def test_a_row_is_text_in_every_column(tmp_path: Path) -> None:
    table = written(tmp_path, "\ufeffa,b\n1\n1,2,3\n\n", "a.csv")
    assert list(read_table(table, ("a",))) == [(2, {"a": "1", "b": ""}), (3, {"a": "1", "b": "2"})]


@pytest.mark.parametrize(
    ("encoded", "says"),
    [
        (b"b\n1\n", "missing column a"),
        (b"", "missing column a"),
        (b"a\n\xff\n", "expected CSV in UTF-8 after line 1"),
        (b'a\n"' + b"x" * 200_000, "expected CSV in UTF-8 after line 1: field larger"),
        (b"a" + b",b" * 1_000_000 + b"\n" + b"1\n" * 1_000_000, "at most 100 columns, got 1000001"),
    ],
)
def test_a_file_that_is_not_a_table_is_refused(encoded: bytes, says: str) -> None:
    with pytest.raises(InputError, match=says):
        list(read_table(encoded, ("a",)))


@pytest.mark.parametrize("text", ["a\nb", "a\rb", "a\0b", "a\x1b[2J", "a\u2028b", "a\x85b", "\x9b"])
def test_text_with_line_ends_or_control_characters_is_not_a_line(text: str) -> None:
    assert not is_line(text)


def test_a_line_may_have_letters_of_any_language() -> None:
    assert is_line("") and is_line("Ann\xa0Смирнова, 王 😀")


def test_a_pipe_is_refused_as_a_document(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.yaml")
    with pytest.raises(InputError, match=r"pipe\.yaml: is not a file"):
        read_yaml(tmp_path / "pipe.yaml")


def refuse_columns(encoded: bytes) -> None:
    with pytest.raises(InputError, match="missing column a"):
        next(read_table(encoded, ("a",)))


def test_a_table_takes_little_more_memory_than_its_file() -> None:
    in_little_memory(refuse_columns, b"b\n" + b"1\n" * (40 << 20), more=300 << 20)
