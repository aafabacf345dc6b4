"""The message about an extra that is not installed."""

import builtins
import subprocess
import sys
from typing import Any

import pytest

from plate_nets.common.errors import MissingExtra
from plate_nets.common.extras import needs


def test_a_missing_package_is_one_line_with_its_extra() -> None:
    with pytest.raises(MissingExtra) as caught, needs("local", "reading in process"):
        import no_such_package.inside  # type: ignore[import-not-found]  # noqa: F401
    assert str(caught.value) == 'reading in process needs no_such_package: pip install "plate-nets[local]"'


@pytest.mark.parametrize("fault", ["plate_nets.no_such_module", "a module without a name"])
def test_another_missing_module_is_not_reported_as_a_missing_extra(fault: str) -> None:
    name = fault if fault.startswith("plate_nets") else None
    with pytest.raises(ModuleNotFoundError), needs("local", "reading in process"):
        raise ModuleNotFoundError(fault, name=name)


def test_other_import_errors_are_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    genuine = builtins.__import__

    def damaged(name: str, *rest: Any) -> object:
        if name != "cv2":  # what threads of other tests import
            return genuine(name, *rest)
        raise ImportError(f"{name}: libGL.so.1: cannot open shared object file")

    monkeypatch.setattr(builtins, "__import__", damaged)
    with pytest.raises(ImportError, match="libGL"), needs("local", "reading in process"):
        import cv2  # noqa: F401


def test_watching_without_its_extra_names_it() -> None:
    code = "import sys; sys.modules['av'] = None; from plate_nets import Watcher"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert 'watching cameras needs av: pip install "plate-nets[watch]"' in result.stderr
