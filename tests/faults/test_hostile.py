"""Hostile inputs on a real server: each is answered in time, without a path or traceback, and harms no other user."""

import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import psutil
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plate_nets.client import PlateClient, parse_url
from plate_nets.recognition.health import known_picture
from tests.faults.hostile import COMPLETE, LEAK, Target, attack, head
from tests.serve import Serve, Start

AT_ONCE = 4
RESTRICTED = b"This protocol is restricted"
BETWEEN_GOOD = 100
"""Hostile inputs between two good requests."""
DEADLINE = 60.0
"""Seconds for one answer, on a busy machine."""
GROWTH = 400 << 20
"""Bytes that the server may grow by after the warm-up: two decoded pictures of the largest accepted size."""


@pytest.fixture(scope="module")
def serve(start: Start, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serve]:
    """A supervised server that must need no healing; a heal would show as a fault."""
    with start(tmp_path_factory.mktemp("hostile"), ()) as serve:
        yield serve


def target(serve: Serve) -> Target:
    http, grpc = (parse_url(serve.addresses[protocol]).port for protocol in ("http", "grpc"))
    return Target(http, grpc, timeout=DEADLINE)


def alive(process: psutil.Process) -> bool:
    return process.is_running() and process.status() != psutil.STATUS_ZOMBIE


@pytest.mark.parametrize(
    "count", [600, pytest.param(20_000, marks=[pytest.mark.soak, pytest.mark.timeout(7200)], id="20000")]
)
def test_hostile_inputs(serve: Serve, count: int) -> None:
    family = serve.family
    victim = target(serve)
    statuses: Counter[str] = Counter()
    memory: list[int] = []
    with ThreadPoolExecutor(AT_ONCE) as pool, PlateClient(serve.http_url, timeout=DEADLINE, retries=0) as client:
        for start in range(0, count, BETWEEN_GOOD):
            batch = range(start, start + BETWEEN_GOOD)
            for number, (kind, answer) in zip(batch, pool.map(lambda n: attack(n, victim), batch), strict=True):
                where = f"input {number}, {kind}: {answer.status} {answer.body[:300]!r}"
                assert answer.seconds < DEADLINE, where
                assert answer.status is not None or kind not in COMPLETE, where
                assert answer.status not in ("DEADLINE_EXCEEDED", "UNAVAILABLE") or RESTRICTED in answer.body, where
                assert not LEAK.search(answer.body), where
                statuses[f"{kind} {answer.status}"] += 1
            assert all(map(alive, family)), f"a process ended at {batch}\n{serve.log_text()[-3000:]}"
            assert [plate.reading.text for plate in client.read(known_picture().image)] == list(known_picture().texts)
            memory.append(sum(each.memory_info().rss for each in family))
    sys.stdout.write("\n".join(f"{count:6} {what}" for what, count in sorted(statuses.items())))
    sys.stdout.write(f"\nmemory, MB: {[each >> 20 for each in memory]}\n")
    assert not re.search(r"Signal \(\d+\) received|core dumped", serve.log_text())
    assert serve.events("heal") == serve.events("restart") == []
    assert memory[-1] - memory[len(memory) // 4] < GROWTH


SCALARS = st.none() | st.booleans() | st.integers(-40, 40) | st.floats() | st.text(max_size=20)
JSON = st.recursive(
    SCALARS, lambda part: st.lists(part, max_size=4) | st.dictionaries(st.text(max_size=9), part, max_size=4)
)
"""Any JSON value. As a shape it stays below 100 MB: Triton 24.10 has a fault with larger ones
(docs/explanation/security.md).
"""
INPUT = st.fixed_dictionaries(
    {},
    optional={
        "name": st.sampled_from(("image", "input__0")) | JSON,
        "shape": st.lists(st.integers(-2, 300), max_size=3) | JSON,
        "datatype": st.sampled_from(("UINT8", "FP32", "BYTES")) | JSON,
        "data": st.lists(st.integers(-1, 256), max_size=9) | JSON,
        "parameters": st.fixed_dictionaries({}, optional={"binary_data_size": st.integers(-1, 99) | JSON}) | JSON,
    },
)


@settings(max_examples=150, deadline=None, derandomize=True, database=None)
@given(inputs=st.lists(INPUT, max_size=3) | JSON, outputs=st.lists(st.fixed_dictionaries({"name": JSON})) | JSON)
def test_any_json_gets_an_answer(serve: Serve, inputs: object, outputs: object) -> None:
    body = json.dumps({"inputs": inputs, "outputs": outputs}).encode()
    answer = target(serve).ask_http(head(len(body)), body)
    assert answer.status in (200, 400, 404, 500), answer
    assert not LEAK.search(answer.body), answer
