"""The state of a training of the reader: STN and LPRNet, trained as one network."""

from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor, nn

from plate_nets.common.errors import WeightsError
from plate_nets.contract import reader_network
from plate_nets.countries import PlateScheme
from plate_nets.countries.scheme import UNKNOWN
from plate_nets.networks.checkpoint import load_weights, read_metadata, read_weights, scheme_marks
from plate_nets.networks.lprnet import LPRNet
from plate_nets.networks.stn import STN
from training.checkpoint import DECAY, TrainingState, widened

ARCHITECTURE = "stn+lprnet/2"


class Reader(nn.Module):
    """STN and LPRNet in a row: crops (N, 3, 24, 94) -> logits (N, classes, 18)."""

    def __init__(self, classes: int) -> None:
        super().__init__()
        self.stn = STN()
        self.lprnet = LPRNet(classes)
        self.stn_learns = True

    def train(self, mode: bool = True) -> "Reader":
        """As for any module; a frozen STN also keeps its mean and variance."""
        super().train(mode)
        if not self.stn_learns:
            self.stn.eval()
        return self

    def forward(self, crops: Tensor) -> Tensor:
        logits: Tensor = self.lprnet(self.stn(crops))
        return logits


class ReaderState(TrainingState[Reader]):
    """The state for a reader of a scheme."""

    def __init__(self, scheme: PlateScheme, device: torch.device, decay: float = DECAY) -> None:
        reader: Reader = Reader(scheme.classes).to(device).to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        # The localisation moves every pixel that LPRNet sees: it learns at a third of the rate.
        super().__init__(ARCHITECTURE, reader, {"stn": 0.3}, scheme_marks(scheme), decay)
        self.scheme = scheme

    def start_from(self, folder: Path, beside: Path | None = None) -> None:
        """Take over a reader of this alphabet from a folder: `stn.safetensors` and LPRNet's file; steps start at 0.

        The file may lack the alphabet's last signs. A new one begins as `UNKNOWN`, which it was.

        An STN that serves another reader too is frozen: one that was trained for another alphabet, or that of the
        folder ``beside``.

        Raises:
            WeightsError: a file is missing, damaged, of another architecture or another scheme.
        """
        stn, weights = (beside or folder) / "stn.safetensors", folder / f"{reader_network(self.scheme)}.safetensors"
        former = _former(self.scheme, weights)
        lprnet, like = LPRNet(former.classes), former.index.get(UNKNOWN, former.blank)
        load_weights(lprnet, weights, former)
        parameters = widened(lprnet, "classes", former.blank, like, self.scheme.classes - former.classes)
        foreign = read_metadata(stn).get("scheme", self.scheme.trained_as) != self.scheme.trained_as
        for reader in (self.network, self.average):
            load_weights(reader.stn, stn, None if foreign else former)
            reader.lprnet.load_state_dict(parameters)
            if foreign or beside is not None:
                keep(reader)

    def start_beside(self, folder: Path, reader: str) -> None:
        """Take over a reader of another alphabet, such as `lprnet`, and `stn.safetensors` from a folder.

        Its STN serves both, so it is frozen; LPRNet's last layer, that of the classes, is initialised.

        Raises:
            WeightsError: a file is missing, damaged or of another architecture.
        """
        other = read_weights(folder / f"{reader}.safetensors")
        features = {name: torch.from_numpy(value) for name, value in other.items() if not name.startswith("classes.")}
        for network in (self.network, self.average):
            load_weights(network.stn, folder / "stn.safetensors")
            keep(network)
            try:
                missing = network.lprnet.load_state_dict(features, strict=False).missing_keys
            except RuntimeError as error:
                raise WeightsError(f"{folder}: weights of another network: {str(error).splitlines()[0]}") from error
            if {name.split(".")[0] for name in missing} != {"classes"}:
                raise WeightsError(f"{folder}: weights of another network: they lack {', '.join(missing)}")


def _former(scheme: PlateScheme, weights: Path) -> PlateScheme:
    """The scheme with the alphabet of LPRNet's weights in a file, which may lack the last signs of today."""
    known = len(read_weights(weights).get("classes.bias", range(scheme.classes))) - 1
    return replace(scheme, alphabet=scheme.alphabet[:known])


def keep(reader: Reader) -> None:
    reader.stn.requires_grad_(False)
    reader.stn_learns = False
