"""`python tools/pip_settings.py FOLDER`: the settings of this machine's pip that lead to an index, for a container.

Writes FOLDER/pip.conf and the authorities that pip trusts, FOLDER/authorities.pem. Files of this machine that settings
name are not in the container, so indexes that are folders are left out.
"""

import ast
import configparser
import shutil
import subprocess
import sys
from pathlib import Path

ADDRESSES = ("index-url", "extra-index-url", "find-links")
OTHERS = ("trusted-host", "proxy", "timeout", "default-timeout", "retries")
SECTIONS = ("global", "install", ":env:")
"""Later ones override earlier ones."""
AUTHORITIES = "authorities.pem"


def settings() -> dict[str, str]:
    """pip's settings from its configuration files and the environment."""
    done = subprocess.run([sys.executable, "-m", "pip", "config", "list"], capture_output=True, text=True, check=True)
    found: dict[str, dict[str, str]] = {section: {} for section in SECTIONS}
    for line in done.stdout.splitlines():
        name, _, value = line.partition("=")
        section, _, key = name.rpartition(".")
        if section in found:
            found[section][key] = str(ast.literal_eval(value))
    return {key: value for section in SECTIONS for key, value in found[section].items()}


def main(folder: Path) -> None:
    """Write both files."""
    own = settings()
    chosen = {key: own[key] for key in OTHERS if key in own}
    for key in ADDRESSES:
        if remote := [word for word in own.get(key, "").split() if word.startswith(("http://", "https://"))]:
            chosen[key] = " ".join(remote)
    authorities = folder / AUTHORITIES
    authorities.touch()
    if "cert" in own:
        shutil.copyfile(own["cert"], authorities)
        chosen["cert"] = f"/run/secrets/{AUTHORITIES}"
    file = configparser.RawConfigParser()
    file["global"] = chosen
    with (folder / "pip.conf").open("w", encoding="utf-8") as opened:
        file.write(opened)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
