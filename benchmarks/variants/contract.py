"""Inputs and outputs of the models of `benchmarks/model_repository/`; `plate_nets.contract` has the production ones."""

from dataclasses import replace
from pathlib import Path

from plate_nets.contract import (
    CORNERS,
    CROP_DIMS,
    LPRNET,
    PLATE_RECOGNITION,
    PLATES,
    YOLO,
    ModelSpec,
    TensorSpec,
    models,
)
from plate_nets.countries import main_scheme
from plate_nets.types import CROP_HEIGHT, CROP_WIDTH, STEPS

PACKAGE = Path(__file__).resolve().parents[1]
"""The package that the Python models of the variants import; Triton's stubs must find it."""
MODEL_REPOSITORY = PACKAGE / "model_repository"

_LOGITS = models(main_scheme())[LPRNET.name].outputs[0].dims
_BGR = (CROP_HEIGHT, CROP_WIDTH, 3)
_TEXT = (STEPS,)

PLATE_PRE = ModelSpec(
    name="plate_pre",
    backend="pytorch",
    max_batch_size=32,
    inputs=(TensorSpec("input__0", "UINT8", _BGR),),
    outputs=(TensorSpec("output__0", "FP32", CROP_DIMS),),
)
"""BGR crops -> crops for `stn`: a traced TorchScript module."""

PLATE_POST = ModelSpec(
    name="plate_post",
    backend="pytorch",
    max_batch_size=32,
    inputs=(TensorSpec("input__0", "FP32", _LOGITS),),
    outputs=(TensorSpec("output__0", "UINT8", _TEXT), TensorSpec("output__1", "FP32", (1,))),
)
"""Logits -> best path as ASCII with zeros after it, and its lowest probability of a character: a scripted module."""

PLATE_TEXT = ModelSpec(
    name="plate_text",
    backend="ensemble",
    max_batch_size=32,
    inputs=(TensorSpec("crop", "UINT8", _BGR),),
    outputs=(TensorSpec("text", "UINT8", _TEXT), TensorSpec("confidence", "FP32", (1,))),
)
"""`plate_pre` -> `stn` -> `lprnet` -> `plate_post`."""

ENSEMBLE_CROPS = ModelSpec(
    name="ensemble_crops",
    backend="python",
    max_batch_size=0,
    inputs=(replace(YOLO.outputs[0], name="found"),),
    outputs=(replace(YOLO.outputs[0], name="crops"),),
)
"""Crops -> the same, or a grey one if there is none: an ensemble cannot stop early, and `stn` refuses empty batches."""

ENSEMBLE_PLATES = ModelSpec(
    name="ensemble_plates",
    backend="python",
    max_batch_size=0,
    inputs=(
        TensorSpec("logits", "FP32", (-1, *_LOGITS)),
        replace(YOLO.outputs[1], name="boxes"),
        replace(YOLO.outputs[2], name="found_scores"),
        replace(CORNERS, name="found_corners"),
    ),
    outputs=PLATES,
)
"""Logits, boxes, scores and corners -> plates; logits without a box belong to the grey crop."""

PLATE_RECOGNITION_ENSEMBLE = replace(
    PLATE_RECOGNITION, name="plate_recognition_ensemble", backend="ensemble", outputs=PLATES
)
"""`yolo` -> `ensemble_crops` -> `stn` -> `lprnet` -> `ensemble_plates`."""

PLATE_RECOGNITION_PYTHON = replace(PLATE_RECOGNITION, name="plate_recognition_python", outputs=PLATES)
"""The whole pipeline in one Python model."""

MODELS = {
    spec.name: spec
    for spec in (
        PLATE_PRE,
        PLATE_POST,
        PLATE_TEXT,
        ENSEMBLE_CROPS,
        ENSEMBLE_PLATES,
        PLATE_RECOGNITION_ENSEMBLE,
        PLATE_RECOGNITION_PYTHON,
    )
}
"""All models of `benchmarks/model_repository/` by name, including the steps of the ensembles."""

VARIANTS = (PLATE_RECOGNITION_ENSEMBLE.name, PLATE_RECOGNITION_PYTHON.name)
"""Models with the inputs and outputs of `plate_recognition`, to be compared with it."""
