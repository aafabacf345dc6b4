"""Inputs and outputs of the models of `benchmarks/model_repository/`; `plate_nets.contract` has the production ones."""

from dataclasses import replace
from pathlib import Path

from plate_nets.contract import (
    CORNERS,
    LPRNET,
    PLATE_RECOGNITION,
    PLATES,
    YOLO,
    ModelSpec,
    TensorSpec,
    models,
)
from plate_nets.countries import main_scheme

PACKAGE = Path(__file__).resolve().parents[1]
"""The package that the Python models of the variants import; Triton's stubs must find it."""
MODEL_REPOSITORY = PACKAGE / "model_repository"

_LOGITS = models(main_scheme())[LPRNET.name].outputs[0].dims

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
        ENSEMBLE_CROPS,
        ENSEMBLE_PLATES,
        PLATE_RECOGNITION_ENSEMBLE,
        PLATE_RECOGNITION_PYTHON,
    )
}
"""All models of `benchmarks/model_repository/` by name, including the steps of the ensembles."""

VARIANTS = (PLATE_RECOGNITION_ENSEMBLE.name, PLATE_RECOGNITION_PYTHON.name)
"""Models with the inputs and outputs of `plate_recognition`, to be compared with it."""
