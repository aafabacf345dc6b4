"""The variants of `benchmarks/model_repository/` on a real Triton answer as production does."""

import itertools
from collections.abc import Iterator

import numpy as np
import pytest

from benchmarks.callers.client_chain import ClientChain
from benchmarks.variants.contract import MODEL_REPOSITORY, PACKAGE, PLATE_RECOGNITION_ENSEMBLE, PLATE_RECOGNITION_PYTHON
from benchmarks.variants.contract import MODELS as VARIANT_MODELS
from plate_nets.client import parse_url, plates
from plate_nets.client.transports import ServerAccess, Transport, open_transport
from plate_nets.client.transports.calls import Input, infer
from plate_nets.common.errors import PlateError
from plate_nets.contract import MODELS, PLATE_RECOGNITION, PLATES, ModelSpec
from plate_nets.countries import main_scheme
from plate_nets.recognition.decoding import DecodingSettings
from plate_nets.recognition.pipeline import CHUNK
from plate_nets.triton.server import EmbeddedTriton
from plate_nets.types import Frame, Plate
from tests.frames import Placed, compose, crowd, encode
from tests.served.conftest import Served

RAW, ENCODED = PLATE_RECOGNITION.inputs
PLACED = crowd(18)
EMPTY = compose(720, 1280)
TIMEOUT = 120.0


FIRST_LOOK = {"again_below": 0, "again_under": 0}
"""Settings without a second look, which an ensemble cannot have."""
RUSSIA_ALONE = {"scheme": main_scheme().name}
"""What the ensemble and the client's chain read; the server loads no other reader."""


@pytest.fixture(scope="module")
def triton() -> Iterator[Served]:
    with pytest.MonkeyPatch.context() as patch:
        for model, (name, value) in itertools.product(
            (PLATE_RECOGNITION, PLATE_RECOGNITION_PYTHON), (FIRST_LOOK | RUSSIA_ALONE).items()
        ):
            patch.setenv(f"PLATES_{model.name}_{name}".upper(), str(value))
        with EmbeddedTriton(
            model_repositories=[MODEL_REPOSITORY],
            packages=[PACKAGE],
            model_control="explicit",
            load=[*MODELS, *VARIANT_MODELS],
            exit_timeout=0,
        ) as server:
            yield Served(server.http_url, server.grpc_url, server.control_key)


@pytest.fixture
def transport(triton: Served) -> Iterator[Transport]:
    with open_transport(ServerAccess(parse_url(triton.http))) as transport:
        yield transport


def read(transport: Transport, model: ModelSpec, image: Frame | bytes) -> list[Plate]:
    """Send a picture through a model with the same inputs and outputs as `plate_recognition`."""
    sent = Input(ENCODED, np.frombuffer(image, np.uint8)) if isinstance(image, bytes) else Input(RAW, image)
    return plates(transport.send(infer(model, sent, outputs=PLATES), TIMEOUT))


def check(found: list[Plate], expected: list[Plate]) -> None:
    assert [(plate.reading.text, plate.reading.best) for plate in found] == [
        (plate.reading.text, plate.reading.best) for plate in expected
    ]
    for one, other in zip(found, expected, strict=True):
        assert (one.score, one.reading.confidence) == pytest.approx((other.score, other.reading.confidence), abs=1e-3)
        assert [one.box.xmin, one.box.ymin, one.box.xmax, one.box.ymax] == pytest.approx(
            [other.box.xmin, other.box.ymin, other.box.xmax, other.box.ymax], abs=0.1
        )


@pytest.mark.parametrize("suffix", ["", ".jpg"], ids=["raw", "encoded"])
@pytest.mark.parametrize("count", [0, 1, 4, 18])
def test_every_variant_answers_as_production(transport: Transport, triton: Served, count: int, suffix: str) -> None:
    frame = compose(720, 1280, PLACED[:count])
    image = encode(frame, suffix) if suffix else frame
    expected = read(transport, PLATE_RECOGNITION, image)
    texts = {plate.reading.text for plate in expected}
    assert len(texts & {placed.text for placed in PLACED[:count]}) >= 0.8 * count
    for model in (PLATE_RECOGNITION_ENSEMBLE, PLATE_RECOGNITION_PYTHON):
        check(read(transport, model, image), expected)
    with ClientChain(triton.http, timeout=120, decoding=DecodingSettings(again_below=0, again_under=0)) as chain:
        check(chain.read(image), expected)


def test_an_ensemble_runs_the_reader_on_an_empty_crop_but_bls_stops(transport: Transport, triton: Served) -> None:
    models = ("yolo", "stn", "lprnet")
    before = triton.executions(*models)
    assert read(transport, PLATE_RECOGNITION, EMPTY) == []
    between = triton.executions(*models)
    assert read(transport, PLATE_RECOGNITION_ENSEMBLE, EMPTY) == []
    after = triton.executions(*models)
    assert [b - a for a, b in zip(before, between, strict=True)] == [1, 0, 0]
    assert [b - a for a, b in zip(between, after, strict=True)] == [1, 1, 1]


def test_an_ensemble_cannot_split_batches_but_bls_can(transport: Transport, triton: Served) -> None:
    many = compose(1280, 1280, [Placed("A123BC77", 20 + 192 * (i % 6), 20 + 128 * (i // 6), 170) for i in range(54)])
    before = triton.executions("stn", "lprnet")
    count = len(read(transport, PLATE_RECOGNITION, many))
    assert count > CHUNK
    calls = [b - a for a, b in zip(before, triton.executions("stn", "lprnet"), strict=True)]
    assert calls == [-(-count // CHUNK)] * 2
    with pytest.raises(PlateError, match=f"batch-size must be <= {CHUNK}"):
        read(transport, PLATE_RECOGNITION_ENSEMBLE, many)
