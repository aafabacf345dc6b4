"""Hostile inputs on a real server: each has its answer in time, without a path or traceback, and harms nobody else."""

import re
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import psutil
import pytest

from plate_nets.client import PlateClient
from plate_nets.embedded import EmbeddedTriton
from plate_nets.health import known_picture
from tests.faults.hostile import COMPLETE, LEAK, Target, attack

SHORT, FULL = 600, 20_000
AT_ONCE = 4
RESTRICTED = b"This protocol is restricted"
BETWEEN_GOOD = 100
"""Hostile inputs between two good requests."""
DEADLINE = 60.0
"""Seconds for one answer, on a machine that does other things too."""
GROWTH = 400 << 20
"""Bytes that the server may grow by after the warm-up: two pictures of the largest accepted size, decoded."""


@pytest.fixture(scope="module")
def server() -> Iterator[EmbeddedTriton]:
    before = set(psutil.Process().children(recursive=True))
    with EmbeddedTriton(exit_timeout=0) as server:
        server.family = set(psutil.Process().children(recursive=True)) - before  # type: ignore[attr-defined]
        yield server


def endure(server: EmbeddedTriton, numbers: range) -> None:
    family: set[psutil.Process] = server.family  # type: ignore[attr-defined]
    ports = [int(url.rpartition(":")[2]) for url in (server.http_url, server.grpc_url)]
    target = Target(*ports, timeout=DEADLINE)
    statuses: Counter[str] = Counter()
    memory: list[int] = []
    with ThreadPoolExecutor(AT_ONCE) as pool, PlateClient(server.http_url, timeout=DEADLINE, retries=0) as client:
        for start in range(numbers.start, numbers.stop, BETWEEN_GOOD):
            batch = range(start, min(start + BETWEEN_GOOD, numbers.stop))
            for number, (kind, answer) in zip(batch, pool.map(lambda n: attack(n, target), batch), strict=True):
                where = f"input {number}, {kind}: {answer.status} {answer.body[:300]!r}"
                assert answer.seconds < DEADLINE, where
                assert answer.status is not None or kind not in COMPLETE, where
                assert answer.status not in ("DEADLINE_EXCEEDED", "UNAVAILABLE") or RESTRICTED in answer.body, where
                assert not LEAK.search(answer.body), where
                statuses[f"{kind} {answer.status}"] += 1
            assert server.wait(0) is None, f"the server ended at {batch}\n{server.log_text()[-3000:]}"
            assert [plate.text for plate in client.read(known_picture().image)] == list(known_picture().texts)
            memory.append(sum(each.memory_info().rss for each in family))
    sys.stdout.write("\n".join(f"{count:6} {what}" for what, count in sorted(statuses.items())))
    sys.stdout.write(f"\nmemory, MB: {[each >> 20 for each in memory]}\n")
    assert all(each.is_running() for each in family)
    assert not re.search(r"Signal \(\d+\) received|core dumped", server.log_text())
    assert memory[-1] - memory[len(memory) // 4] < GROWTH


def test_600_hostile_inputs(server: EmbeddedTriton) -> None:
    endure(server, range(SHORT))


@pytest.mark.soak
@pytest.mark.timeout(7200)
def test_20000_hostile_inputs(server: EmbeddedTriton) -> None:
    endure(server, range(FULL))
