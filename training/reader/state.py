"""The state of a training of the reader: STN and LPRNet, trained as one network."""

from pathlib import Path

import torch
from torch import Tensor, nn

from plate_nets.errors import WeightsError
from plate_nets.nets.checkpoint import load_weights, read_weights, scheme_marks
from plate_nets.nets.lprnet import LPRNet
from plate_nets.nets.stn import STN
from plate_nets.plates import PlateScheme
from training.checkpoint import TrainingState

ARCHITECTURE = "stn+lprnet/2"


class Reader(nn.Module):
    """STN and LPRNet in a row: crops (N, 3, 24, 94) -> logits (N, classes, 18)."""

    def __init__(self, classes: int) -> None:
        super().__init__()
        self.stn = STN()
        self.lprnet = LPRNet(classes)
        self.stn_learns = True

    def train(self, mode: bool = True) -> "Reader":
        """As of any module; an STN that does not learn keeps its mean and variance too."""
        super().train(mode)
        if not self.stn_learns:
            self.stn.eval()
        return self

    def forward(self, crops: Tensor) -> Tensor:
        logits: Tensor = self.lprnet(self.stn(crops))
        return logits


class ReaderState(TrainingState[Reader]):
    """Of a reader of a scheme; ``best`` is the largest share of plates read exactly."""

    def __init__(self, scheme: PlateScheme, device: torch.device) -> None:
        reader: Reader = Reader(scheme.classes).to(device).to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        # The localisation moves every pixel that LPRNet sees: it learns at a third of the rate.
        super().__init__(ARCHITECTURE, reader, -1.0, {"stn": 0.3}, scheme_marks(scheme))
        self.scheme = scheme

    def start_from(self, folder: Path) -> None:
        """Takes over `stn.safetensors` and `lprnet.safetensors` of a folder; steps and optimiser start anew.

        Raises:
            WeightsError: a file is missing, damaged, of another architecture or another scheme.
        """
        for reader in (self.network, self.average):
            load_weights(reader.stn, folder / "stn.safetensors", self.scheme)
            load_weights(reader.lprnet, folder / "lprnet.safetensors", self.scheme)

    def start_beside(self, folder: Path) -> None:
        """Takes over a reader of another alphabet, in `stn.safetensors` and `lprnet.safetensors` of a folder.

        Its STN serves both, so it does not learn; of LPRNet the last layer, that of the classes, starts anew.

        Raises:
            WeightsError: a file is missing, damaged or of another architecture.
        """
        other = read_weights(folder / "lprnet.safetensors")
        features = {name: torch.from_numpy(value) for name, value in other.items() if not name.startswith("classes.")}
        for reader in (self.network, self.average):
            load_weights(reader.stn, folder / "stn.safetensors")
            reader.stn.requires_grad_(False)
            reader.stn_learns = False
            try:
                missing = reader.lprnet.load_state_dict(features, strict=False).missing_keys
            except RuntimeError as error:
                raise WeightsError(f"{folder}: weights of another network: {str(error).splitlines()[0]}") from error
            if {name.split(".")[0] for name in missing} != {"classes"}:
                raise WeightsError(f"{folder}: weights of another network: without {', '.join(missing)}")
