"""A recipe as a value, read from a TOML file: each key, its default and its meaning have their home here."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Generic, Literal, Self, TypeVar, get_args

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from plate_nets.common.errors import SchemeError
from plate_nets.contract import LPRNET
from plate_nets.countries import PlateScheme, load_scheme, load_schemes
from plate_nets.countries.scheme import UNKNOWN
from training.checkpoint import DECAY

PACKAGE, NONE = "package", "none"
"""What to start from, if not from a folder."""
DRAWN = "drawn"
"""The name of the drawn plates among the data sets."""

Share = Annotated[float, Field(ge=0, le=1)]
Factor = Annotated[float, Field(ge=0)]


def _with(load: Callable[[str], object]) -> AfterValidator:
    """Refuse names of schemes that do not load."""

    def named(names: str) -> str:
        try:
            load(names)
        except SchemeError as error:
            raise ValueError(str(error).removeprefix("scheme: ")) from error
        return names

    return AfterValidator(named)


Scheme = Annotated[str, _with(load_scheme)]
Schemes = Annotated[str, _with(load_schemes)]
"""Names as for `load_scheme` and `load_schemes`."""


class Part(BaseModel):
    """A part of a recipe; keys that it does not have are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, use_attribute_docstrings=True)


class DataSet(Part):
    """How a labelled folder is used. Its key is its path in the folder of `--data`."""

    use: Literal["train", "foreign", "check"] = "train"
    """"train": its plates, except for the part held out; "foreign": plates that this reader must leave unread; "check":
    plates that are only measured at the end."""
    boxes: Literal["labelled", "tight", "loose"] = "labelled"
    """"labelled": boxes and corners are right; otherwise our detector finds the corners, and "tight" boxes keep only
    those that fill them."""
    weight: Factor = 1.0
    """How often its plates come, compared with those of the others."""
    held_out: Share = 0.1
    """Share of the texts that choose the temperature and are measured. If notes say "valid", it is those."""
    country: str = ""
    """ISO 3166, of plates whose own is not labelled."""
    teacher: Path | None = None
    """ONNX file of fast-plate-ocr: a text that it and our reader read becomes the label of a plate without one."""


class Mixture(Part):
    """The share of each kind of sample; the rest is drawn."""

    real: Share = 0.5
    """Real plates."""
    empty: Share = 0.03
    """Regions of photos without a plate."""
    two_lines: Share = 0.0
    """Drawn plates of two lines, laid side by side."""
    foreign: Share = 0.0
    """Plates of other countries, to be read as empty."""
    unknown: Share = 0.0
    """Drawn plates of random designs with signs that the reader does not know (`synthesis.scripts`)."""
    hard: Annotated[float, Field(ge=1)] = 1.0
    """How often a turned, dim or blurred real plate comes for each easy one."""
    shuffled: Share = 0.5
    """Of the real plates, those whose symbols change places, if their layout allows it."""
    covered: Share = 0.0
    """Of the real plates, those partly hidden."""
    inverted: Share = 0.0
    """Of all plates, those shown as negatives."""
    straightened: Share = 0.0
    """Of the plates, those cropped along their corners; the others are cropped along a box."""
    moving: Share = 0.0
    """Of those cropped along their corners, those smeared by their movement."""
    far: Share = 0.0
    """Of the rest of them, those that a cheap camera sees from a distance."""
    largest_source: Share = 1.0
    """Maximum share of one folder among the real plates."""


class CornerMixture(Part):
    """The share of each kind of sample for CornerNet; the rest are real plates."""

    drawn: Share = 0.06
    """Plates drawn alone."""
    replaced: Share = 0.34
    """Plates drawn over real ones."""
    own: Share = 0.45
    """Of all plates, those seen as in their photo, up to a similarity."""
    turned: Share = 0.4
    """Of the others, those turned, tilted and narrowed far more than usual."""
    cut: Share = 0.06
    """Plates cut by the frame's border, and as many next to it."""
    close: Share = 0.0
    """Plates with the frame's border near them on all sides, as in a crop."""
    abroad: Share = 0.15
    """Of the drawn ones, those of other countries than Russia."""


class PlateHead(Part):
    """Teaches CornerNet's head to reject what the detector wrongly takes for plates, after the corners are learnt."""

    rendered: Annotated[int, Field(ge=1)] = 400
    """Rendered pictures, besides the photos that are learnt."""
    epochs: Annotated[int, Field(ge=1)] = 12
    """Passes over all windows."""


class Phase(Part):
    """A part of the training with its own mixture, such as the last one, with the hardest plates."""

    share: Annotated[float, Field(gt=0)]
    """Its share of the training, compared with the other phases."""
    mixture: Mixture
    """What differs from the recipe's mixture."""


class Start(Part):
    """Where the training starts."""

    weights: str = PACKAGE
    """"package": this reader's shipped weights; "none": nothing, or the features of another reader if the STN is kept;
    otherwise a folder with weights."""
    features: str = LPRNET.name
    """This other reader."""
    stn: Literal["kept", "learns"] = "kept"
    """"kept": the package's STN, which all readers share, stays as it is."""


class Schedule(Part):
    """How long and how fast to learn."""

    steps: Annotated[int, Field(gt=0)]
    """The training ends after so many steps,"""
    minutes: Annotated[float, Field(gt=0)] | None = None
    """or earlier, after this training time."""
    rate: Annotated[float, Field(gt=0)] = 1.5e-3
    """Highest learning rate: less when starting from weights."""
    batch: Annotated[int, Field(gt=0)] = 64
    """Plates per step."""
    every: Annotated[int, Field(gt=0)] = 500
    """Steps between two points of the curves of the plates held out."""
    seed: int = 0
    """Seed of all that is random."""


class Averaging(Part):
    """The result is a moving average of the weights that learn (Polyak & Juditsky, 1992), or in the end a mean of that
    and of the weights at the start (Wortsman et al., "Robust fine-tuning of zero-shot models", 2022)."""

    decay: Annotated[float, Field(ge=0, lt=1)] = DECAY
    """Of the moving average, per step."""
    start: Share = 0.0
    """Weight of the start in the mean, if the training starts from weights."""


class Calibration(Part):
    """Chooses the temperature on the plates held out. Without this part, the confidences stay as they are."""

    temperatures: tuple[Annotated[float, Field(gt=0)], ...] = (0.8, 0.9, 1.0, 1.1, 1.2, 1.3, 1.4, 1.6, 1.8, 2.0)
    """Those to choose from."""
    drawn: Annotated[int, Field(ge=0)] = 0
    """Plates to draw for it, of the countries that the recipe draws in turn, besides the real ones held out."""


class Quantization(Part):
    """Measures what the reader needs to run in int8. Without this part, it runs in float only."""

    pictures: tuple[str, ...]
    """Data sets whose photos are read for it; "drawn": the plates that are drawn for the calibration."""
    count: Annotated[int, Field(gt=0)] = 300
    """How many of these photos, chosen at random."""
    left_out: tuple[str, ...] = ()
    """Parts of the network whose outputs are not rounded."""


class Minimum(Part):
    """What a reader must reach on a data set at the end."""

    best: Share = 0.0
    """Share of the plates whose best reading is right."""
    text: Share = 0.0
    """Share of the plates with a sure text that is right."""
    right_of_sure: Share = 0.0
    """Share of the sure texts that are right."""


class CountryMinimum(Part):
    """What CountryNet must reach on a data set at the end."""

    design: Share = 0.0
    """Share of the plates whose design is found."""
    ground: Share = 0.0
    """Share of the plates with a known colour whose colour is found."""


class CornerMinimum(Part):
    """What CornerNet must reach on a data set at the end."""

    near: Share = 0.0
    """Share of the plates whose four corners are nearer than 0.15 plate heights."""


class DetectorMinimum(Part):
    """What the detector must reach on a data set at the end."""

    found: Share = 0.0
    """Share of the plates that are found."""


M = TypeVar("M", bound=Part)


class Recipe(Part, Generic[M]):
    """What makes the weights of any network."""

    idle: ClassVar[frozenset[str]] = frozenset(("weight", "features", "stn"))
    """Keys of data sets and of the start that do nothing for this network."""
    data: dict[str, DataSet] = {}
    start: Start = Start()
    schedule: Schedule
    averaging: Averaging = Averaging()
    checks: dict[str, M] = {}
    """What each data set must reach at the end."""

    @model_validator(mode="after")
    def _checks_its_data(self) -> Self:
        if DRAWN in self.data:
            raise ValueError(f"data.{DRAWN}: this is the name of the drawn plates; give the folder another name")
        quantization = getattr(self, "quantization", None)
        for name in (*self.checks, *(quantization.pictures if quantization else ())):
            if name not in self.data and name != DRAWN:
                raise ValueError(f"expected the name of a data set, {', '.join(self.data)}, got {name}")
        return self

    @model_validator(mode="after")
    def _has_no_idle_keys(self) -> Self:
        parts: dict[str, Part] = {"start": self.start} | {f"data.{name}": each for name, each in self.data.items()}
        for place, part in parts.items():
            for key in sorted(part.model_fields_set & self.idle):
                raise ValueError(f"{place}.{key}: this network has no use for it")
        for name, data in self.data.items():
            if data.use == "foreign" and self.idle:
                raise ValueError(f"data.{name}.use: expected train or check, got foreign, which only readers know")
        return self


class ReaderRecipe(Recipe[Minimum]):
    """What makes the weights of a reader."""

    idle = frozenset()
    network: Literal["reader"] = "reader"
    """The network."""
    scheme: Scheme
    """The alphabet to learn: a built-in scheme, or a TOML file."""
    read: Schemes = ""
    """Countries to read for the figures and for int8, comma-separated. Default: the scheme."""
    drawings: dict[Schemes, Factor] = {}
    """Countries to draw, and how often each comes. Default: the scheme."""
    mixture: Mixture = Mixture()
    phases: tuple[Phase, ...] = ()
    """One after the other in a single run. Default: one, of the recipe's mixture."""
    calibration: Calibration | None = None
    quantization: Quantization | None = None

    @model_validator(mode="before")
    @classmethod
    def _complete_phases(cls, values: Any) -> Any:
        """A phase names only what differs from the recipe's mixture."""
        mixture, phases = values.get("mixture", {}), values.get("phases", ())
        for phase in phases if isinstance(phases, list) and isinstance(mixture, dict) else ():
            if isinstance(phase, dict) and isinstance(own := phase.setdefault("mixture", {}), dict):
                phase["mixture"] = mixture | own
        return values

    @model_validator(mode="after")
    def _draws_what_it_reads(self) -> Self:
        known = load_scheme(self.scheme).alphabet
        for names in self.drawings if UNKNOWN not in known else ():
            strange = {symbol for each in load_schemes(names) for symbol in "".join(each.signs.values())} - set(known)
            if strange:
                raise ValueError(f"drawings.{names}: expected symbols of {known}, got {''.join(sorted(strange))}")
        return self


class CountryRecipe(Recipe[CountryMinimum]):
    """What makes the weights of CountryNet."""

    network: Literal["country"]
    """The network."""
    scheme: Schemes = "world"
    """Countries to learn, comma-separated; their plates are drawn too."""


class CornersRecipe(Recipe[CornerMinimum]):
    """What makes the weights of CornerNet."""

    network: Literal["corners"]
    """The network."""
    mixture: CornerMixture = CornerMixture()
    plate_head: PlateHead | None = None


class DetectorRecipe(Recipe[DetectorMinimum]):
    """What makes the weights of the detector."""

    idle = Recipe.idle | {"boxes", "held_out", "country", "teacher"}
    network: Literal["detector"]
    """The network."""
    vehicles: Path
    """Weights of the YOLOv5n of COCO, in the folder of `--data`, which name the vehicles in the photos."""
    size: Literal["whole", "fast"] = "whole"
    """"whole": `yolo`; "fast": `yolo_fast`, which starts from the strongest channels of `yolo`, and learns from its
    answers too."""
    streets: Annotated[int, Field(ge=1)] = 320
    """Full-HD streets with traffic to draw."""
    others: Annotated[int, Field(ge=1)] = 579
    """Pictures without a car to draw."""
    held_out: Share = 0.12
    """Share of the plates and scenes that are only measured."""
    quantization: Quantization | None = None


AnyRecipe = ReaderRecipe | CountryRecipe | CornersRecipe | DetectorRecipe
KINDS: Mapping[str, type[AnyRecipe]] = {
    get_args(kind.model_fields["network"].annotation)[0]: kind for kind in get_args(AnyRecipe)
}


def drawings(recipe: ReaderRecipe) -> dict[PlateScheme, float]:
    """The countries that a recipe draws, and how often each comes."""
    drawn = {each: factor for names, factor in recipe.drawings.items() for each in load_schemes(names)}
    return drawn or {load_scheme(recipe.scheme): 1.0}
