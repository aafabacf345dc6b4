"""A row of a batch: what Parquet stores of a plate."""

from dataclasses import replace

import pyarrow as pa

from plate_nets.batch.rows import PLATE, plate_row
from plate_nets.types import Box, Plate, Reading

READ = Plate(Box(1, 2, 3, 4), 0.5, Reading("A123BC77", "A123BC77", 0.75, (0.75,) * 8, "private", "russia"))


def test_country_and_ground_are_null_if_not_requested() -> None:
    told = {"country": "ru", "country_confidence": 0.75, "ground": "white", "ground_confidence": 0.5}
    asked = replace(READ, reading=replace(READ.reading, **told))  # type: ignore[arg-type]
    plain, looked = pa.array([plate_row(READ), plate_row(asked)], PLATE).to_pylist()
    assert plain.items() >= dict.fromkeys(told).items() and looked.items() >= told.items()
    assert {name: plain[name] for name in plain if name not in told} == {
        n: v for n, v in looked.items() if n not in told
    }


def test_a_text_of_another_script_has_its_latin_form() -> None:
    chinese = replace(READ, reading=replace(READ.reading, text="京A88731"))
    rows = pa.array([plate_row(READ), plate_row(chinese)], PLATE).to_pylist()
    assert [row["latin"] for row in rows] == [None, "BJ-A88731"]
