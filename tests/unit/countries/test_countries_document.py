"""The countries of docs/how-to/countries.md, and the one that docs/tutorials/first-country.md adds."""

import re
from pathlib import Path

import numpy as np
import pytest

from plate_nets.contract import reader_of
from plate_nets.countries import load_scheme
from tests.paths import ROOT
from tests.schemes import SHIPPED
from training.recipe.load import load_recipe
from training.recipe.recipe import ReaderRecipe
from training.synthesis import synthesize

DOCUMENT = (ROOT / "docs" / "how-to" / "countries.md").read_text(encoding="utf-8")
SCRIPT = (ROOT / "docs" / "tutorials" / "first-script.md").read_text(encoding="utf-8")
TUTORIAL = (ROOT / "docs" / "tutorials" / "first-country.md").read_text(encoding="utf-8")


def test_the_country_of_the_tutorial_is_read_by_the_latin_reader(tmp_path: Path) -> None:
    (written,) = re.findall(r"```toml\n(.*?)```", TUTORIAL, re.S)
    path = tmp_path / "iceland.toml"
    path.write_text(written, encoding="utf-8")
    scheme = load_scheme(str(path))
    assert reader_of(scheme).name == "lprnet_latin" and scheme.format_names("ABC12") == "since 2007"
    assert scheme.is_plate(synthesize(scheme, np.random.default_rng(0)).text)


def test_every_shipped_scheme_is_in_the_document() -> None:
    assert [name for name in SHIPPED if f"`{name}`" not in DOCUMENT] == []


def test_the_script_of_the_tutorial_is_drawn_and_its_recipe_is_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scheme, recipe = re.findall(r"```toml\n(.*?)```", SCRIPT, re.S)
    (tmp_path / "thailand.toml").write_text(scheme, encoding="utf-8")
    (tmp_path / "thailand_reader.toml").write_text(recipe, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    thailand = load_scheme("thailand.toml")
    assert thailand.is_plate(synthesize(thailand, np.random.default_rng(0)).text)
    loaded = load_recipe("thailand_reader.toml")
    assert isinstance(loaded, ReaderRecipe) and load_scheme(loaded.scheme) == thailand
    assert f"[{thailand.classes}, 18]" in SCRIPT
