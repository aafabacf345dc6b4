"""More load than the server can carry: it answers as many as before, and refuses the rest at once."""

import sys

from plate_nets.bench.callers import InputKind, subject
from plate_nets.bench.frames import drawn_picture
from plate_nets.bench.overload import measure_overload
from plate_nets.client import PlateClient
from plate_nets.contract import PLATE_RECOGNITION
from plate_nets.embedded import EmbeddedTriton

ENOUGH = 0.6
"""Of the maximum. The project asks for 0.9 on a quiet machine, which `plates bench --overload` measures."""


def test_four_times_the_load_it_can_carry() -> None:
    picture = drawn_picture(2)
    with EmbeddedTriton(exit_timeout=0) as server:
        asked = subject(server.http_url, PLATE_RECOGNITION.name, InputKind.encoded)
        for _ in range(3):  # what else runs on the machine may take the cores from one of the two loads
            found = measure_overload(asked, [picture], seconds=6)
            sys.stdout.write(f"{found}\n")
            assert found.refused > 0 and found.failed == ()
            if found.ratio >= ENOUGH:
                break
        assert found.ratio >= ENOUGH, str(found)
        assert found.refusal_ms[0] < found.answer_ms[0] / 2, str(found)
        with PlateClient(server.http_url, retries=0) as client:
            assert len(client.read(picture.encoded)) == 2
