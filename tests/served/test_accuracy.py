"""The served pipeline on real photographs, if they are available."""

from concurrent.futures import ThreadPoolExecutor

from plate_nets.client import PlateClient
from plate_nets.countries import main_scheme
from plate_nets.evaluation.dataset import load_dataset
from tests.frames import overlap
from tests.paths import PHOTOS, needs_photos
from tests.served.conftest import Served

LEAST = 0.6
"""Share of the labelled plates that must be read exactly. It only guards against faults of the pipeline; the networks
reach far more."""


@needs_photos
def test_real_plates_are_read(served: Served) -> None:
    photos = list(load_dataset(PHOTOS, symbols=main_scheme().alphabet).photos())[::2]
    with PlateClient(served.http, timeout=120) as client, ThreadPoolExecutor(2) as threads:
        answers = list(threads.map(lambda photo: client.read(photo[0].read_bytes()), photos))
    read = [
        any(plate.reading.text == label.text and overlap(plate.box, label.box) > 0.3 for plate in answer)
        for (_, labels), answer in zip(photos, answers, strict=True)
        for label in labels
        if label.text
    ]
    assert len(read) > 80
    assert sum(read) / len(read) >= LEAST, f"{sum(read)} of {len(read)} plates"
    print(f"{sum(read)} of {len(read)} labelled plates read exactly")  # noqa: T201
