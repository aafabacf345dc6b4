"""What the page shows about the server behind it, over the protocol that its address names."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from plate_nets.client import PlateClient
from plate_nets.contract import needed
from plate_nets.countries import default_schemes
from plate_nets.types import Frame, Plate
from plate_nets.web.health import Backend, Health
from tests.fakes.stub_server import METADATA, stub_server


@pytest.mark.parametrize("protocol", ["http", "grpc"])
def test_ready_models_are_reported_as_ready(protocol: str) -> None:
    nobody = PlateClient("127.0.0.1:1", timeout=1, retries=0)
    with stub_server() as stub, nobody, PlateClient(f"{protocol}://{stub.url(protocol)}") as client:
        facts = asyncio.run(Health(Backend(nobody, "server", client.url)).facts())
    assert facts["version"] == METADATA["version"]
    assert facts["models"] == [{"name": name, "ready": True} for name in needed(default_schemes())]


def test_a_silent_server_is_not_reported_as_having_no_ready_models() -> None:
    with PlateClient("127.0.0.1:1", timeout=1, retries=0) as client:
        facts = asyncio.run(Health(Backend(client, "server", client.url)).facts())
    assert (facts["models"], facts["state"]) == ([], "failing")
    assert facts["models_fault"].startswith("127.0.0.1:1: ")


class Hanging:
    """A reader that only answers when it is allowed to."""

    def __init__(self) -> None:
        self.let = threading.Event()
        self.asked = 0

    def read(self, image: Frame | bytes, *, evidence: bool = False, **_: object) -> list[Plate]:
        self.asked += 1
        assert self.let.wait(60)
        return []


def test_probes_of_a_hanging_backend_share_one_check_and_leave_the_other_threads_free() -> None:
    reader = Hanging()

    async def probe() -> list[bool]:
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(2))
        health = Health(Backend(reader, "local"))
        probes = asyncio.gather(*(health.is_well() for _ in range(6)))
        await asyncio.sleep(0)  # until each probe waits
        try:
            await asyncio.wait_for(asyncio.to_thread(int), 30)
        finally:
            reader.let.set()
        return await probes

    assert asyncio.run(probe()) == [False] * 6
    assert reader.asked == 1


def test_the_check_does_not_wait_for_a_thread_of_other_requests() -> None:
    reader, let = Hanging(), threading.Event()
    reader.let.set()

    async def probe() -> None:
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(2))
        slow = [asyncio.create_task(asyncio.to_thread(let.wait, 60)) for _ in range(4)]
        await asyncio.sleep(0)  # until they have all threads
        try:
            await asyncio.wait_for(Health(Backend(reader, "local")).is_well(), 30)
        finally:
            let.set()
            await asyncio.gather(*slow)

    asyncio.run(probe())
    assert reader.asked == 1
