"""Hatchling's build hook: puts the model repository into a wheel, with networks converted for the CPU and compared."""

import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class ModelRepository(BuildHookInterface):
    """Puts `model_repository/` into the wheel as `plate_nets/model_repository/`."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Convert the networks, copy the models that git tracks, and include both."""
        if version == "editable":  # a checkout converts them itself
            return
        root = Path(self.root)
        sys.path.insert(0, str(root))
        sys.modules["torch"] = None  # as if it were not installed: a wheel needs no TorchScript
        from plate_nets.countries import main_scheme
        from plate_nets.networks.conversion.conversion import convert
        from plate_nets.networks.conversion.table import conversions

        self.made = tempfile.TemporaryDirectory(prefix="plates-wheel-")
        repository = Path(self.made.name)
        for pattern in ("*/config.pbtxt", "*/1/model.py"):
            for file in (root / "model_repository").glob(pattern):
                copy = repository / file.relative_to(root / "model_repository")
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(file, copy)
        for conversion in conversions(main_scheme()).values():
            if not convert(conversion, repository):
                raise RuntimeError(f"{conversion.name}: no numbers to compare with; training.publish writes them")
        build_data["force_include"][str(repository)] = "plate_nets/model_repository"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove what the build created."""
        if version != "editable":
            self.made.cleanup()
