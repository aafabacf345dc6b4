"""Requests that meet in one batch of `stn` or `lprnet` are answered as if alone; a setting changes the instances."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from plate_nets.cli.options import SCHEME_VARIABLE
from plate_nets.client import PlateClient, parse_url
from plate_nets.client.transports import ServerAccess, open_transport
from plate_nets.client.transports.calls import Input, infer, model_config
from plate_nets.contract import LPRNET, STN, YOLO, ModelSpec
from plate_nets.countries import main_scheme
from plate_nets.recognition.decoding import PlateDecoder
from plate_nets.recognition.geometry import crop_plates
from plate_nets.triton.server import EmbeddedTriton
from plate_nets.types import Crops, Logits
from tests.frames import compose, crowd
from tests.served.conftest import Served

THREADS = 12
ROUNDS = 5
PLACED = crowd(20)
CROPS = crop_plates(
    compose(720, 1280, PLACED), np.array([[p.box.xmin, p.box.ymin, p.box.xmax, p.box.ymax] for p in PLACED]), 0.1
)


class Chain:
    """Crops -> straightened crops and logits, over its own connection."""

    def __init__(self, served: Served) -> None:
        self._transport = open_transport(ServerAccess(parse_url(served.http)))

    def __call__(self, crops: Crops) -> tuple[Crops, Logits]:
        straight = self._ask(STN, crops)
        return straight, self._ask(LPRNET, straight)

    def _ask(self, model: ModelSpec, rows: Crops) -> Crops:
        (found,) = self._transport.send(infer(model, Input(model.inputs[0], rows)), 120).values()
        return found

    def close(self) -> None:
        self._transport.close()


@pytest.fixture(scope="module")
def alone(served: Served) -> Iterator[tuple[Crops, Logits]]:
    """Every crop by itself, with no other requests."""
    chain = Chain(served)
    found = [chain(CROPS[row : row + 1]) for row in range(len(CROPS))]
    yield np.concatenate([straight for straight, _ in found]), np.concatenate([logits for _, logits in found])
    chain.close()


def test_other_requests_in_a_batch_change_nothing(served: Served, alone: tuple[Crops, Logits]) -> None:
    straight, logits = alone
    readings = PlateDecoder(main_scheme()).decode(logits)
    assert len({each.text for each in readings} & {placed.text for placed in PLACED}) > 15

    def ask(thread: int) -> int:
        rng = np.random.default_rng(thread)
        chain = Chain(served)
        for _ in range(ROUNDS):
            rows = rng.permutation(len(CROPS))[: rng.integers(1, 9)]
            found = chain(CROPS[rows])
            np.testing.assert_allclose(found[0], straight[rows], atol=1e-4)
            np.testing.assert_allclose(found[1], logits[rows], atol=1e-3)
            assert [each.text for each in PlateDecoder(main_scheme()).decode(found[1])] == [
                readings[row].text for row in rows
            ]
        chain.close()
        return ROUNDS

    before = served.executions(STN.name, LPRNET.name)
    with ThreadPoolExecutor(THREADS) as threads:
        requests = sum(threads.map(ask, range(THREADS)))
    executed = [b - a for a, b in zip(before, served.executions(STN.name, LPRNET.name), strict=True)]
    assert all(each < requests for each in executed), f"no batch formed: {executed} executions of {requests} requests"


def test_a_named_config_runs_two_detectors(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """``--model-config-name`` chooses another number of instances, each with its share of the cores."""
    monkeypatch.setenv(SCHEME_VARIABLE, "russia")  # fewer models to load
    frame = compose(720, 1280, PLACED)
    options = ("--model-config-name=throughput",)
    with (
        EmbeddedTriton(options=options, exit_timeout=0) as server,
        open_transport(ServerAccess(parse_url(server.http_url), control_key=server.control_key)) as control,
        PlateClient(server.http_url, timeout=120) as client,
        PlateClient(served.http, timeout=120) as usual,
    ):
        config = control.send(model_config(YOLO.name), 60)
        assert [group["count"] for group in config["instance_group"]] == [2]
        with ThreadPoolExecutor(4) as threads:
            answers = list(threads.map(lambda _: client.read(frame), range(8)))
        expected = [plate.reading.text for plate in usual.read(frame)]
    assert [[plate.reading.text for plate in answer] for answer in answers] == [expected] * 8
