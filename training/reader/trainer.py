"""Trains the reader with CTC, STN and LPRNet jointly."""

from pathlib import Path
from statistics import mean

import torch
from torch import Tensor
from torch.nn import functional
from torch.utils.tensorboard.writer import SummaryWriter

from plate_nets.contract import reader_network
from plate_nets.countries import PlateScheme
from plate_nets.networks.checkpoint import save_weights
from plate_nets.types import STEPS
from training.loop import Trainer, mixed_precision
from training.reader.samples import Batch
from training.reader.state import Reader, ReaderState
from training.reader.validation import LabelledCrops, exact_share

_LOSS_CAP = 12.0
"""Maximum loss of one plate: about one and a half characters entirely wrong."""


class ReaderTrainer(Trainer[ReaderState, Batch, LabelledCrops]):
    """Trains a reader."""

    def loss(self, batch: Batch) -> Tensor:
        """The CTC loss of a batch."""
        crops = torch.from_numpy(batch.crops).to(self.device, memory_format=torch.channels_last)
        with mixed_precision(self.device):
            logits = self.state.network(crops)
        targets, lengths = (torch.from_numpy(each).to(self.device) for each in (batch.targets, batch.lengths))
        return ctc_loss(logits.float(), targets, lengths)

    def validate(self, writer: SummaryWriter) -> str:
        """The shares of plates read exactly; the mean over the folders decides which weights are best."""
        state = self.state
        shares = {
            name: exact_share(state.average, crops, state.scheme, self.device)
            for name, crops in self.validation.items()
        }
        for name, share in shares.items():
            writer.add_scalar(f"exact/{name}", share, state.step)
        deciding = [shares[name] for name, crops in self.validation.items() if crops.decides]
        if deciding and mean(deciding) > state.best:
            state.best = mean(deciding)
            self.save("best")
        return f"exact {', '.join(f'{name} {share:.4f}' for name, share in shares.items())}"

    def save(self, name: str) -> None:
        """Write both networks."""
        save_reader(self.state.average, self.out / name, self.facts, self.state.scheme)


def ctc_loss(logits: Tensor, targets: Tensor, lengths: Tensor) -> Tensor:
    """Connectionist temporal classification (Graves et al., 2006): logits (N, C, 18) -> mean loss per plate.

    The last class is the blank, as in every scheme. A plate's loss is capped, because about one label in a hundred is
    wrong and must not steer the rest.
    """
    logp = logits.log_softmax(1).permute(2, 0, 1)  # (N, C, 18) -> (18, N, C)
    steps = torch.full((logits.shape[0],), STEPS, dtype=torch.long)
    losses = functional.ctc_loss(
        logp, targets, steps, lengths, blank=logits.shape[1] - 1, reduction="none", zero_infinity=True
    )
    weights = _LOSS_CAP / losses.detach().clamp(min=_LOSS_CAP)
    return (losses * weights).mean()


def save_reader(reader: Reader, folder: Path, metadata: dict[str, str], scheme: PlateScheme) -> None:
    """Write a reader as `stn.safetensors` and LPRNet's file, which is named after its network.

    A frozen STN belongs to another reader and is not written.
    """
    if reader.stn_learns:
        save_weights(reader.stn, folder / "stn.safetensors", metadata, scheme)
    save_weights(reader.lprnet, folder / f"{reader_network(scheme)}.safetensors", metadata, scheme)
