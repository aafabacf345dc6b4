"""The steps around the reader's networks in the ensemble `plate_text`, as modules for TorchScript."""

import math

import torch
from torch import Tensor, nn

from plate_nets.countries import PlateScheme


class NormalizedCrops(nn.Module):
    """Crops (N, 24, 94, 3) BGR uint8 -> (N, 3, 24, 94) RGB, `geometry.normalized`; can be traced."""

    def forward(self, crops: Tensor) -> Tensor:
        channels_first = crops.flip(3).permute(0, 3, 1, 2)
        return ((channels_first.to(torch.float32) - 127.5) / 128).contiguous()


class GreedyText(nn.Module):
    """Logits (N, C, 18) -> `ctc.best_path` of each; its loop depends on the data, so it must be scripted.

    Returns:
        (N, 18) uint8, the text in ASCII with zeros after it; (N, 1) its lowest probability of a character, or 0.
    """

    def __init__(self, scheme: PlateScheme) -> None:
        super().__init__()
        self.codes = [ord(symbol) for symbol in scheme.alphabet]
        self.blank = scheme.blank

    def forward(self, logits: Tensor) -> tuple[Tensor, Tensor]:
        peaks, path = torch.log_softmax(logits, dim=1).cpu().max(dim=1)
        texts = torch.zeros(path.shape, dtype=torch.uint8)
        confidences = torch.zeros((path.shape[0], 1))
        for row in range(path.shape[0]):
            characters: list[float] = []
            before = self.blank
            for step in range(path.shape[1]):
                symbol = int(path[row, step])
                probability = math.exp(float(peaks[row, step]))
                if symbol != self.blank:
                    if symbol == before:
                        characters[-1] = max(characters[-1], probability)
                    else:
                        texts[row, len(characters)] = self.codes[symbol]
                        characters.append(probability)
                before = symbol
            if len(characters) > 0:
                confidences[row, 0] = min(characters)
        return texts.to(logits.device), confidences.to(logits.device)
