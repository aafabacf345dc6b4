"""The table of errors: the docs match the code, and each code becomes the exception that it was made from."""

import pytest

from plate_nets.common import errors
from plate_nets.common.error_codes import OURS, PROXIES, TRITONS, WEB, ErrorAnswer, answer_for, find_answer
from plate_nets.common.errors import InputError, PlateError, SharedMemoryFull
from tests.paths import ROOT

DOCS = ROOT / "docs" / "reference" / "errors.md"
TABLES = {"OURS": OURS, "TRITONS": TRITONS, "PROXIES": PROXIES, "WEB": WEB}


def table(name: str) -> str:
    """A table of the code, as it should be in the docs."""
    begins = "code" if name in ("OURS", "WEB") else "message contains"
    rows = [f"| {begins} | HTTP | gRPC | `PlateClient` raises | retry | meaning |", "|---|---|---|---|---|---|"]
    for each in TABLES[name]:
        says = f"`{each.phrase.strip()}`" if each.phrase else "anything else"
        retry = "yes" if each.retry else "no"
        cells = (says, each.http, each.grpc, f"`{each.error.__name__}`", retry, each.meaning)
        rows.append(f"| {' | '.join(cells)} |".replace("|  |", "| |").replace("|  |", "| |"))
    return "\n".join(rows)


@pytest.mark.parametrize("name", TABLES)
def test_the_error_table_in_the_docs_matches_the_code(name: str) -> None:
    assert table(name) in DOCS.read_text(encoding="utf-8")


@pytest.mark.parametrize("row", OURS, ids=lambda row: row.phrase)
def test_an_error_code_becomes_the_exception_that_it_came_from(row: ErrorAnswer) -> None:
    assert answer_for(row.error("why")) is row
    for message in (f"{row.phrase}: why", f"in BLS: {row.phrase}: why"):
        for status in (row.http, row.grpc, "500", ""):
            assert find_answer(message, status) == (row, "why")


@pytest.mark.parametrize("row", [*TRITONS, *PROXIES], ids=lambda row: row.phrase or f"{row.http} {row.grpc}")
def test_each_row_of_the_error_table_is_reachable(row: ErrorAnswer) -> None:
    for status in filter(None, (row.http, row.grpc)):
        assert find_answer(f"Triton: {row.phrase}.", status)[0] is row
    if row.phrase:
        assert find_answer(f"Triton: {row.phrase}.")[0] is row


def test_an_unknown_answer_is_a_server_error() -> None:
    found = (find_answer("strange", "418")[0], find_answer("", "")[0], answer_for(ZeroDivisionError()))
    assert {each.phrase for each in found} == {"PLATES_INTERNAL"}


def test_only_input_errors_blame_the_caller() -> None:
    assert all((row.http == "400") == issubclass(row.error, InputError) for row in OURS)


def test_the_tree_in_the_docstring_matches_the_classes() -> None:
    names = {name for name, each in vars(errors).items() if isinstance(each, type) and issubclass(each, PlateError)}
    tree = (errors.__doc__ or "").split("\n\n")[1].splitlines()
    drawn = {line.partition("+-- ")[2].split()[0]: line.index("+--") // 4 for line in tree[1:]}
    assert {"PlateError", *drawn} == names
    for name, depth in drawn.items():
        assert len(getattr(errors, name).__mro__) - len(PlateError.__mro__) == depth, name


def test_no_error_contains_the_name_of_shared_memory() -> None:
    said = "Failed to increase the shared memory pool size for key 'plates_71_0a1b2c3d_yolo_0_1' to 8 bytes"
    kind, fault = find_answer(f"PLATES_OVERLOADED: yolo: {said}")
    assert (kind.phrase, "plates_71" in fault) == ("PLATES_OVERLOADED", False)
    assert find_answer(said, "500")[0].error is SharedMemoryFull
    assert answer_for(RuntimeError(said)).phrase == "PLATES_SHARED_MEMORY"
    assert "plates_" not in find_answer(said, "500")[1]
