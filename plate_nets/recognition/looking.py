"""When a plate of a picture is looked at, and how: the looks as data, cheapest first."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Generic, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from plate_nets.countries import PlateScheme
from plate_nets.recognition.appearance import Appearance
from plate_nets.recognition.decoding import at_height
from plate_nets.recognition.schemes import SchemeDecoder
from plate_nets.recognition.stages import Stages
from plate_nets.types import Reading

T = TypeVar("T")


@dataclass(frozen=True)
class Plan:
    decoder: SchemeDecoder
    schemes: Sequence[PlateScheme]
    appearance: bool
    stages: Stages = nullcontext
    closer: bool = True
    """Whether a plate whose text is not certain gets a closer look."""

    @cached_property
    def of_any_shape(self) -> Sequence[PlateScheme]:
        """The schemes whose plates have one line even if their shape has two."""
        return [scheme for scheme in self.schemes if scheme.any_shape]

    @cached_property
    def by_shape(self) -> bool:
        """Whether the shape of a plate may tell how many lines it has."""
        return not self.of_any_shape or any(scheme.lines != 1 for scheme in self.schemes)


@dataclass
class Seen(Generic[T]):
    """What was read of a plate in one way to cut it out.

    ``crops``, ``place``: its crop. ``height``: of a line, px. ``logits``: (C, 18) of the first look, by reader.
    ``unsure``: whether a closer look at this crop may help.
    """

    crops: T
    place: int
    lines: int
    height: float
    plan: Plan
    appearance: Appearance | None
    logits: Mapping[str, NDArray[np.float32]]
    reading: Reading
    unsure: bool

    @property
    def sureness(self) -> tuple[bool, float]:
        """The order of what was read of one plate: that with a text comes first."""
        return bool(self.reading.text), self.reading.confidence

    def take(self, reading: Reading) -> None:
        """Keep a reading, less certain if the plate is too low, with the country and the colour."""
        self.reading = at_height(reading, self.height, self.plan.decoder.settings)
        if self.appearance is not None:
            schemes = [scheme.by_lines[self.lines] for scheme in self.plan.schemes]
            self.reading = self.appearance.describe(self.reading, schemes)


@dataclass
class SightedPlate(Generic[T]):
    """A plate of a picture: its row, its corners (4, 2), px, how many lines its shape has, its height, px, and what was
    seen of it."""

    row: int
    quad: NDArray[np.float32]
    lines: int
    height: float
    seen: list[Seen[T]] = field(default_factory=list)
    cuts: set[str] = field(default_factory=set)

    @property
    def best(self) -> Seen[T]:
        """The surest of what was seen."""
        return max(self.seen, key=lambda seen: seen.sureness)

    @property
    def doubted(self) -> Seen[T] | None:
        """What a closer look may make certain: the surest that is unsure, unless the best is sure."""
        if self.best.reading.text and not self.best.unsure:
            return None
        return max((seen for seen in self.seen if seen.unsure), key=lambda seen: seen.sureness, default=None)


@dataclass(frozen=True)
class Look:
    """One way to look at plates.

    ``cut``: the crops to look at, a field of `PlateCrops`, once for each plate. Without it: variants of the crop that
    is `SightedPlate.doubted`. ``needed``: whether a plate needs it. ``one_line``: whether the plate is read as one
    line, whatever its shape. ``again``: whether the plate was read before, which counts as the stage ``look_again``.
    """

    cut: Literal["crops", "as_one", "upright", ""]
    needed: Callable[[SightedPlate[Any], Plan], bool]
    one_line: bool = True
    again: bool = False

    def is_due(self, plate: SightedPlate[Any], plan: Plan) -> bool:
        return self.cut not in plate.cuts and self.needed(plate, plan)


LOOKS = (
    # Straightened along its corners: 1 pass of the reader
    Look("crops", lambda plate, plan: plate.lines == 1 or plan.by_shape, one_line=False),
    # A country may have such plates with one line: 1 pass
    Look("as_one", lambda plate, plan: plate.lines == 2 and bool(plan.of_any_shape)),
    # Along the box of the detector, since corners may leave out the end of a plate: 1 pass
    Look(
        "upright",
        lambda plate, plan: plan.decoder.is_unread(plate.best.reading, plate.height),
        again=True,
    ),
    # Tighter, shifted, with more contrast, see `second_look`: 4 passes
    Look("", lambda plate, plan: plate.doubted is not None, again=True),
)
"""Cheapest first: a look is taken at the plates that need it only when none of them needs a cheaper one."""
