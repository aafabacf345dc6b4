"""The stage that calibrates the reader's confidences.

A reader that has memorised its training plates is too sure elsewhere. Dividing its logits by one number, the
temperature, corrects this (Guo et al., "On Calibration of Modern Neural Networks", 2017). The number is chosen on
plates whose texts were not learnt, and folded into the weights of the last layer, so nothing that uses them needs to
know it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from plate_nets.common.errors import WeightsError
from plate_nets.countries import PlateScheme
from plate_nets.evaluation.calibration import calibration_error, log_loss, reliability
from plate_nets.evaluation.dataset import read_photo
from plate_nets.evaluation.evaluate import boxes_of
from plate_nets.evaluation.reading_metrics import ReadPlate
from plate_nets.networks.checkpoint import read_metadata, save_weights
from plate_nets.networks.lprnet import LPRNet
from plate_nets.networks.registry import NETWORKS
from plate_nets.recognition.decoding import DecodingSettings, PlateDecoder
from plate_nets.recognition.quads import lines_of
from plate_nets.types import Lines, Logits
from training.real import Example
from training.recipe.measure import TrainedReader, spelled


@dataclass(frozen=True)
class LabelledLogits:
    """The reader's output for N plates, and their labels."""

    texts: Sequence[str]
    logits: Logits
    lines: Lines


@dataclass(frozen=True)
class Calibrated:
    """How well a temperature calibrates: its surprise, and its calibration error."""

    temperature: float
    surprise: float
    error: float


def outputs_of(reader: TrainedReader, examples: Iterable[Example]) -> LabelledLogits:
    """Plates -> their logits, from crops that are cut as the server does it."""
    networks, local = reader.networks, reader.local()
    texts: list[str] = []
    logits: list[Logits] = []
    lines: list[Lines] = []
    for path, labels in spelled(reader.scheme, examples):
        cut = local.cut(read_photo(path), boxes_of(labels))
        logits.append(networks.readers[reader.name](networks.stn(cut.crops)))
        lines.append(lines_of(cut.corners.reshape(-1, 4, 2)))
        texts += [label.text for label in labels]
    return LabelledLogits(texts, np.concatenate(logits), np.concatenate(lines))


def read_at(scheme: PlateScheme, labelled: LabelledLogits, temperature: float, floor: float = 0.0) -> list[ReadPlate]:
    """The readings at a temperature, sure or not; see `DecodingSettings.floor`."""
    decoder = PlateDecoder(scheme, DecodingSettings(sure=0.0, floor=floor))
    readings = decoder.decode(labelled.logits / temperature, labelled.lines)
    return [ReadPlate("", text, 0.0, reading) for text, reading in zip(labelled.texts, readings, strict=True)]


def with_texts(scheme: PlateScheme, labelled: LabelledLogits) -> LabelledLogits:
    """The plates that have a text as the reader is: a temperature is not the better for losing the wrong ones.

    Raises:
        WeightsError: there is none.
    """
    read = read_at(scheme, labelled, 1.0, DecodingSettings.floor)
    rows = [row for row, plate in enumerate(read) if plate.reading and plate.reading.text]
    if not rows:
        raise WeightsError(f"the reader reads none of {len(read)} plates, so there is no confidence to calibrate")
    return LabelledLogits([labelled.texts[row] for row in rows], labelled.logits[rows], labelled.lines[rows])


def surprise(plates: Sequence[ReadPlate]) -> float:
    """Mean negative log-likelihood of "right" and "wrong" by the confidence of each text."""
    return log_loss([(plate.reading.confidence, plate.exact) for plate in plates if plate.reading])


def calibrations(scheme: PlateScheme, labelled: LabelledLogits, temperatures: Iterable[float]) -> list[Calibrated]:
    """How well each temperature calibrates the reader on labelled plates.

    Raises:
        WeightsError: there is no text.
    """
    told = with_texts(scheme, labelled)
    read = ((each, read_at(scheme, told, each)) for each in temperatures)
    return [Calibrated(each, surprise(plates), calibration_error(reliability(plates))) for each, plates in read]


def fold(reader: TrainedReader, temperature: float, out: Path) -> None:
    """Write LPRNet, its logits divided by a temperature, to another folder."""
    network, metadata = NETWORKS[reader.name].load(reader.scheme, reader.weights), read_metadata(reader.weights)
    assert isinstance(network, LPRNet)
    with torch.no_grad():
        network.classes.weight.div_(temperature)
        network.classes.bias.div_(temperature)
    metadata["temperature"] = f"{float(metadata.get('temperature', 1)) * temperature:g}"
    save_weights(network, out / reader.weights.name, metadata, NETWORKS[reader.name].scheme_of_weights(reader.scheme))
