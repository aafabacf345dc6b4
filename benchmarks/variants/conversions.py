"""The TorchScript modules of `benchmarks/model_repository/`."""

from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.variants.contract import PLATE_POST, PLATE_PRE
from benchmarks.variants.plate_text import GreedyText, NormalizedCrops
from plate_nets.countries import main_scheme
from plate_nets.networks.conversion.conversion import Conversion, Mode
from plate_nets.networks.conversion.table import BATCHES
from plate_nets.networks.runtimes.networks import released

CONVERSIONS = {
    conversion.name: conversion
    for conversion in (
        Conversion(
            PLATE_PRE.name,
            released(Path(), PLATE_PRE.name),
            NormalizedCrops,
            None,
            tuple((batch, *PLATE_PRE.inputs[0].dims) for batch in BATCHES),
            0.0,
            256.0,
            1e-6,
            dtype=np.uint8,
            mode=Mode.TRACE,
        ),
        Conversion(
            PLATE_POST.name,
            released(Path(), PLATE_POST.name),
            partial(GreedyText, main_scheme()),
            None,
            tuple((batch, *PLATE_POST.inputs[0].dims) for batch in BATCHES),
            -9.0,
            9.0,
            1e-6,
            mode=Mode.SCRIPT,
        ),
    )
}
