"""Another plate reader that a user might choose, and the country that it tells of a plate."""

import numpy as np
from numpy.typing import NDArray

from plate_nets.evaluation.onnx_pair import OnnxReader

# fmt: off
REGIONS = (
    "al", "ad", "ar", "am", "au", "at", "az", "bh", "by", "be", "ba", "br", "bg", "kh", "ca", "hr", "cy", "cz", "dk",
    "ee", "fi", "fr", "ge", "de", "gi", "gr", "gg", "hu", "is", "id", "ie", "il", "it", "lv", "li", "lt", "lu", "my",
    "mt", "mx", "md", "mc", "me", "nl", "nz", "mk", "no", "pl", "pt", "qa", "ro", "sm", "rs", "sg", "sk", "si", "es",
    "se", "ch", "th", "tr", "us", "ua", "gb", "vn",
)
# fmt: on
"""Of cct_xs_v2_global, in the order of its classes, as ISO 3166 has them; the class after the last: unknown."""


class OtherReader(OnnxReader):
    """A reader of fast-plate-ocr that also gives regions."""

    def read(self, crops: NDArray[np.uint8]) -> list[str]:
        """Crops -> texts; it cannot report that it is uncertain."""
        return [text for text, _ in self.rated(crops)]

    def regions(self, crops: NDArray[np.uint8]) -> list[tuple[str, float]]:
        """Crops -> the country of each, empty if unknown, and its probability, 0..1."""
        (regions, *_) = self._session.run(["region"], {self._input: crops})
        best = regions.argmax(axis=1).tolist()
        return [((*REGIONS, "")[i], float(row[i])) for i, row in zip(best, regions, strict=True)]
