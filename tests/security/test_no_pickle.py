"""Nothing that serves or converts can run code from a data file: no unpickling, under any of its names."""

import ast
from pathlib import Path

import pytest

from tests.paths import ROOT

SERVING = sorted(
    path for folder in ("plate_nets", "converters", "model_repository") for path in (ROOT / folder).rglob("*.py")
)
MODULES = {"pickle", "cPickle", "_pickle", "dill", "cloudpickle", "joblib", "shelve", "marshal"}
CALLS = {"eval", "exec", "compile", "torch.load", "np.load", "numpy.load", "pd.read_pickle", "yaml.load"}


@pytest.mark.parametrize("path", SERVING, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_code_unpickles(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        where = f"{path.relative_to(ROOT)}:{getattr(node, 'lineno', 0)}"
        if isinstance(node, ast.Import):
            assert not MODULES & {alias.name.partition(".")[0] for alias in node.names}, where
        elif isinstance(node, ast.ImportFrom):
            assert (node.module or "").partition(".")[0] not in MODULES, where
            assert not {f"{node.module}.{alias.name}" for alias in node.names} & CALLS, where
        elif isinstance(node, ast.Call):
            assert ast.unparse(node.func) not in CALLS, f"{where}: {ast.unparse(node.func)}"
            for keyword in node.keywords:
                assert not (keyword.arg == "allow_pickle" and ast.unparse(keyword.value) != "False"), where
                assert not (keyword.arg == "weights_only" and ast.unparse(keyword.value) != "True"), where
                assert not (keyword.arg == "shell" and ast.unparse(keyword.value) != "False"), where


def test_the_check_covers_all_serving_code() -> None:
    names = {str(path.relative_to(ROOT)) for path in SERVING}
    assert {
        "plate_nets/networks/runtimes/torchscript.py",
        "plate_nets/networks/conversion/torchscript_file.py",
        "model_repository/yolo/1/model.py",
    } <= names
