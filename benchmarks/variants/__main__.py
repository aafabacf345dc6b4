"""``python -m benchmarks.variants``: builds the TorchScript modules of `benchmarks/model_repository/`."""

from benchmarks.variants.contract import MODEL_REPOSITORY, MODELS
from benchmarks.variants.conversions import CONVERSIONS
from converters.command import run
from plate_nets.networks.conversion.conversion import Mode

if __name__ == "__main__":
    run(CONVERSIONS, MODELS, (), Mode.TRACE, False, MODEL_REPOSITORY)
