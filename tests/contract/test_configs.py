"""The files of the model repositories match their contracts."""

import shutil
from pathlib import Path

import pytest

from benchmarks.variants.contract import MODEL_REPOSITORY as VARIANTS_REPOSITORY
from benchmarks.variants.contract import MODELS as VARIANT_MODELS
from plate_nets.contract import MODELS, READERS
from plate_nets.countries import main_scheme
from plate_nets.triton.config_check import check_configs, parse_config, scheme_of
from tests.paths import ROOT
from tests.schemes import for_testland

REPOSITORY = ROOT / "model_repository"
FOLDERS = [*sorted(REPOSITORY.iterdir()), *sorted(VARIANTS_REPOSITORY.iterdir())]
BACKEND = ROOT / "plate_nets" / "triton" / "backend" / "backends" / "pytorch" / "model.py"
MODEL_FILES = [*(path for folder in FOLDERS for path in folder.glob("1/model.py")), BACKEND]


def test_the_shipped_configs_agree_with_the_contract() -> None:
    assert check_configs(REPOSITORY) == []
    assert {path.name for path in REPOSITORY.iterdir()} == {*MODELS, *READERS}
    assert check_configs(VARIANTS_REPOSITORY, VARIANT_MODELS) == []
    assert {path.name for path in VARIANTS_REPOSITORY.iterdir()} == set(VARIANT_MODELS)


@pytest.mark.parametrize("name", [name for name, spec in VARIANT_MODELS.items() if spec.backend == "ensemble"])
def test_the_steps_of_an_ensemble_match_the_contract(name: str) -> None:
    models = {**MODELS, **VARIANT_MODELS}
    made = {spec.name for spec in VARIANT_MODELS[name].inputs}
    for step in parse_config(VARIANTS_REPOSITORY / name / "config.pbtxt").ensemble_scheduling.step:
        spec = models[step.model_name]
        assert set(step.input_map) == {each.name for each in spec.inputs}
        assert set(step.output_map) <= {each.name for each in spec.outputs}
        assert set(step.input_map.values()) <= made
        made |= set(step.output_map.values())
    assert {spec.name for spec in VARIANT_MODELS[name].outputs} <= made


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: path.name)
def test_configs_contain_nothing_of_one_machine(folder: Path) -> None:
    config = parse_config(folder / "config.pbtxt")
    # Only the runtime belongs to the network; all other settings belong to a deployment, so to its environment
    assert set(config.parameters) <= {"openvino", "stalled_after"}
    for group in config.instance_group:
        assert not group.gpus
    if config.backend == "pytorch":
        assert [group.kind for group in config.instance_group] == [0], "KIND_AUTO: a GPU where there is one"
        assert config.HasField("dynamic_batching")


@pytest.mark.parametrize("path", MODEL_FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_model_file_holds_no_logic(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 40
    assert not any(line.lstrip().startswith(("if ", "for ", "while ", "try:")) for line in lines)


CHANGES = [
    ("stn", "name:", 'name: "stm"', "name: expected 'stn', got 'stm'"),
    ("stn", "backend:", 'backend: "onnxruntime"', "backend: expected 'pytorch', got 'onnxruntime'"),
    ("lprnet", "max_batch_size:", "max_batch_size: 64", "max_batch_size: expected 32, got 64"),
    ("lprnet", "dims: [23", "dims: [23, 17]", "output output__0: dims: expected (23, 18), got (23, 17)"),
    ("yolo", "data_type: TYPE_UINT8", "data_type: TYPE_FP32", "input input__0: dtype: expected UINT8, got FP32"),
    ("yolo", 'name: "output__2"', 'name: "scores"', "outputs: expected output__0, output__1, output__2, corners, as"),
    ("yolo", "optional:", "optional: false", "input input__0: optional: expected True, got False"),
    ("plate_recognition", "optional:", "optional: false", "input input__0: optional: expected True, got False"),
    ("plate_recognition", "max_batch_size:", "max_batch: 0", "does not parse"),
]


@pytest.mark.parametrize(("model", "start", "line", "fault"), CHANGES, ids=[change[-1][:30] for change in CHANGES])
def test_a_config_that_differs_is_named(tmp_path: Path, model: str, start: str, line: str, fault: str) -> None:
    repository = copy(tmp_path)
    path = repository / model / "config.pbtxt"
    lines = path.read_text(encoding="utf-8").splitlines()
    place = next(number for number, each in enumerate(lines) if each.lstrip().startswith(start))
    lines[place] = line
    path.write_text("\n".join(lines), encoding="utf-8")
    faults = check_configs(repository)
    assert any(fault in each for each in faults), faults
    assert all(str(path) in each for each in faults)


def test_a_repository_may_be_of_another_scheme(tmp_path: Path) -> None:
    repository = copy(tmp_path)
    assert scheme_of(repository) == main_scheme()
    scheme = for_testland(repository)
    assert scheme_of(repository) == scheme
    assert check_configs(repository) == []
    shutil.copy(REPOSITORY / "lprnet" / "config.pbtxt", repository / "lprnet")
    (fault,) = check_configs(repository)
    assert fault.endswith("lprnet/config.pbtxt: output output__0: dims: expected (29, 18), got (23, 18)")
    (repository / "plate_recognition" / "testland.toml").unlink()
    (fault,) = check_configs(repository)
    assert "testland.toml: No such file" in fault


def test_missing_and_foreign_models_are_named(tmp_path: Path) -> None:
    repository = copy(tmp_path)
    (repository / "stn" / "config.pbtxt").unlink()
    (repository / "yolo" / "1" / "model.py").unlink()
    (repository / "extra").mkdir()
    faults = "\n".join(check_configs(repository))
    assert "stn/config.pbtxt: cannot be opened: No such file" in faults
    assert "yolo/config.pbtxt: no 1/model.py beside it" in faults
    assert "extra: no model of the contract" in faults
    assert check_configs(tmp_path / "nowhere") == [f"{tmp_path / 'nowhere'}: no such model repository"]


def copy(folder: Path) -> Path:
    ignored = shutil.ignore_patterns("*.pt", "*.xml", "*.bin", "__pycache__")
    return Path(shutil.copytree(REPOSITORY, folder / "model_repository", ignore=ignored))
