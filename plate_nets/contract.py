"""The inputs and outputs of every Triton model: names, dtypes, dims. The only place with these strings.

The number of LPRNet's classes depends on the scheme: `models(scheme)` fills it in, and the constants here have -1.

`config.pbtxt` files are checked against this (`python -m converters --check`); client, BLS model and tests take their
names from it. Dims leave out the batch dimension if `max_batch_size` is above 0, as in Triton's configs.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from plate_nets.common.errors import SchemeError
from plate_nets.countries import PlateScheme, load_scheme
from plate_nets.countries.designs import DESIGNS, GROUNDS
from plate_nets.types import CROP_HEIGHT, CROP_WIDTH, STEPS

CROP_DIMS = (3, CROP_HEIGHT, CROP_WIDTH)


@dataclass(frozen=True)
class TensorSpec:
    """One tensor: its name, Triton's dtype ("UINT8", "FP32", "STRING") and dims (-1: any)."""

    name: str
    dtype: str
    dims: tuple[int, ...]
    optional: bool = False


@dataclass(frozen=True)
class ModelSpec:
    """One model of the repository: its backend, batching and tensors, in the order of its config."""

    name: str
    backend: str
    max_batch_size: int
    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]


FRAME = TensorSpec("input__0", "UINT8", (-1, -1, 3))
"""BGR frame, as from ``cv2.imread``."""

IMAGE = TensorSpec("image", "UINT8", (-1,))
"""Encoded JPEG, PNG, WebP, BMP, HEIC or AVIF."""

PICTURE = (replace(FRAME, optional=True), replace(IMAGE, optional=True))
"""A picture, raw or encoded: exactly one of the two."""

CORNERS = TensorSpec("corners", "FP32", (-1, 8))
"""Corner points of each plate, clockwise from its own top left, in pixels of the frame; see `types.Corners`."""

AS_ONE = TensorSpec("as_one", "FP32", (-1, *CROP_DIMS))
"""Crops of the plates that have two lines by their corners, in order, but cut as if they had one: the scheme decides,
see `recognition.quads`."""

UPRIGHT = TensorSpec("upright", "FP32", (-1, *CROP_DIMS))
"""Crops of all plates along the detector's boxes, for those that cannot be read along their corners."""

VEHICLE_ROWS = TensorSpec("vehicles", "FP32", (-1, 6))
"""Vehicles, highest score first: xyxy in pixels of the frame, score, index into `types.VEHICLES`. Only searched for on
request; empty if the detector's weights have no head for them."""

YOLO = ModelSpec(
    name="yolo",
    backend="python",
    max_batch_size=0,
    inputs=PICTURE,
    outputs=(
        TensorSpec("output__0", "FP32", (-1, *CROP_DIMS)),
        TensorSpec("output__1", "FP32", (-1, 4)),
        TensorSpec("output__2", "FP32", (-1,)),
        CORNERS,
        AS_ONE,
        UPRIGHT,
        VEHICLE_ROWS,
    ),
)
"""Picture -> crops ready for `stn`, boxes xyxy in pixels of the frame, scores, corners; highest score first. `AS_ONE`
and `VEHICLE_ROWS` have their own numbers of rows."""

STN = ModelSpec(
    name="stn",
    backend="pytorch",
    max_batch_size=32,
    inputs=(TensorSpec("input__0", "FP32", CROP_DIMS),),
    outputs=(TensorSpec("output__0", "FP32", CROP_DIMS),),
)
"""Crops -> straightened crops."""

LPRNET = ModelSpec(
    name="lprnet",
    backend="pytorch",
    max_batch_size=32,
    inputs=(TensorSpec("input__0", "FP32", CROP_DIMS),),
    outputs=(TensorSpec("output__0", "FP32", (-1, STEPS)),),
)
"""Straightened crops -> CTC logits."""

COUNTRY = ModelSpec(
    name="country",
    backend="pytorch",
    max_batch_size=32,
    inputs=(TensorSpec("input__0", "FP32", CROP_DIMS),),
    outputs=(TensorSpec("output__0", "FP32", (len(DESIGNS) + len(GROUNDS),)),),
)
"""Crops -> logits of the plate designs, followed by those of the ground colours; see `countries.designs`."""

LATIN = "latin"
"""The scheme that `LPRNET_LATIN` is trained for."""

LPRNET_LATIN = replace(LPRNET, name=f"{LPRNET.name}_{LATIN}")
"""The same for the alphabet of `latin.toml`, used by schemes that name this reader."""

SCRIPTS = "scripts"
"""The scheme that `LPRNET_SCRIPTS` is trained for."""

LPRNET_SCRIPTS = replace(LPRNET, name=f"{LPRNET.name}_{SCRIPTS}")
"""The same for the alphabet of `scripts.toml`."""

READERS = {spec.name: spec for spec in (LPRNET, LPRNET_LATIN, LPRNET_SCRIPTS)}
"""Readers by name. A server loads those that its schemes need."""

PLATES = (
    TensorSpec("coordinates", "FP32", (-1, 4)),
    TensorSpec("texts", "STRING", (-1, 1)),
    TensorSpec("scores", "FP32", (-1,)),
    TensorSpec("confidences", "FP32", (-1,)),
    TensorSpec("readings", "STRING", (-1, 1)),
    CORNERS,
)
"""Plates, one per row, highest detector score first."""

LOGITS = TensorSpec("logits", "FP32", (-1, *LPRNET.outputs[0].dims))
"""The output of each plate's reader; if the plates of an answer have several, padded at the end to the largest number
of classes."""

CHARACTERS = TensorSpec("characters", "FP32", (-1, -1))
"""The probability of each character of `readings`, 0..1, padded with 0."""

EVIDENCE = (LOGITS, CHARACTERS)
"""The evidence behind the readings, sent if a caller names it. A caller who names no output gets all, as usual in
Triton."""

SCHEMES = TensorSpec("schemes", "STRING", (-1, 1))
"""The names of the schemes that give this text, separated by spaces; the first is the one that it was read with."""

APPEARANCE = (
    TensorSpec("countries", "STRING", (-1, 1)),
    TensorSpec("country_confidences", "FP32", (-1,)),
    TensorSpec("grounds", "STRING", (-1, 1)),
    TensorSpec("ground_confidences", "FP32", (-1,)),
)
"""The plate's country, ISO 3166 alpha-2 or "unknown", and the colour of its ground from `countries.designs.GROUNDS`,
each with its probability. `COUNTRY` runs if a request names one of them, or reads several schemes."""

SCHEME = "scheme"
"""Request parameter: the schemes to read, comma-separated names."""

SURE = "sure"
"""Request parameter: the minimum confidence of a text, a number between 0 and 1, or that number as text."""

PLATE_RECOGNITION = ModelSpec(
    name="plate_recognition",
    backend="python",
    max_batch_size=0,
    inputs=PICTURE,
    outputs=(*PLATES, *EVIDENCE, SCHEMES, *APPEARANCE, VEHICLE_ROWS),
)
"""Picture -> plates."""


def reader_network(scheme: PlateScheme) -> str:
    """The name of the LPRNet for a scheme, and of its Triton model: "lprnet", "lprnet_latin"."""
    return f"{LPRNET.name}_{scheme.reader}" if scheme.reader else LPRNET.name


def reader_of(scheme: PlateScheme) -> ModelSpec:
    """The model that reads plates of a scheme.

    Raises:
        SchemeError: its file names an unknown reader.
    """
    name = reader_network(scheme)
    if name not in READERS:
        raise SchemeError(f"{scheme.name}: reader: expected one of {', '.join(READERS)} for it, got {scheme.reader!r}")
    return READERS[name]


MODELS = {spec.name: spec for spec in (YOLO, STN, LPRNET, COUNTRY, PLATE_RECOGNITION)}
"""The models for plates of Russia, or of another scheme with its own reader in place of Russia's."""


def needed(schemes: Iterable[PlateScheme]) -> tuple[str, ...]:
    """The names of the models needed to read plates of these schemes.

    Raises:
        SchemeError: as `reader_of`.
    """
    readers = dict.fromkeys(reader_of(scheme).name for scheme in schemes)
    return (YOLO.name, STN.name, *readers, COUNTRY.name, PLATE_RECOGNITION.name)


def models(scheme: PlateScheme) -> dict[str, ModelSpec]:
    """The models of a repository whose main reader is that of a scheme, by name."""

    def sized(spec: ModelSpec, of: PlateScheme) -> ModelSpec:
        return replace(spec, outputs=(replace(spec.outputs[0], dims=(of.classes, STEPS)),))

    own = sized(LPRNET, scheme)
    logits = replace(LOGITS, dims=(-1, *own.outputs[0].dims))
    outputs = (*PLATES, logits, CHARACTERS, SCHEMES, *APPEARANCE, VEHICLE_ROWS)
    return MODELS | {
        own.name: own,
        LPRNET_LATIN.name: sized(LPRNET_LATIN, load_scheme(LATIN)),
        LPRNET_SCRIPTS.name: sized(LPRNET_SCRIPTS, load_scheme(SCRIPTS)),
        PLATE_RECOGNITION.name: replace(PLATE_RECOGNITION, outputs=outputs),
    }


PROBE = "plates_probe"
"""Request parameter of the supervisor's own requests, which the metrics leave out; see `control_key.probe_token`."""
