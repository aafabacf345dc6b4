"""What CountryNet learns: the class of each crop; and how well it knows those of labelled folders."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional
from torch.utils.tensorboard.writer import SummaryWriter

from plate_nets.nets.checkpoint import save_weights
from plate_nets.nets.country import CountryNet
from plate_nets.plates.designs import CLASSES
from plate_nets.recognition.detection import DetectionSettings
from plate_nets.recognition.geometry import crop_plates, normalize_crop
from plate_nets.recognition.rectification import RectificationSettings, quad_boxes, straighten
from plate_nets.types import Crops
from training.checkpoint import TrainingState
from training.country.samples import Batch
from training.loop import Trainer
from training.reader.real import RealPlate

ARCHITECTURE = "country/1"
_SMOOTHED = 0.05
"""Of the target: what the other designs share. A plate of one country may look like another's."""


@dataclass(frozen=True)
class KnownCrops:
    """Crops (N, 3, 24, 94) and the classes of their designs (N,)."""

    crops: Crops
    designs: NDArray[np.int64]


class CountryTrainer(Trainer[TrainingState[CountryNet], Batch, KnownCrops]):
    """Trains CountryNet; the mean of the validation's shares decides."""

    def loss(self, batch: Batch) -> Tensor:
        """The cross-entropy of a batch."""
        crops = torch.from_numpy(batch.crops).to(self.device, memory_format=torch.channels_last)
        logits = self.state.network(crops).float()
        return functional.cross_entropy(
            logits, torch.from_numpy(batch.designs).to(self.device), label_smoothing=_SMOOTHED
        )

    def validate(self, writer: SummaryWriter) -> str:
        """The share of plates whose design is the most probable."""
        state = self.state
        right = {}
        for name, known in self.validation.items():
            with torch.inference_mode():
                found = state.average(torch.from_numpy(known.crops).to(self.device)).argmax(1).cpu().numpy()
            right[name] = float((found == known.designs).mean())
            writer.add_scalar(f"right/{name}", right[name], state.step)
        mean = sum(right.values()) / len(right)
        if mean > state.best:
            state.best = mean
            self.save("best")
        return "right " + ", ".join(f"{name} {share:.3f}" for name, share in right.items())

    def save(self, name: str) -> None:
        """Writes the network."""
        metadata = self.metadata | {"steps": str(self.state.step)}
        save_weights(self.state.average, self.out / name / "country.safetensors", metadata)


def known_crops(real: Mapping[str, Sequence[RealPlate]]) -> KnownCrops:
    """Real plates by design -> their crops as the detector hands them on."""
    crops, designs = [], []
    for design, plates in real.items():
        crops += [_crop(plate) for plate in plates]
        designs += [CLASSES[design]] * len(plates)
    return KnownCrops(np.stack(crops), np.array(designs, np.int64))


def _crop(plate: RealPlate) -> NDArray[np.float32]:
    if plate.exact:
        return normalize_crop(straighten(plate.picture, plate.corners, plate.lines, RectificationSettings()))
    crops = crop_plates(plate.picture, quad_boxes(plate.corners[None]), DetectionSettings().crop_margin)
    return np.asarray(crops[0], np.float32)
