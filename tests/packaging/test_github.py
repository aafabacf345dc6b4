"""What GitHub reads: workflows whose steps are the Makefile's targets, forms, the citation."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.packaging.conftest import PROJECT, shell
from tests.paths import ROOT

GITHUB = ROOT / ".github"
WORKFLOWS = sorted((GITHUB / "workflows").glob("*.yml"))
NEWER = ('label "ubuntu-24.04-arm" is unknown', 'unknown permission scope "attestations"')
"""What is younger than this actionlint."""


def lint(path: Path) -> list[str]:
    """The faults that actionlint finds."""
    result = subprocess.run([ROOT / "tools" / "actionlint.sh", path], capture_output=True, text=True)
    assert not result.stderr, result.stderr
    found = [json.loads(line)["message"] for line in result.stdout.splitlines()]
    return [each for each in found if not each.startswith(NEWER)]


def commands(path: Path, program: str) -> list[str]:
    """The steps that run a program, once for each entry of their job's matrix."""
    found = []
    for job in yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"].values():
        own = [step["run"] for step in job["steps"] if step.get("run", "").startswith(program)]
        targets = job.get("strategy", {}).get("matrix", {}).get("target", [""])
        found += [command.replace("${{ matrix.target }}", target) for command in own for target in targets]
    return found


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_passes_actionlint(path: Path) -> None:
    assert lint(path) == []


def test_actionlint_finds_a_fault(tmp_path: Path) -> None:
    text = WORKFLOWS[0].read_text(encoding="utf-8").replace("matrix.python", "matrix.pyton")
    (tmp_path / "ci.yml").write_text(text, encoding="utf-8")
    assert any("pyton" in each for each in lint(tmp_path / "ci.yml"))


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_the_steps_are_targets_of_the_makefile(path: Path) -> None:
    assert commands(path, "make ")
    for command in commands(path, "make "):
        shell(command.replace("make ", "make --dry-run ", 1), check=True)


def test_the_steps_without_a_server_read_the_picture(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    shutil.copy(ROOT / "out" / "scene.jpg", tmp_path / "out")
    steps = commands(GITHUB / "workflows" / "ci.yml", "plates ")
    assert steps
    for command in steps:
        shell(f"{Path(sys.executable).parent}/{command}", cwd=tmp_path, check=True)


def test_other_packages_are_tried_each_night() -> None:
    tried = commands(GITHUB / "workflows" / "ci.yml", "make ")
    assert {"make test-extras", "make newest", "make test-homeassistant"} <= set(tried)


def test_nothing_but_actions_names_a_host() -> None:
    for path in GITHUB.rglob("*.yml"):
        assert "://" not in path.read_text(encoding="utf-8"), path


@pytest.mark.parametrize("path", sorted(GITHUB.glob("ISSUE_TEMPLATE/[!c]*.yml")), ids=lambda path: path.name)
def test_a_form_asks_for_what_it_needs(path: Path) -> None:
    form = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert form["name"] and form["description"]
    assert all(each["type"] in ("input", "textarea") and each["attributes"]["label"] for each in form["body"])
    assert all(each["validations"]["required"] for each in form["body"])


def test_the_citation_is_of_the_last_release() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    (version, date), *_ = re.findall(r"^## (\d\S*) - (\S+)$", changes, re.M)
    assert (citation["version"], str(citation["date-released"])) == (version, date)
    assert citation["license"] == PROJECT["license"]
