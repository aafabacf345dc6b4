"""An RTSP camera on loopback that can be killed, frozen and restarted: gst-rtsp-server, in the system's Python."""

import signal
import subprocess
from pathlib import Path

from plate_nets.common.contexts import Closing
from plate_nets.triton.server.ports import choose_ports

PACKAGES = "gir1.2-gst-rtsp-server-1.0 gstreamer1.0-plugins-good gstreamer1.0-plugins-bad python3-gi"
_SERVER = Path(__file__).with_name("rtsp_server.py")


class RtspCamera(Closing):
    """Sends a Matroska file of H.264 at its own pace, from the beginning for each client, until it is closed."""

    def __init__(self, clip: Path, *credentials: str) -> None:
        self.port = choose_ports({"rtsp": 0})["rtsp"]
        self._command = ["/usr/bin/python3", str(_SERVER), str(clip), str(self.port), *credentials]
        self.start()

    def url(self, user: str = "") -> str:
        """``user``: "name:password@"."""
        return f"rtsp://{user}127.0.0.1:{self.port}/cam"

    def start(self) -> None:
        """Start it, on the same port as before."""
        self.process = subprocess.Popen(self._command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert self.process.stdout is not None and self.process.stderr is not None
        if not self.process.stdout.readline():
            raise AssertionError(f"no RTSP server: tools/debian.sh {PACKAGES}\n{self.process.stderr.read()}")

    def kill(self) -> None:
        """End it as a power failure would."""
        self.process.kill()
        self.process.communicate()

    close = kill

    def freeze(self) -> None:
        """Stop sending, without closing anything."""
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Continue sending."""
        self.process.send_signal(signal.SIGCONT)
