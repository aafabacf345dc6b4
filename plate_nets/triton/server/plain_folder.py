"""The server's own folder: through its links, Triton and its stubs reach everything by paths of plain signs.

Triton starts a stub by a line of bash without quotes, so a space or a `$` in a path ends the stub. A stub's Python
decodes paths as ASCII and does not start in a folder with other letters. Users choose such folders for the checkout,
the environment and the models.
"""

import os
import re
import site
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from plate_nets.common.errors import ServerStartError
from plate_nets.triton.server.guard import ENVIRONMENTS
from plate_nets.triton.server.installation import joined

_PLAIN = re.compile(r"[\w./+-]+", re.ASCII)
_PYTHON, _BASE, _PACKAGES = "python", "python_base", "packages"


def plain_temporary_folder() -> Path:
    """The user's temporary folder, or the system's if the user's has a path that stubs cannot live with.

    Raises:
        ServerStartError: the user's is not writable.
    """
    try:
        chosen = tempfile.gettempdir()
    except FileNotFoundError as error:
        raise ServerStartError(f"no writable temporary folder; set TMPDIR: {error.strerror}") from error
    return Path(chosen) if _PLAIN.fullmatch(chosen) else ENVIRONMENTS


def python_links() -> dict[str, str]:
    """Path inside the server's own folder -> what of this Python is linked there."""
    packages = {f"{_PACKAGES}/{number}": path for number, path in enumerate(_package_folders())}
    return {_BASE: sys.base_prefix, f"{_PYTHON}/bin/python3": sys.executable} | packages


def python_texts(folder: Path) -> dict[str, str]:
    """Path inside the server's own folder -> the text there that makes it a virtual environment with our packages.

    Its list of folders takes the place of the *.pth files of our packages, in which a stub's Python accepts ASCII only.
    """
    site_packages = f"{_PYTHON}/lib/python{sys.version_info.major}.{sys.version_info.minor}/site-packages"
    folders = (f"{folder / link}\n" for link in python_links() if link.startswith(_PACKAGES))
    return {
        f"{_PYTHON}/pyvenv.cfg": f"home = {folder / _BASE / 'bin'}\ninclude-system-site-packages = false\n",
        f"{site_packages}/packages.pth": "".join(folders),
    }


def _package_folders() -> list[str]:
    """The folders of installed packages on `sys.path`: those of the environment, then those that its *.pth add."""
    places = set(site.getsitepackages())
    first = next((number for number, path in enumerate(sys.path) if path in places), len(sys.path))
    return [path for path in sys.path[first:] if Path(path).is_dir()]


def python_environment(folder: Path, environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The environment in which Triton's stubs find this Python and its packages, by way of `python_links`.

    A stub embeds Python and looks for it on PATH. It ignores PYTHONPATH but imports from its working directory, which
    is why `Plan.links` holds this package.
    """
    environment = dict(environ)
    environment.pop("PYTHONHOME", None)
    # The models take turns on the same cores: a thread that spins while it waits takes a core from the next model.
    environment.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    # Keep a frame's memory for the next one: by default each decoded frame is given back to the system, and its 700
    # pages (1280x720) are mapped and cleared again, twice.
    environment.setdefault("MALLOC_MMAP_THRESHOLD_", str(32 << 20))
    environment.setdefault("MALLOC_TRIM_THRESHOLD_", str(64 << 20))
    environment["VIRTUAL_ENV"] = str(folder / _PYTHON)
    environment["PATH"] = joined(str(folder / _PYTHON / "bin"), environ.get("PATH", os.defpath))
    return environment
