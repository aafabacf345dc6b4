"""Runs the yolov5 package's trainer in its own process: ``python -m training.detector.package_process JOB``.

It runs in a process because importing the package changes the environment, `sys.path` and OpenCV's threads. The
trainer's code is not copied; names in its module are replaced: the learning rate follows the clock, every batch makes
an optimiser step, and forward passes in training run in bfloat16.
"""

import json
import math
import sys
import time
from pathlib import Path
from typing import Any

import torch
import yolov5
import yolov5.train as package
from safetensors.torch import load_file
from torch import Tensor, nn
from yolov5.models.yolo import DetectionModel
from yolov5.utils.callbacks import Callbacks

from plate_nets.networks.checkpoint import load_weights, save_weights
from plate_nets.networks.yolov5 import ACTIVATIONS, YOLOv5n
from training.detector.job import CLOCK, Job
from training.detector.names import from_package, to_package

NOMINAL_BATCH = 64
"""The package collects gradients of this many pictures before a step."""

TOLERANCE = 1e-3
"""Maximum difference between our network's boxes and the package's, px of a 640 px input."""


class Clock:
    """The spent share of the time budget, including earlier runs of a resumed training."""

    def __init__(self, minutes: float, file: Path) -> None:
        self.budget = minutes * 60
        self.file = file
        self.before = float(json.loads(file.read_text(encoding="utf-8"))["seconds"]) if file.is_file() else 0.0
        self.start = time.monotonic()

    def seconds(self) -> float:
        return self.before + time.monotonic() - self.start

    def share(self) -> float:
        return min(1.0, self.seconds() / self.budget)

    def save(self, **facts: Any) -> None:
        self.file.write_text(json.dumps({"seconds": self.seconds(), **facts}), encoding="utf-8")


def run(job: Job) -> None:
    """Train until the budget is spent; leaves `last.pt` and `best.safetensors` in the job's folder."""
    torch.set_num_threads(job.threads)
    folder = Path(job.folder)
    clock = Clock(job.minutes, folder / CLOCK)
    recorder = _Recorder(folder, clock)
    package.one_cycle = lambda _first, last, _steps: lambda _epoch: _cosine(clock.share(), last)
    package.EarlyStopping = lambda patience: _Deadline(clock)
    package.ModelEMA = recorder.average
    # It only divides the loader's batch size: each batch becomes a step, so there are more in the same time
    package.WORLD_SIZE = NOMINAL_BATCH // job.batch
    if job.bfloat16:
        DetectionModel.forward = _bfloat16(DetectionModel.forward)
    callbacks = Callbacks()
    callbacks.register_action("on_model_save", callback=recorder.save)

    last = folder / "run" / "weights" / "last.pt"
    options = package.parse_opt(known=True)
    if job.resume:
        options.resume = str(last)
    else:
        start = folder / "start.pt"
        _write_start(Path(job.weights), start)
        options.weights = str(start)
    hyperparameters = folder / "hyperparameters.yaml"
    defaults = _yaml("data", "hyps", "hyp.scratch-low.yaml")
    hyperparameters.write_text(json.dumps(defaults | job.hyperparameters), encoding="utf-8")  # JSON is YAML
    options.data, options.hyp = job.data, str(hyperparameters)
    options.imgsz, options.batch_size, options.epochs = job.long_side, NOMINAL_BATCH, 10_000
    options.project, options.name, options.exist_ok = str(folder), "run", True
    options.cos_lr = options.noautoanchor = options.noplots = True
    options.optimizer, options.cache, options.workers, options.device = "AdamW", "ram", 0, "cpu"
    options.seed, options.freeze = job.seed, [job.freeze]
    package.main(options, callbacks)
    clock.save(finished=True)


def _cosine(share: float, last: float) -> float:
    return last + (1 - last) * (1 + math.cos(math.pi * share)) / 2


class _Deadline:
    """Replaces the package's early stopping: stops when no further epoch fits into the budget."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.begun = clock.seconds()
        self.epochs = 0
        self.stop = False

    @property
    def possible_stop(self) -> bool:
        now = self.clock.seconds()
        self.epochs += 1
        self.stop = now + (now - self.begun) / self.epochs > self.clock.budget
        return self.stop

    def __call__(self, epoch: int, fitness: float) -> bool:
        return self.stop


class _Recorder:
    """Holds the averaged network and writes it after each epoch, as our weights, while it improves."""

    def __init__(self, folder: Path, clock: Clock) -> None:
        self.folder = folder
        self.clock = clock
        self.network: nn.Module | None = None
        self.average_class = package.ModelEMA

    def average(self, model: nn.Module) -> Any:
        average = self.average_class(model)
        self.network = average.ema
        return average

    def save(self, last: Path, epoch: int, final: bool, best: Any, fitness: Any) -> None:
        assert self.network is not None
        facts = {"epoch": str(epoch), "seconds": f"{self.clock.seconds():.0f}", "fitness": f"{float(fitness):.5f}"}
        _export(self.network, self.folder / "last.safetensors", facts)
        if best == fitness:
            _export(self.network, self.folder / "best.safetensors", facts)
        self.clock.save(epoch=epoch, finished=False)  # written last: from here on the run can be resumed


def _export(network: nn.Module, path: Path, facts: dict[str, str]) -> None:
    """Write the package's network as our weights, after checking that both give the same boxes."""
    ours = YOLOv5n(vehicles=False).eval()
    ours.load_state_dict(from_package(network.state_dict()))
    save_weights(ours, path, facts)
    reloaded = YOLOv5n().eval()
    load_weights(reloaded, path)
    training = network.training
    network.eval()
    with torch.no_grad():
        picture = torch.rand(1, 3, 640, 384)
        difference = float((network(picture)[0] - reloaded(picture)).abs().max())
    network.train(training)
    if difference > TOLERANCE:
        raise RuntimeError(f"{path}: our network differs from the package's by {difference:g}, tolerance {TOLERANCE:g}")


def _bfloat16(forward: Any) -> Any:
    """A forward pass with convolutions in bfloat16 while training; outputs and everything else stay float32."""

    def mixed(self: nn.Module, x: Tensor, *args: Any, **kwargs: Any) -> Any:
        if not self.training:
            return forward(self, x, *args, **kwargs)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            rows = forward(self, x.contiguous(memory_format=torch.channels_last), *args, **kwargs)
        return [row.float() for row in rows]

    return mixed


def _write_start(weights: Path, path: Path) -> None:
    """Write weights as a checkpoint that the package can start from.

    Our weights are taken completely. From the package's (COCO), backbone and neck are taken, with a new head.
    """
    network = YOLOv5n()
    state = load_file(weights)
    if any(key.startswith("model.") for key in state):
        kept = {key: value for key, value in from_package(state).items() if not key.startswith("detect.")}
        network.load_state_dict(kept, strict=False)
        _fresh_head(network)
    else:
        load_weights(network, weights)
    model = DetectionModel(configuration(network), ch=3, nc=1)
    model.load_state_dict(to_package(network.state_dict()))
    torch.save({"epoch": -1, "model": model, "ema": None, "updates": None, "optimizer": None}, path)


def _fresh_head(network: YOLOv5n) -> None:
    """Initialise the head: objectness at the share of cells with a plate; the class score, which the package does not
    train for a single class, is fixed at 1."""
    for stride, head in zip(network.detect.strides, network.detect.m, strict=True):
        assert isinstance(head, nn.Conv2d) and head.bias is not None
        bias = head.bias.data.view(3, -1)
        bias[:, 4] = math.log(8 / (640 / stride) ** 2)
        bias[:, 5:] = 12.0
        head.weight.data.view(3, -1, head.in_channels)[:, 5:] = 0.0


def configuration(network: YOLOv5n) -> dict[str, Any]:
    """The package's description of YOLOv5n, with our anchors and activation."""
    strides = torch.tensor(network.detect.strides).view(-1, 1, 1)
    anchors = (network.detect.anchors * strides).flatten(1).tolist()
    activation = f"nn.{ACTIVATIONS[network.activation].__name__}()"
    return _yaml("models", "yolov5n.yaml") | {"nc": 1, "anchors": anchors, "activation": activation}


def _yaml(*path: str) -> dict[str, Any]:
    """A file of the package."""
    values: dict[str, Any] = package.yaml.safe_load(Path(yolov5.__file__).parent.joinpath(*path).read_text("utf-8"))
    return values


if __name__ == "__main__":
    run(Job(**json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))))
