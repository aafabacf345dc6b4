"""Scheme files that demand more than any country has are refused by key, in little time and memory."""

from pathlib import Path

import pytest

from plate_nets.common.errors import SchemeError
from plate_nets.countries import load_scheme
from tests.limited import in_little_memory

LETTERS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def scheme(pattern: str = "A", signs: str = f'A = "{LETTERS}"', more: str = "", alphabet: str = LETTERS) -> str:
    return (
        f'name = "x"\nlines = 1\nalphabet = "{alphabet}"\n{more}\n[signs]\n{signs}\n'
        f'[[formats]]\nname = "a"\npattern = "{pattern}"\n'
    )


ALTERNATIVES = "|".join(["A", "AA", "AAA", "AAAA"] * 25)
OVERLAPPING = "\n".join(f'"{chr(0x100 + n)}" = "{LETTERS[:n]}{LETTERS[n + 1 :]}"' for n in range(36))
STATES = ["".join(chr(0x100 + (n * k + k * k) % 36) for k in range(1, 18)) for n in range(36)]
HOSTILE = {
    "product": (scheme(" ".join([ALTERNATIVES] * 3)), "formats: expected at most 1000 patterns"),
    "states": (scheme("|".join(STATES * 25), OVERLAPPING), "formats: expected fewer patterns"),
    "codes": (
        scheme("AAAAAAAAAA") + '[synthesis.codes.AAAAAAAAAA]\nissued = ["A"]\n',
        "AAAAAAAAAA: expected a pattern of at most 100000 texts",
    ),
    "alphabet": (
        scheme("A", 'A = "B"', alphabet="".join(map(chr, range(0x4E00, 0x4E00 + 20_000)))),
        "alphabet: expected at most 256 symbols",
    ),
    "nesting": (scheme(more="country = " + "[" * 5000), "at most 20 levels"),
    "itself": (scheme(more='reader = "itself.toml"'), "reader: expected the name of a scheme of the package"),
}


def refuse(folder: Path, name: str) -> None:
    text, says = HOSTILE[name]
    path = folder / f"{name}.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(SchemeError) as caught:
        load_scheme(str(path))
    assert says in str(caught.value)


@pytest.mark.parametrize("name", HOSTILE)
def test_a_scheme_over_the_limits_is_refused(tmp_path: Path, name: str) -> None:
    refuse(tmp_path, name)


def test_refusing_a_hostile_scheme_takes_little_memory(tmp_path: Path) -> None:
    in_little_memory(refuse, tmp_path, "product")
