"""Every `model.py`, run through the stand-in for Triton: BLS, errors, memory."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from plate_nets.cli.options import SCHEME_VARIABLE
from plate_nets.common.control_key import KEY_VARIABLE, probe_token
from plate_nets.contract import (
    APPEARANCE,
    COUNTRY,
    CROP_DIMS,
    LPRNET,
    MODELS,
    PLATE_RECOGNITION,
    PLATES,
    STN,
    VEHICLE_ROWS,
    YOLO,
    ModelSpec,
    TensorSpec,
)
from plate_nets.countries import MAIN_SCHEME, main_scheme
from plate_nets.countries.designs import DESIGNS, GROUNDS
from plate_nets.networks.runtimes.networks import IR, released
from plate_nets.networks.runtimes.openvino import read_ir
from plate_nets.recognition.detection import NO_HEAD
from plate_nets.types import STEPS
from tests.fakes import triton
from tests.frames import Placed, compose, encode
from tests.paths import ROOT

KEY = "k" * 16
CLASSES = main_scheme().classes
FRAME = compose(120, 200, [Placed("A123BC77", 20, 40)])


class FakeModel:
    """A model of the contract that computes its answer with a function."""

    def __init__(self, spec: ModelSpec, answer: Callable[..., Sequence[np.ndarray]]) -> None:
        self.spec = spec
        self.answer = answer
        self.given: list[list[np.ndarray]] = []
        self.gave: list[Sequence[np.ndarray]] = []

    def execute(self, requests: Sequence[triton.InferenceRequest]) -> list[triton.InferenceResponse]:
        return [self._one(request) for request in requests]

    def _one(self, request: triton.InferenceRequest) -> triton.InferenceResponse:
        arrays = {each.name(): each.as_numpy() for each in request.inputs()}
        self.given.append([arrays[spec.name] for spec in self.spec.inputs if spec.name in arrays])
        try:
            found = self.answer(*self.given[-1])
        except RuntimeError as error:
            return triton.InferenceResponse([], triton.TritonError(str(error), triton.TritonError.INTERNAL))
        self.gave.append(found)
        return triton.InferenceResponse(
            [
                triton.Tensor(spec.name, array)
                for spec, array in zip(self.spec.outputs, found, strict=True)
                if spec.name in request.requested_output_names()
            ]
        )


BUS = [-200, -300, 300, 60, 0.75, 2]
"""A vehicle around the plates, as a row of `VEHICLE_ROWS`."""


def plates(count: int) -> Callable[[np.ndarray], Sequence[np.ndarray]]:
    """A detector that always finds so many plates, each with a lower score than the one before."""

    def detect(frame: np.ndarray) -> Sequence[np.ndarray]:
        numbers = np.arange(count, dtype=np.float32)
        crops = np.ascontiguousarray(np.broadcast_to(numbers[:, None, None, None], (count, *CROP_DIMS)))
        boxes = (numbers[:, None] + [0, -24, 94, 0]).astype(np.float32)
        corners = boxes[:, [0, 1, 2, 1, 2, 3, 0, 3]] + np.array([0.1] + [0] * 7, np.float32)
        scores = (1 - numbers / 1000).astype(np.float32)
        return crops, boxes, scores, np.ascontiguousarray(corners), crops[:0], crops, np.array([BUS], np.float32)

    return detect


def logits(crops: np.ndarray) -> Sequence[np.ndarray]:
    """The number of a crop as the class of its first step, followed by blanks."""
    found = np.full((len(crops), CLASSES, STEPS), -9, np.float32)
    found[:, -1, 1:] = 9
    found[np.arange(len(crops)), crops[:, 0, 0, 0].astype(int) % 22, 0] = 9
    return (found,)


@pytest.fixture
def chain(fake_server: triton.Server, model_repository: Path, monkeypatch: pytest.MonkeyPatch) -> triton.Server:
    """The real `plate_recognition` over stand-ins of the other models; one plate."""
    monkeypatch.setenv(KEY_VARIABLE, KEY)
    monkeypatch.setenv(SCHEME_VARIABLE, MAIN_SCHEME)  # no stand-in of another reader
    folder = model_repository / PLATE_RECOGNITION.name
    fake_server.models = {
        YOLO.name: FakeModel(YOLO, plates(1)),
        STN.name: FakeModel(STN, lambda crops: (crops + 0,)),
        LPRNET.name: FakeModel(LPRNET, logits),
        COUNTRY.name: FakeModel(COUNTRY, lambda crops: (np.ones((len(crops), *COUNTRY.outputs[0].dims), np.float32),)),
        PLATE_RECOGNITION.name: triton.load_model(folder / "1" / "model.py", folder / "config.pbtxt"),
    }
    return fake_server


def ask(*wanted: str, **inputs: np.ndarray) -> triton.InferenceResponse:
    """The answer with these outputs or all."""
    tensors = [triton.Tensor(name, array) for name, array in inputs.items()]
    return triton.InferenceRequest(PLATE_RECOGNITION.name, wanted, tensors).exec()


def fault(response: triton.InferenceResponse) -> str:
    """The message of an error."""
    error = response.error()
    assert error is not None
    return error.message()


def outputs(response: triton.InferenceResponse) -> dict[str, np.ndarray]:
    assert not response.has_error(), fault(response)
    return {tensor.name(): tensor.as_numpy() for tensor in response.output_tensors()}


@pytest.mark.parametrize("count", [0, 1, 32, 33, 200])
def test_any_number_of_plates(chain: triton.Server, count: int) -> None:
    chain.models[YOLO.name] = FakeModel(YOLO, plates(count))
    found = outputs(ask(input__0=FRAME))
    assert {name: array.shape for name, array in found.items()} == {
        "coordinates": (count, 4),
        "texts": (count, 1),
        "scores": (count,),
        "confidences": (count,),
        "readings": (count, 1),
        "vehicles": (1, 6),
        "corners": (count, 8),
        "logits": (count, 23, 18),
        "characters": (count, 1 if count else 0),
        "schemes": (count, 1),
        "countries": (count, 1),
        "country_confidences": (count,),
        "grounds": (count, 1),
        "ground_confidences": (count,),
    }
    symbols = "0123456789ABEKMHOPCTYX"
    assert found["readings"][:, 0].tolist() == [symbols[number % 22] for number in range(count)]
    assert found["texts"][:, 0].tolist() == [""] * count  # a single symbol is no plate
    assert found["coordinates"][:, 0].tolist() == found["corners"][:, 7].tolist() == list(range(count))
    chunks = -(-count // 32)  # plates without a text are also read upright
    assert chain.counts() == {"plate_recognition": 1, "yolo": 1} | (
        {"stn": 2 * chunks, "lprnet": 2 * chunks, "country": chunks} if count else {}
    )


@pytest.mark.parametrize(
    "sent", [{"input__0": FRAME}, {"image": np.frombuffer(encode(FRAME), np.uint8)}], ids=["raw", "encoded"]
)
def test_the_picture_is_passed_on_unchanged(chain: triton.Server, sent: dict[str, np.ndarray]) -> None:
    ask(**sent)
    asked, handed = (chain.asked[number].inputs() for number in (0, 1))
    assert [each.name() for each in handed] == list(sent)
    assert handed[0] is asked[0], "the caller's own tensor"


def test_crops_are_passed_on_without_a_copy_and_only_the_logits_are_copied_to_the_host(chain: triton.Server) -> None:
    chain.models[YOLO.name] = FakeModel(YOLO, plates(32))
    ask(input__0=FRAME)
    yolo, stn, lprnet = (chain.models[spec.name] for spec in (YOLO, STN, LPRNET))
    assert np.shares_memory(stn.given[0][0], yolo.gave[0][0])
    assert all(any(np.shares_memory(given, gave) for (gave,) in stn.gave) for (given,) in lprnet.given)
    wanted = {each.model_name: each.preferred_memory for each in chain.asked}
    assert wanted[STN.name] is wanted[YOLO.name] is None
    assert wanted[LPRNET.name] == triton.PreferredMemory(triton.TRITONSERVER_MEMORY_CPU)


def test_a_plate_without_a_text_is_also_read_from_its_upright_crop(chain: triton.Server) -> None:
    crops, *boxes, _, _, vehicles = plates(3)(FRAME)
    chain.models[YOLO.name] = FakeModel(YOLO, lambda _: (crops, *boxes, crops[:0], crops + 5, vehicles))
    outputs(ask(input__0=FRAME))
    assert [given[:, 0, 0, 0].tolist() for (given,) in chain.models[STN.name].given] == [[0, 1, 2], [5, 6, 7]]
    assert chain.metrics['plates_stage_seconds{"stage": "look_again"}'] == 1


@pytest.mark.parametrize(
    ("inputs", "fault"),
    [
        ({}, "expected exactly one of input__0 and image, got neither"),
        ({"input__0": FRAME, "image": np.zeros(9, np.uint8)}, "got both"),
    ],
)
def test_an_error_of_the_caller_says_what_is_wrong(
    chain: triton.Server, inputs: dict[str, np.ndarray], fault: str
) -> None:
    model = chain.models[PLATE_RECOGNITION.name]
    tensors = [triton.Tensor(name, array) for name, array in inputs.items()]
    good = triton.InferenceRequest(PLATE_RECOGNITION.name, inputs=[triton.Tensor("input__0", FRAME)])
    bad = triton.InferenceRequest(PLATE_RECOGNITION.name, inputs=tensors)
    before, refused, after = model.execute([good, bad, good])  # each request of a batch on its own
    assert refused.error().code() == triton.TritonError.INVALID_ARG
    assert refused.error().message().startswith("PLATES_BAD_INPUT: ")
    assert fault in refused.error().message()
    assert not before.has_error() and not after.has_error()
    assert triton.Logger.lines == []


INPUT_ERROR = "PLATES_BAD_INPUT: input__0: expected less"


@pytest.mark.parametrize(
    ("spec", "said", "answered", "code"),
    [
        (YOLO, f"[request id: <id_unknown>] {INPUT_ERROR}", INPUT_ERROR, triton.TritonError.INVALID_ARG),
        *(
            (YOLO, said, f"{answered}: yolo: {said}", triton.TritonError.UNAVAILABLE)
            for said, answered in (
                ("[request id: <id_unknown>] Exceeds maximum queue size", "PLATES_OVERLOADED"),
                ("Request timeout expired", "PLATES_OVERLOADED"),
                ("Stub process 'yolo_0_0' is not healthy.", "PLATES_MODEL_DIED"),
                ("Failed for execute the inference request. Model 'yolo' is not ready.", "PLATES_UNAVAILABLE"),
            )
        ),
        *(
            (spec, "out of memory", f"PLATES_INTERNAL: {spec.name}: out of memory", triton.TritonError.INTERNAL)
            for spec in (YOLO, STN, LPRNET)
        ),
    ],
)
def test_an_error_of_an_inner_model_is_passed_on_with_its_name(
    chain: triton.Server, spec: ModelSpec, said: str, answered: str, code: int
) -> None:
    def refuse(_: np.ndarray) -> Sequence[np.ndarray]:
        raise RuntimeError(said)

    chain.models[spec.name] = FakeModel(spec, refuse)
    (response,) = chain.models[PLATE_RECOGNITION.name].execute([request()])
    assert (response.error().message(), response.error().code()) == (answered, code)
    if answered == INPUT_ERROR:
        counted = {"plates_request_seconds": 1, 'plates_errors_total{"code": "PLATES_BAD_INPUT"}': 1}
        assert chain.metrics == counted, "a picture that is refused has been in no stage"


def request(**changes: Any) -> triton.InferenceRequest:
    return triton.InferenceRequest(inputs=[triton.Tensor("input__0", FRAME)], **changes)


def give_up(model: FakeModel, request: triton.InferenceRequest) -> None:
    """The caller hangs up while ``model`` works."""
    answer = model.answer

    def hang_up(*arrays: np.ndarray) -> Sequence[np.ndarray]:
        request.cancelled = True
        return answer(*arrays)

    model.answer = hang_up


@pytest.mark.parametrize(("busy", "begun"), [(YOLO, {"yolo"}), (STN, {"yolo", "stn", "country"})])
def test_no_stage_runs_after_the_caller_hung_up(chain: triton.Server, busy: ModelSpec, begun: set[str]) -> None:
    left = request()
    give_up(chain.models[busy.name], left)
    (response,) = chain.models[PLATE_RECOGNITION.name].execute([left])
    assert response.error().message().startswith("PLATES_TIMED_OUT: the caller hung up before ")
    assert chain.counts()[busy.name] == 1 and chain.counts().keys() <= begun
    assert chain.metrics['plates_errors_total{"code": "PLATES_TIMED_OUT"}'] == 1
    assert triton.Logger.lines == []


def test_no_stage_runs_after_the_timeout_of_the_request(chain: triton.Server) -> None:
    (response,) = chain.models[PLATE_RECOGNITION.name].execute([request(timeout=1)])
    assert response.error().code() == triton.TritonError.UNAVAILABLE
    assert response.error().message() == ("PLATES_TIMED_OUT: the request's timeout of 1e-06 s was over before detect")
    assert chain.counts() == {}
    (response,) = chain.models[PLATE_RECOGNITION.name].execute([request(timeout=60_000_000)])
    assert not response.has_error()


@pytest.mark.parametrize(("names", "looks"), [(PLATES, 0), (APPEARANCE[:1], 1), ((PLATES[1], APPEARANCE[3]), 1)])
def test_the_appearance_is_computed_if_a_request_names_it(
    chain: triton.Server, names: Sequence[TensorSpec], looks: int
) -> None:
    chain.models[COUNTRY.name] = FakeModel(COUNTRY, lambda crops: (looks_of(crops),))
    found = outputs(ask(*(spec.name for spec in names), input__0=FRAME))
    assert set(found) == {spec.name for spec in names} and chain.counts().get("country", 0) == looks
    if APPEARANCE[0].name in found:
        assert found["countries"].tolist() == [["unknown"]], "it has no text"
    if APPEARANCE[3].name in found:
        np.testing.assert_allclose(found["ground_confidences"], 1, atol=0.01)


def looks_of(crops: np.ndarray) -> np.ndarray:
    """Logits of `country`: all plates are red."""
    found = np.zeros((len(crops), *COUNTRY.outputs[0].dims), np.float32)
    found[:, len(DESIGNS) + GROUNDS.index("red")] = 12
    return found


def test_the_metrics_count_frames_plates_and_errors(chain: triton.Server) -> None:
    model = chain.models[PLATE_RECOGNITION.name]
    encoded = np.frombuffer(encode(FRAME), np.uint8)
    model.execute([request(), triton.InferenceRequest(inputs=[triton.Tensor("image", encoded)])])
    chain.models[YOLO.name] = FakeModel(YOLO, plates(0))
    model.execute([request()])
    chain.models[YOLO.name] = FakeModel(YOLO, plates(40))
    model.execute([request(), triton.InferenceRequest(inputs=[])])
    assert chain.metrics == {
        "plates_frames_total": 4,
        "plates_early_stops_total": 1,
        "plates_plates_total": 42,
        "plates_unread_plates_total": 42,
        "plates_request_seconds": 5,
        'plates_errors_total{"code": "PLATES_BAD_INPUT"}': 1,
        'plates_stage_seconds{"stage": "detect"}': 4,
        'plates_stage_seconds{"stage": "rectify"}': 3,
        'plates_stage_seconds{"stage": "read"}': 3,
        'plates_stage_seconds{"stage": "decode_text"}': 3,
        'plates_stage_seconds{"stage": "tell_country"}': 3,
        'plates_stage_seconds{"stage": "look_again"}': 3,
    }


def test_a_probe_is_answered_and_not_counted(chain: triton.Server) -> None:
    model = chain.models[PLATE_RECOGNITION.name]
    (answered,) = model.execute([request(parameters={"plates_probe": probe_token(KEY)})])
    assert not answered.has_error()
    model.execute([triton.InferenceRequest(inputs=[], parameters={"plates_probe": probe_token(KEY)})])
    assert chain.metrics == {}
    model.execute([request(parameters={"plates_probe": True, "other": 1})])
    assert chain.metrics["plates_frames_total"] == 1


def test_parameters_that_are_no_text_do_no_harm(chain: triton.Server, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = request()
    monkeypatch.setattr(asked, "parameters", lambda: b"\xff".decode())  # Triton's own method fails like this
    (response,) = chain.models[PLATE_RECOGNITION.name].execute([asked])
    assert not response.has_error()


def test_a_missing_inner_model_is_named(chain: triton.Server) -> None:
    del chain.models[LPRNET.name]
    assert "lprnet: Request for unknown model" in fault(ask(input__0=FRAME))


def test_an_internal_error_hides_its_traceback(chain: triton.Server, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError("secret")

    monkeypatch.setattr("plate_nets.triton.backend.recognition.pack", fail)
    assert fault(ask(input__0=FRAME)) == ("PLATES_INTERNAL: unexpected ZeroDivisionError; see the server's log")
    assert "secret" in triton.Logger.lines[0]


def test_a_limit_can_be_set_for_yolo_only(
    fake_server: triton.Server, model_repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLATES_YOLO_MAX_PIXELS", "10000")
    for name in (YOLO.name, PLATE_RECOGNITION.name):
        folder = model_repository / name
        fake_server.models[name] = triton.load_model(folder / "1" / "model.py", folder / "config.pbtxt")
    for name, array in (("input__0", FRAME), ("image", np.frombuffer(encode(FRAME), np.uint8))):
        message = fault(ask(**{name: array}))
        assert message == f"PLATES_TOO_LARGE: {name}: expected at most 10000 pixels, got 24000 (200x120)"
    assert fake_server.counts() == {"plate_recognition": 2, "yolo": 2}


@pytest.fixture(scope="module")
def shipped(model_repository: Path) -> dict[str, Any]:
    """Detector, reader and BLS, initialized."""
    backend = ROOT / "plate_nets" / "triton" / "backend" / "backends" / "pytorch" / "model.py"
    paths = {
        name: backend if spec.backend == "pytorch" else model_repository / name / "1" / "model.py"
        for name, spec in MODELS.items()
    }
    return {name: triton.load_model(path, model_repository / name / "config.pbtxt") for name, path in paths.items()}


@pytest.fixture
def real(fake_server: triton.Server, shipped: dict[str, Any]) -> triton.Server:
    """Detector, reader and BLS as shipped, without a server."""
    fake_server.models.update(shipped)
    return fake_server


@pytest.mark.parametrize("model", [PLATE_RECOGNITION.name, YOLO.name])
def test_a_refused_picture_gets_the_same_error_from_every_model(real: triton.Server, model: str) -> None:
    for name, array, fault in (
        ("image", np.zeros(9, np.uint8), "image: expected a JPEG, PNG, WEBP, BMP, HEIC or AVIF picture, got 9 bytes"),
        ("input__0", np.zeros((0, 0, 3), np.uint8), "input__0: expected at least 8 pixels a side, got 0x0"),
        ("input__0", np.zeros((1, 1, 3), np.uint8), "input__0: expected at least 8 pixels a side, got 1x1"),
    ):
        (response,) = real.models[model].execute([triton.InferenceRequest(model, inputs=[triton.Tensor(name, array)])])
        assert response.error().code() == triton.TritonError.INVALID_ARG
        assert response.error().message().startswith(f"PLATES_BAD_INPUT: {fault}")


@pytest.mark.parametrize("count", [0, 1, 40])
def test_evidence_and_vehicles_are_computed_only_if_requested(chain: triton.Server, count: int) -> None:
    chain.models[YOLO.name] = FakeModel(YOLO, plates(count))

    usual = [spec.name for spec in PLATES]
    assert list(outputs(ask(*usual, input__0=FRAME))) == usual
    assert list(outputs(ask("texts", "characters", input__0=FRAME))) == ["texts", "characters"]
    with_vehicles = outputs(ask(*usual, VEHICLE_ROWS.name, input__0=FRAME))
    assert list(with_vehicles) == [*usual, VEHICLE_ROWS.name]
    np.testing.assert_array_equal(with_vehicles[VEHICLE_ROWS.name], np.array([BUS], np.float32))
    chain.models[LPRNET.name].gave.clear()
    found = outputs(ask(input__0=FRAME))
    assert list(found) == [spec.name for spec in PLATE_RECOGNITION.outputs]
    assert found["logits"].shape == (count, CLASSES, STEPS)
    if count:
        given = np.concatenate([rows for (rows,) in chain.models[LPRNET.name].gave])[:count]
        np.testing.assert_array_equal(np.sort(found["logits"], axis=0), np.sort(given, axis=0))
    lengths = [len(best) for best in found["readings"][:, 0]]
    assert found["characters"].shape == (count, max(lengths, default=0))
    for row, length, least in zip(found["characters"], lengths, found["confidences"], strict=True):
        assert row[:length].min() == least and not row[length:].any()


def test_yolo_finds_vehicles_if_requested_and_logs_if_it_cannot(
    real: triton.Server, model_repository: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """With weights that have a head for vehicles, and with those that lack it."""
    picture = [triton.Tensor("input__0", np.zeros((48, 64, 3), np.uint8))]
    for _ in range(2):
        for wanted in ("output__2", VEHICLE_ROWS.name):
            found = outputs(triton.InferenceRequest(YOLO.name, [wanted], picture).exec())
            assert list(found) == [wanted] and len(found[wanted]) == 0
    assert found[VEHICLE_ROWS.name].shape == (0, 6)
    graph = read_ir(released(model_repository, YOLO.name) / IR)
    assert (NO_HEAD in caplog.messages) == (len(graph.outputs) == 1)
