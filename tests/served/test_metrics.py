"""The metrics of a real server after known traffic."""

import re
import urllib.request
from collections.abc import Iterator

import numpy as np
import pytest

from plate_nets.client import PlateClient, parse_url
from plate_nets.client.transports import ServerAccess, open_transport
from plate_nets.client.transports.calls import Input, infer, load, repository_index, unload
from plate_nets.common.control_key import probe_token
from plate_nets.common.errors import InputError
from plate_nets.contract import FRAME, PLATE_RECOGNITION, PLATES, PROBE
from plate_nets.triton.backend.metrics import BUCKETS, STAGES
from plate_nets.triton.server import EmbeddedTriton
from tests.frames import Placed, compose, encode
from tests.waiting import eventually

CAR = compose(480, 640, [Placed("A123BC77", 100, 300), Placed("M456OP199", 380, 120)])
EMPTY = np.full((480, 640, 3), 90, np.uint8)


@pytest.fixture(scope="module")
def server() -> Iterator[EmbeddedTriton]:
    """A separate server, so that no other requests count."""
    with EmbeddedTriton(model_control="explicit", exit_timeout=0) as server:
        yield server


def scrape(server: EmbeddedTriton) -> dict[str, float]:
    """Name with labels -> value, of `plates_` metrics."""
    with urllib.request.urlopen(server.metrics_url, timeout=10) as answer:
        lines = answer.read().decode().splitlines()
    pairs = (line.rpartition(" ") for line in lines if line.startswith("plates_"))
    return {name: float(value) for name, _, value in pairs}


def test_metrics_are_those_of_the_traffic(server: EmbeddedTriton) -> None:
    before = scrape(server)
    assert set(before.values()) == {0.0}, "they are there before the first request, so that a rate has a beginning"
    with PlateClient(server.http_url) as http, PlateClient(server.grpc_url, "grpc") as grpc:
        found = [http.read(CAR), grpc.read(encode(CAR)), http.read(encode(EMPTY)), grpc.read(EMPTY)]
        # So many that every instance reads one; the metrics add up over the instances
        found += [http.read(CAR) for _ in range(12)]
        for picture in (b"no picture", b"none either"):
            with pytest.raises(InputError):
                http.read(picture)
    plates = [plate for each in found for plate in each]
    now = scrape(server)
    assert now["plates_frames_total"] == 16
    assert now["plates_early_stops_total"] == 2
    assert now["plates_plates_total"] == len(plates)
    assert now["plates_unread_plates_total"] == sum(not plate.reading.text for plate in plates)
    assert {name: value for name, value in now.items() if name.startswith("plates_errors_total") and value} == {
        'plates_errors_total{code="PLATES_BAD_INPUT"}': 2
    }
    assert now["plates_request_seconds_count"] == 18
    counts = {stage: now[f'plates_stage_seconds_count{{stage="{stage}"}}'] for stage in STAGES}
    assert 0 <= counts["look_again"] <= 14, "only where a plate was not read surely"
    after_detection = dict.fromkeys(("rectify", "read", "decode_text", "tell_country"), 14)
    assert counts | {"look_again": 0} == {"detect": 16, "look_again": 0, **after_detection}
    for stage, count in counts.items():
        bounds = [*map("{:g}".format, BUCKETS), "+Inf"]
        buckets = [now[f'plates_stage_seconds_bucket{{stage="{stage}",le="{bound}"}}'] for bound in bounds]
        assert buckets == sorted(buckets) and buckets[-1] == count
    inner = sum(now[f'plates_stage_seconds_sum{{stage="{stage}"}}'] for stage in STAGES)
    assert 0 < inner < now["plates_request_seconds_sum"]


@pytest.mark.parametrize("protocol", ["http", "grpc"])
@pytest.mark.parametrize("ours", [True, False])
def test_a_probe_is_not_counted_and_no_other_request_passes_as_one(
    server: EmbeddedTriton, protocol: str, ours: bool
) -> None:
    before = scrape(server)
    token = probe_token(server.control_key) if ours else "true"
    url = server.http_url if protocol == "http" else server.grpc_url
    with open_transport(ServerAccess(parse_url(url, protocol))) as transport:
        answer = transport.send(
            infer(PLATE_RECOGNITION, Input(FRAME, CAR), outputs=PLATES, parameters={PROBE: token}), 60
        )
    assert len(answer["texts"]) == 2
    assert (scrape(server) == before) == ours


def test_names_are_those_of_the_conventions(server: EmbeddedTriton) -> None:
    """Times are in seconds, counters end in _total."""
    for name in scrape(server):
        assert re.match(r"plates_\w+(_total|_seconds_(bucket|sum|count))(\{|$)", name), name


def test_counts_continue_after_a_reload_of_the_model(server: EmbeddedTriton) -> None:
    before = scrape(server)["plates_frames_total"]
    access = ServerAccess(parse_url(server.http_url), control_key=server.control_key)
    with open_transport(access) as transport:
        transport.send(unload(PLATE_RECOGNITION.name), 60)
        gone = (PLATE_RECOGNITION.name, "unloaded")
        assert eventually(
            lambda: gone in [(each["name"], each.get("reason")) for each in transport.send(repository_index(), 60)], 60
        )
        transport.send(load(PLATE_RECOGNITION.name), 60)
    with PlateClient(server.http_url) as client:
        client.read(CAR)
    assert scrape(server)["plates_frames_total"] == before + 1
