"""Alarms of a camera over ONVIF let it be read: against a stand-in that speaks the documented wire format."""

import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import timedelta

import pytest

from plate_nets.cameras.alarms import CameraAlarms
from plate_nets.cameras.onvif import Alarm, OnvifCamera
from plate_nets.common.errors import SourceError
from tests.onvif_device import MOTION, OnvifDevice
from tests.waiting import eventually


@pytest.fixture
def device() -> Iterator[OnvifDevice]:
    with closing(OnvifDevice()) as device:
        yield device


class Counted:
    """How often a camera was asked for, and what was said."""

    def __init__(self, url: str) -> None:
        self.reads = 0
        self.said: list[str] = []
        self.ending = threading.Event()
        self._alarms = CameraAlarms("gate", url, self._read, self.said.append, self.ending)
        self._alarms.start()

    def _read(self) -> None:
        self.reads += 1


@pytest.fixture
def watched() -> Iterator[Callable[[str], Counted]]:
    started: list[Counted] = []

    def start(url: str) -> Counted:
        started.append(Counted(url))
        return started[-1]

    yield start
    for each in started:
        each.ending.set()


TOLD = [
    (MOTION, "IsMotion", "true", True),
    (MOTION, "IsMotion", "false", False),
    ("tns1:VideoSource/MotionAlarm", "State", "1", True),
    ("tns1:RuleEngine/MyRuleDetector/VehicleDetect", "State", "true", True),
    ("tns1:RuleEngine/TPSmartEventDetector/TPSmartEvent", "IsVehicle", "true", True),
    ("tns1:Device/Trigger/DigitalInput", "LogicalState", "false", False),
    ("tns1:RuleEngine/LineDetector/Crossed", "ObjectId", "17", None),
]


@pytest.mark.parametrize("ahead", [timedelta(), timedelta(days=-700), timedelta(hours=9)])
def test_alarms_begin_and_end_whatever_the_clock_of_the_camera_says(ahead: timedelta) -> None:
    with closing(OnvifDevice(ahead)) as device:
        for topic, name, value, _ in TOLD:
            device.send("tns1:RuleEngine/MyRuleDetector/PeopleDetect", "State", "true")
            device.send(topic, name, value)
        with OnvifCamera(device.url()) as camera:
            camera.subscribe()
            found = [alarm for _ in range(2 * len(TOLD)) for alarm in camera.alarms()]
    assert found == [Alarm(f"{topic} 1", alarm) for topic, _, _, alarm in TOLD]
    assert device.actions[-1] == "Unsubscribe"


def test_a_camera_is_read_as_long_as_an_alarm_lasts(
    device: OnvifDevice, watched: Callable[[str], Counted], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("plate_nets.cameras.onvif._RENEWED", 0.0)
    counted = watched(device.url())
    assert eventually(lambda: device.actions.count("PullMessages") > 2, 30)
    assert counted.reads == 0
    device.send()
    assert eventually(lambda: counted.reads > 3, 30)
    device.send(value="false")
    before = device.actions.count("PullMessages")
    assert eventually(lambda: device.actions.count("PullMessages") > before + 2, 30)
    ended = counted.reads
    assert eventually(lambda: device.actions.count("PullMessages") > before + 5, 30)
    assert (counted.reads, counted.said) == (ended, [])
    assert "Renew" in device.actions
    counted.ending.set()
    assert eventually(lambda: device.actions[-1] == "Unsubscribe", 30)


@pytest.mark.parametrize("url", ["wrong@", "nobody:wrong@"])
def test_wrong_credentials_are_said_once(device: OnvifDevice, watched: Callable[[str], Counted], url: str) -> None:
    counted = watched(f"http://{url}127.0.0.1:{device.port}/onvif/device_service")
    assert eventually(lambda: device.actions.count("GetCapabilities") > 1, 30)
    assert counted.said == ["onvif: it refuses the user or the password; its alarms are not known until it answers"]


def test_a_camera_that_goes_away_is_asked_again(device: OnvifDevice, watched: Callable[[str], Counted]) -> None:
    counted = watched(device.url())
    assert eventually(lambda: "PullMessages" in device.actions, 30)
    device.close()
    assert eventually(lambda: counted.said, 30)
    with closing(OnvifDevice(port=device.port)) as again:
        again.send()
        assert eventually(lambda: counted.reads, 60)
    assert counted.said[0].startswith("onvif: no answer") and counted.said[1] == "onvif: answers again"


def test_an_answer_that_is_no_soap_is_an_error(device: OnvifDevice, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.onvif_device._ANSWER", "<html>{body}")
    with OnvifCamera(device.url()) as camera, pytest.raises(SourceError, match="onvif: answered 200 without SOAP"):
        camera.subscribe()
