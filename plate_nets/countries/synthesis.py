"""Which texts of a country are drawn for training, and how often."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from plate_nets.countries.drawing import PlateDrawing


@dataclass(frozen=True)
class Codes:
    """The texts that synthesis prefers for a part: codes with equal neighbours, and codes in use; empty: any."""

    repeated: tuple[str, ...]
    issued: tuple[str, ...]


@dataclass(frozen=True)
class SynthesisTexts:
    """The distribution of rendered texts, for training.

    ``shares``: the share of each format, by name, 0..1.
    ``ways``: by format and pattern, the share of a part's pattern, 0..1; the part's first pattern has the rest.
    ``codes``: by pattern of a part.
    ``drawings``: the designs of plates, by format; plates without any get random designs.
    ``twins``: a symbol -> the sign of another script that stands on the plate too and means the same.
    """

    shares: Mapping[str, float]
    ways: Mapping[str, Mapping[str, float]]
    codes: Mapping[str, Codes]
    drawings: Mapping[str, tuple[PlateDrawing, ...]] = field(default_factory=dict)
    twins: Mapping[str, str] = field(default_factory=dict)
