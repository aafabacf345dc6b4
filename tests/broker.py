"""An MQTT broker on loopback: mosquitto."""

import queue
import shutil
import subprocess
import time
from pathlib import Path

from paho.mqtt.client import Client, MQTTMessage
from paho.mqtt.enums import CallbackAPIVersion

from plate_nets.triton.server.ports import LOOPBACK, accepts, choose_ports

USER = "cameras"


class Broker:
    """mosquitto on a free port with one user. Anonymous clients are accepted too."""

    def __init__(self, folder: Path) -> None:
        program = shutil.which("mosquitto") or shutil.which("mosquitto", path="/usr/sbin")
        assert program, "these tests start Debian's mosquitto: tools/debian.sh mosquitto"
        self._program = program
        self.port = choose_ports({"mqtt": 0})["mqtt"]
        self._config = folder / "mosquitto.conf"
        passwords = folder / "passwords"
        passwords.touch(mode=0o600)
        subprocess.run(["mosquitto_passwd", "-b", passwords, USER, "s@crt"], check=True, capture_output=True)
        self._config.write_text(
            f"listener {self.port} {LOOPBACK}\npassword_file {passwords}\nallow_anonymous true\nuser root\n",
            encoding="utf-8",
        )
        self._subscribed: list[Client] = []
        self.start()

    def start(self) -> None:
        self._process = subprocess.Popen(
            [self._program, "-c", self._config], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        deadline = time.monotonic() + 30
        while not accepts(LOOPBACK, self.port):
            assert self._process.poll() is None and time.monotonic() < deadline, "mosquitto does not start"
            time.sleep(0.05)

    def stop(self) -> None:
        self._process.kill()
        self._process.wait()

    def close(self) -> None:
        """Stop, and end what subscribed."""
        for client in self._subscribed:
            client.disconnect()
            client.loop_stop()
        self.stop()

    def url(self, password: str = "s%40crt") -> str:
        return f"mqtt://{USER}:{password}@{LOOPBACK}:{self.port}/site/plates"

    def subscribe(self) -> tuple[Client, "queue.Queue[MQTTMessage]"]:
        """A client subscribed to everything, and the messages it gets."""
        messages: queue.Queue[MQTTMessage] = queue.Queue()
        client = Client(CallbackAPIVersion.VERSION2)
        client.username_pw_set(USER, "s@crt")
        subscribed: queue.Queue[int] = queue.Queue()
        client.on_message = lambda _client, _data, message: messages.put(message)
        client.on_subscribe = lambda _client, _data, mid, _codes, _properties: subscribed.put(mid)
        client.connect(LOOPBACK, self.port)
        client.loop_start()
        client.subscribe("#", qos=1)
        subscribed.get(timeout=30)
        self._subscribed.append(client)
        return client, messages
