"""Imports within the package only go down, in the order of docs/explanation/architecture.md, and bring little along."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.paths import ROOT

PACKAGE = ROOT / "plate_nets"
FREE = ("__init__", "__main__")
"""The package itself names what users import, and has the version."""


def imported() -> Iterator[tuple[str, str, str]]:
    """Each import within the package: the file, and the part that imports which other part."""
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                modules = [each.name for each in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module == PACKAGE.name:
                modules = [f"{node.module}.{each.name}" for each in node.names]
            elif isinstance(node, ast.ImportFrom):
                modules = [node.module or ""]
            else:
                continue
            for module in modules:
                top, *parts = module.split(".")
                if top == PACKAGE.name and parts:
                    yield str(name), name.parts[0].removesuffix(".py"), parts[0]


def test_modules_import_only_lower_layers() -> None:
    document = (ROOT / "docs" / "explanation" / "architecture.md").read_text(encoding="utf-8")
    _, _, after = document.partition("Imports only go down")
    (block,) = re.findall(r"```text\n(.*?)```", after, re.S)[:1]
    level = {part: number for number, line in enumerate(block.splitlines()) for part in line.split()}
    parts = {path.name.removesuffix(".py") for path in PACKAGE.iterdir() if path.suffix == ".py" or path.is_dir()}
    known = parts - {*FREE, "__pycache__", "weights", "model_repository"}
    assert known == set(level), "docs/explanation/architecture.md, the order"
    upward = [
        f"{file} imports plate_nets.{other}"
        for file, part, other in imported()
        if part not in FREE and other in level and part != other and level[other] <= level[part]
    ]
    assert not upward


LIBRARIES = ("tritonclient", "gevent", "geventhttpclient", "grpc", "google.protobuf", "torch", "cv2")
TRITONS = "tritonclient.http, tritonclient.grpc"
BACKEND = "plate_nets.triton.backend"
HEAVY = ("torch", "openvino", "pytriton", "safetensors", "training", "cv2", "plate_nets.networks.lprnet")
EXTRAS = ("cv2", "filelock", "matplotlib", "openvino", "PIL", "pytriton", "safetensors", "torch")
DEVELOPERS = ("training", "yolov5", "torchvision", "converters", "torch")
"""Served networks need no torch on a CPU."""


@pytest.mark.parametrize(
    ("modules", "absent"),
    [
        ("plate_nets", ("cv2", "openvino", "torch", "tritonclient", "matplotlib")),
        ("plate_nets.client", LIBRARIES),
        ("plate_nets.cli, plate_nets.client.client, plate_nets.recognition.health, " + TRITONS, HEAVY),
        ("plate_nets.cli, plate_nets.client, plate_nets.triton.supervision.supervisor", (*EXTRAS, "grpc")),
        ("plate_nets.networks.registry as found; [each.weights for each in found.NETWORKS.values()]", DEVELOPERS),
        (f"{BACKEND}.recognition, {BACKEND}.detector, {BACKEND}.network_model", DEVELOPERS),
        ("training.synthesis.__main__", ("av",)),  # `make demo` draws a scene in an environment without it
    ],
)
def test_a_module_imports_a_heavy_package_only_when_it_is_needed(modules: str, absent: tuple[str, ...]) -> None:
    code = (
        "import sys, types; sys.modules['triton_python_backend_utils'] = types.ModuleType('fake')\n"
        f"import {modules}\n"
        f"print(*set(sys.modules) & set({absent!r}))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.split() == []
