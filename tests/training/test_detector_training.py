"""Distant plates and vehicles: their labels, drawings and targets, and the training on them."""

import json
import shutil
from pathlib import Path

import cv2
import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from plate_nets.countries import main_scheme
from plate_nets.networks.checkpoint import load_weights, read_metadata, save_weights
from plate_nets.networks.runtimes.quantization import RANGES
from plate_nets.networks.yolov5 import ANCHORS, Detect, YOLOv5Fast, YOLOv5n
from tests.commands import invoke, succeed
from tests.frames import Placed, compose
from tests.real_plates import write_labels
from training.__main__ import main
from training.detector.drawn import objects_of
from training.detector.loss import DOUBTFUL, head_loss, taught_loss
from training.detector.names import to_package
from training.detector.objects import KINDS, Objects, kept
from training.detector.pictures import pictures_of
from training.detector.slim import slim
from training.detector.teach import teach
from training.detector.trainer import fresh
from training.detector.views import SHAPES, Example, Views, example, of_photos, within
from training.synthesis.scene import render_scene
from training.synthesis.test_set import write_test_set


def boxes(*rows: tuple[float, ...]) -> np.ndarray:
    return np.array(rows, np.float32).reshape(-1, 4)


@pytest.fixture
def objects() -> Objects:
    plate, bus, car = (10, 20, 60, 32), (0, 0, 200, 100), (90, 10, 150, 60)
    return Objects.of([("plate", plate, 0.9), ("bus", bus, 0.6), ("car", car, 0.3)])


def test_objects_are_found_once_and_kept(objects: Objects, tmp_path: Path) -> None:
    asked: list[str] = []

    def find(name: str) -> Objects:
        asked.append(name)
        return objects if name == "a.jpg" else Objects()

    for names in (["a.jpg"], ["a.jpg", "b.jpg"]):
        found = kept(tmp_path / "photos.json", names, find)
    assert asked == ["a.jpg", "b.jpg"] and not found["b.jpg"].rows
    assert [KINDS[kind] for kind in found["a.jpg"].kinds] == ["plate", "bus", "car"]
    np.testing.assert_allclose(found["a.jpg"].boxes, objects.boxes)
    np.testing.assert_allclose(found["a.jpg"].scores, objects.scores)


def test_taught_objects_become_targets_doubtful_or_dropped() -> None:
    named = Objects.of(
        [
            ("plate", (100, 100, 150, 112), 0.9),  # not labelled
            ("plate", (11, 11, 61, 23), 0.9),  # the labelled one
            ("plate", (200, 100, 250, 112), 0.3),
            ("car", (0, 0, 200, 200), 0.8),
            ("car", (20, 20, 100, 100), 0.3),  # part of the car
            ("truck", (300, 0, 400, 100), 0.3),
            ("truck", (300, 200, 400, 300), 0.15),
        ]
    )
    labelled = boxes((10, 10, 60, 22))
    partly, whole = (example(Path("a.jpg"), named, labelled, complete) for complete in (False, True))
    kinds = ["plate", "plate", "plate", "car", "truck"]
    assert [KINDS[kind] for kind in partly.objects.kinds] == kinds
    assert partly.sure.tolist() == [True, True, False, True, False]
    assert whole.sure.tolist() == [True, False, False, True, False], "somebody left it out, where all are labelled"


def test_photos_in_subfolders_keep_what_was_found_in_them(objects: Objects, tmp_path: Path) -> None:
    photos = {name: np.full((60, 80, 3), shade, np.uint8) for shade, name in enumerate(("b.png", "sub/b.png"))}
    write_labels(tmp_path / "set", photos, [f"{name},1,1,9,5," for name in photos])
    for _ in range(2):  # the second time they are read from the file
        taught = teach(tmp_path / "set", [lambda frame: objects if frame.any() else Objects()], tmp_path / "set.json")
        above, below = of_photos(pictures_of(tmp_path / "set"), taught)
        assert [KINDS[kind] for kind in above.objects.kinds] == ["plate"]
        assert [KINDS[kind] for kind in below.objects.kinds] == ["plate", "plate", "bus"]


def test_an_object_barely_in_view_is_doubtful() -> None:
    plate, cars = (-30, 10, 20, 22), ((-60, 0, 40, 80), (-95, 0, 5, 80))
    objects = Objects.of([("plate", plate, 1.0), *(("car", car, 1.0) for car in cars)])
    found, kinds = within(objects.boxes, Example(Path("a.jpg"), objects), (100, 200))
    np.testing.assert_allclose(found, [[0, 10, 20, 22], [0, 0, 40, 80]])
    assert kinds.tolist() == [[0, 0], [1, 1]]


def test_the_boxes_of_a_view_lie_on_their_objects(tmp_path: Path) -> None:
    frame = np.zeros((500, 800, 3), np.uint8)
    frame[200:240, 300:420] = 255
    cv2.imwrite(str(tmp_path / "a.png"), frame)
    objects = Objects.of([("plate", (300, 200, 420, 240), 1.0)])
    views = Views([[Example(tmp_path / "a.png", objects)]] * 3, batch=2, seed=1)
    seen = 0
    for step in range(6):
        batch = views[step]
        assert batch.pictures.shape[2:] in SHAPES and torch.equal(batch.pictures, views[step].pictures)
        for number, kind, x1, y1, x2, y2 in batch.plates.tolist():
            if kind == 0 and y2 - y1 > 12:
                middle = batch.pictures[int(number), :, int((y1 + y2) / 2), int((x1 + x2) / 2)]
                above = batch.pictures[int(number), :, max(0, int(y1 - 4)), int((x1 + x2) / 2)]
                assert middle.mean() > above.mean() + 0.1
                seen += 1
    assert seen > 3


HEAD = Detect(1, (64, 128, 256), ANCHORS)
HW = (64, 96)
WIDTH, HEIGHT = ANCHORS[0][0]
BOX = (41.0 - WIDTH / 2, 25.0 - HEIGHT / 2, 41.0 + WIDTH / 2, 25.0 + HEIGHT / 2)
"""Of the size of the first anchor; three cells find it: that of its centre, and the two before."""


def moved(x: float) -> tuple[float, ...]:
    """The box, moved to the right."""
    return (BOX[0] + x, BOX[1], BOX[2] + x, BOX[3])


def wanted_maps(box: tuple[float, ...], sure: float) -> list[torch.Tensor]:
    """The output of the head if it finds exactly one box of the size of its first anchor, in the cell of its centre."""
    maps = [torch.zeros(1, 18, HW[0] // stride, HW[1] // stride) for stride in HEAD.strides]
    for each in maps:
        each.unflatten(1, (3, 6))[:, :, 4] = -8
    x, y = (box[0] + box[2]) / 16, (box[1] + box[3]) / 16
    for column, row in ((int(x), int(y)), (int(x) - 1, int(y)), (int(x), int(y) - 1)):
        cell = maps[0].unflatten(1, (3, 6))[0, 0, :, row, column]
        cell[:2] = torch.logit((torch.tensor((x - column, y - row)) + 0.5) / 2)
        cell[4] = sure
    return maps


def test_the_loss_is_smallest_for_the_right_box() -> None:
    wanted = torch.tensor([[0, 0, *BOX]])
    maps = (wanted_maps(BOX, 8.0), wanted_maps(BOX, -8.0), wanted_maps(moved(24), 8.0))
    found, missed, beside = (head_loss(HEAD, each, wanted) for each in maps)
    assert found < missed < beside


def test_a_doubtful_region_does_not_affect_the_loss() -> None:
    none, doubtful = torch.empty(0, 6), torch.tensor([[0, DOUBTFUL, 20.0, 10.0, 60.0, 40.0]])
    silent, loud = (wanted_maps(BOX, sure) for sure in (-8.0, 8.0))
    assert head_loss(HEAD, loud, none) > head_loss(HEAD, silent, none) * 10
    torch.testing.assert_close(head_loss(HEAD, loud, doubtful), head_loss(HEAD, silent, doubtful), rtol=0.1, atol=1e-4)


def test_drawn_streets_list_their_cars() -> None:
    scene = render_scene(main_scheme(), np.random.default_rng(2), (480, 270), plates=4, reach=30.0)
    objects = objects_of(scene)
    plates, cars = (objects.boxes[objects.kinds == kind] for kind in (0, 1))
    assert len(plates) == len(cars) == len(scene.plates) > 1
    middles = (plates[:, :2] + plates[:, 2:]) / 2
    assert ((middles > cars[:, :2]) & (middles < cars[:, 2:])).all(), "each plate is on its car"


def test_learning_from_a_teacher_is_best_with_the_same_output() -> None:
    answers = ((BOX, 2.0), (moved(2), 2.0), (BOX, -2.0), (BOX, -8.0))
    same, beside, unsure, none = (taught_loss(HEAD, wanted_maps(*each), wanted_maps(BOX, 2.0)) for each in answers)
    assert same < beside
    assert same < unsure < none


def test_a_small_network_keeps_the_strongest_channels_of_a_large_one() -> None:
    torch.manual_seed(0)
    small, large, copy = YOLOv5Fast(), YOLOv5n(), YOLOv5Fast()
    for each in (small, large):
        for name, value in each.named_parameters():
            if name.endswith("bn.weight"):
                torch.nn.init.uniform_(value, 0.5, 1.5)
    slim(small, copy)
    assert all(torch.equal(value, copy.state_dict()[name]) for name, value in small.state_dict().items())
    slim(large, copy)
    learnt, begun = copy.state_dict(), large.state_dict()
    kept = begun["down2.bn.weight"].topk(16).indices.sort().values
    for name in ("down2.bn.weight", "down2.conv.weight"):
        assert torch.equal(learnt[name], begun[name][kept])
    assert torch.equal(learnt["down1.conv.weight"], begun["down1.conv.weight"][:, :, 1:4, 1:4])


def test_a_refused_setting_may_be_corrected(tmp_path: Path) -> None:
    assert list(write_test_set([main_scheme()], tmp_path / "data" / "photos", 4, 0))
    recipe, out = tmp_path / "tiny.toml", tmp_path / "run"
    recipe.write_text('network = "detector"\nvehicles = "none"\ndata.photos = {}\nschedule.steps = 1\n')

    def refused(setting: str) -> str:
        done = invoke(main, recipe, "--data", tmp_path / "data", "--out", out, "--set", setting)
        assert done.exit_code == 1, done.output
        return done.output.replace("\n", "")

    assert "data/phtos/labels.csv: no such file" in refused("data.phtos={}") and not out.exists()
    assert "nothing to train on: 4 photos, all held out" in refused("held_out=1")
    assert "none: not YOLOv5n of COCO" in refused("held_out=0.5")


@pytest.mark.slow
def test_a_recipe_trains_the_detector_from_photos_and_drawings(tmp_path: Path) -> None:
    """Photos are labelled, pictures drawn, a detector without vehicles learns from both, and is measured."""
    start = tmp_path / "start"
    start.mkdir()
    shown = {f"vk_{number}.png": compose(240, 320, [Placed(f"A{number}23BC77", 60, 80)]) for number in range(6)}
    for name in ("photos", "others"):
        rows = [f"vk_{number}.png,60,80,154,104,A{number}23BC77" for number in range(6)]
        write_labels(tmp_path / "data" / name, shown, rows)
    torch.manual_seed(0)
    coco, begin = YOLOv5n(80, "silu", vehicles=False), YOLOv5n(vehicles=False)
    for each in (coco, begin):
        fresh(each.detect)  # sure of nothing, like any teacher here
    save_file(to_package(coco.state_dict()), tmp_path / "data" / "coco.safetensors")
    save_weights(begin, start / "yolo.safetensors", {})
    recipe = tmp_path / "tiny.toml"
    recipe.write_text(
        'network = "detector"\nvehicles = "coco.safetensors"\nstreets = 1\nothers = 2\nheld_out = 0.4\n'
        'data.photos = {}\ndata.others.use = "check"\nchecks.others.found = 0.0\n'
        f'start.weights = "{start}"\nschedule = {{ steps = 2, batch = 1, every = 2, rate = 1e-4 }}\n'
        'quantization = { pictures = ["photos", "drawn"], count = 3 }\n'
    )
    out = tmp_path / "run"
    for _ in range(2):  # the second time there is nothing left to do
        succeed(main, recipe, "--data", tmp_path / "data", "--out", out, "--workers", 0)
    assert len(list(out.glob("prepared/drawn-*/images/*"))) == 3
    weights = out / "weights" / "yolo.safetensors"
    assert read_metadata(weights)["steps"] == "2" and RANGES in read_metadata(weights)
    learnt, begun = YOLOv5n(), YOLOv5n()
    load_weights(learnt, weights)
    load_weights(begun, start / "yolo.safetensors")
    assert learnt.vehicles is not None and begun.vehicles is None
    assert torch.equal(learnt.down1.conv.weight, begun.down1.conv.weight), "the first stages stay"
    assert not torch.equal(learnt.out4.cv1.conv.weight, begun.out4.cv1.conv.weight)
    fast, small = tmp_path / "fast", YOLOv5Fast()
    shutil.copytree(out / "prepared", fast / "prepared")
    changes = ("--set", "size=fast", "--set", 'quantization.left_out=["merge9"]')
    wrong = invoke(main, recipe, "--data", tmp_path / "data", "--out", fast, *changes)
    assert wrong.exit_code == 1 and "left_out: expected some of down1, " in wrong.output, wrong.output
    changes = ("--set", "size=fast", "--set", 'quantization.left_out=["merge3"]')
    succeed(main, recipe, "--data", tmp_path / "data", "--out", fast, "--workers", 0, *changes)
    weights = fast / "weights" / "yolo_fast.safetensors"
    load_weights(small, weights)
    rounded = json.loads(read_metadata(weights)[RANGES])
    assert "merge4.cv3" in rounded and not [layer for layer in rounded if layer.startswith("merge3")]
    report = (out / "report.html").read_text(encoding="utf-8")
    assert "<td>others<td>6<td>" in report and "<td>photos<td>" in report
    assert report.count(" px high</figcaption>") >= 6, "nothing is found, so all plates are shown"
