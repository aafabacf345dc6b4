"""Times each network alone: eager, traced, scripted, frozen, on the installed runtimes, and a `model.pt2` if made."""

import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

import torch
from rich.progress import Progress
from torch import Tensor

from plate_nets.countries import main_scheme
from plate_nets.networks.conversion.exported import quiet
from plate_nets.networks.registry import DETECTORS, NETWORKS
from plate_nets.networks.runtimes.networks import PACKAGE, default_repository, first_versions, network_folder
from plate_nets.networks.runtimes.openvino import compile_model, infer
from plate_nets.triton.backend.settings import NetworkSettings, thread_count

_FRAMES = ((1, 3, 384, 640),)
SHAPES = {
    name: _FRAMES if name in DETECTORS else tuple((count, *network.dims) for count in (1, 16))
    for name, network in NETWORKS.items()
}
"""A 16:9 frame at the default size; the crops, or windows, of one plate and of sixteen."""

Run = Callable[[Tensor], Tensor]


def measure_networks(seconds: float, progress: Progress) -> list[dict[str, Any]]:
    """Time all forms of each network in turn, on the CPU and on a GPU if there is one -> rows, JSON-ready.

    ``difference`` is the largest |found - expected| / (1 + |expected|) from the eager network on the same device.
    """
    threads = thread_count(NetworkSettings(), instances=1)
    torch.set_num_threads(threads)
    devices = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
    cases = [(device, name, shape) for device in devices for name in NETWORKS for shape in SHAPES[name]]
    rows = []
    for device, name, shape in progress.track(cases, description="networks"):
        progress.console.print(
            f"timing {name}, {'x'.join(map(str, shape))}, on {device}", style="dim"
        )  # pipes have no bar
        given = torch.rand(shape, generator=torch.Generator().manual_seed(0)).to(device)
        forms = dict(_forms(name, given, threads))
        rows.extend(_compare(name, device, given, forms, seconds))
    return rows


def _forms(name: str, given: Tensor, threads: int) -> Iterator[tuple[str, Run]]:
    network = NETWORKS[name].load(main_scheme()).to(given.device)
    last = NETWORKS[name].load(main_scheme()).to(given.device).to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    with quiet(), torch.inference_mode():
        traced = torch.jit.trace(network, given, check_trace=False)  # type: ignore[no-untyped-call]
        scripted = torch.jit.script(network)
        yield "eager", network
        yield "traced", traced
        yield "scripted", scripted
        yield "traced, frozen", torch.jit.freeze(traced)
        yield "scripted, frozen", torch.jit.freeze(scripted)
        yield "eager, channels-last", lambda rows: last(rows.contiguous(memory_format=torch.channels_last))
        frozen = torch.jit.freeze(torch.jit.trace(last, given, check_trace=False))  # type: ignore[no-untyped-call]
        yield "traced, frozen, channels-last", lambda rows: frozen(rows.contiguous(memory_format=torch.channels_last))
    if given.device.type == "cpu":
        yield "OpenVINO", _on_openvino(network, given.shape[1:], threads)
    folder = network_folder(first_versions(default_repository())[NETWORKS[name].model.name], name)
    if (folder / PACKAGE).is_file():
        from plate_nets.networks.conversion import aoti_package  # needs a compiler

        if given.device.type == aoti_package.DEVICE.type:
            yield "AOTInductor", aoti_package.load(folder)


def _on_openvino(network: torch.nn.Module, dims: tuple[int, ...], threads: int) -> Run:
    """A torch network in OpenVINO, for rows (N, *dims)."""
    import openvino  # after our package, which keeps it from reporting home

    with quiet():
        model = openvino.convert_model(network, example_input=torch.zeros(1, *dims), input=[(-1, *dims)])
    request = compile_model(model, threads, "float32").create_infer_request()
    return lambda rows: torch.from_numpy(infer(request, rows.numpy(), type(network).__name__)[0])


def _compare(name: str, device: str, given: Tensor, forms: dict[str, Run], seconds: float) -> list[dict[str, Any]]:
    times: dict[str, list[float]] = {form: [] for form in forms}
    answers = {}
    with quiet(), torch.inference_mode():
        for form, run in forms.items():
            for _ in range(3):  # TorchScript optimises on its first runs
                answers[form] = run(given).clone()
        deadline = time.perf_counter() + seconds
        while time.perf_counter() < deadline or len(times["eager"]) < 3:
            for form, run in forms.items():
                started = time.perf_counter()
                run(given)
                if device == "cuda":
                    torch.cuda.synchronize()
                times[form].append((time.perf_counter() - started) * 1000)
    expected = answers["eager"]
    medians = {form: statistics.median(values) for form, values in times.items()}
    return [
        {
            "network": name,
            "shape": list(given.shape),
            "device": device,
            "form": form,
            "ms": medians[form],
            "ratio": medians[form] / medians["eager"],
            "difference": float(((answers[form] - expected).abs() / (1 + expected.abs())).max()),
        }
        for form in forms
    ]
