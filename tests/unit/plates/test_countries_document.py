"""The country that docs/countries.md adds."""

import re
from pathlib import Path

import numpy as np

from plate_nets.contract import reader_of
from plate_nets.plates import load_scheme
from tests.paths import ROOT
from training.synthesis import synthesize


def test_the_country_of_the_document_is_read_by_the_latin_reader(tmp_path: Path) -> None:
    (written,) = re.findall(r"```toml\n(.*?)```", (ROOT / "docs" / "countries.md").read_text(encoding="utf-8"), re.S)
    path = tmp_path / "kyrgyzstan.toml"
    path.write_text(written, encoding="utf-8")
    scheme = load_scheme(str(path))
    assert reader_of(scheme).name == "lprnet_latin" and scheme.format_names("01123ABC") == "private"
    assert scheme.is_plate(synthesize(scheme, np.random.default_rng(0)).text)


def test_every_shipped_scheme_is_in_the_document() -> None:
    text = (ROOT / "docs" / "countries.md").read_text(encoding="utf-8")
    for path in (ROOT / "plate_nets" / "plates").glob("*.toml"):
        assert f"`{path.stem}`" in text, path.stem
