"""deploy/nginx/plates.conf, run by a real nginx in front of a real server."""

import http.client
import json
import os
import shutil
import socket
import ssl
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import tritonclient.grpc

from plate_nets.client import PlateClient
from tests.paths import ROOT

SITE = ROOT / "deploy" / "nginx" / "plates.conf"
TOKEN = "t" * 43
INFER = "/v2/models/plate_recognition/infer"


@dataclass(frozen=True)
class Proxy:
    """Where nginx listens, and the certificate to trust."""

    https: int
    grpcs: int
    ca: Path

    def client(self, scheme: str, token: str = TOKEN) -> PlateClient:
        port = self.https if scheme == "https" else self.grpcs
        sent = {"authorization": f"Bearer {token}"} if token else {}
        return PlateClient(f"{scheme}://localhost:{port}", timeout=60, retries=0, headers=sent, ca=self.ca)

    def connect(self) -> ssl.SSLSocket:
        context = ssl.create_default_context(cafile=self.ca)
        return context.wrap_socket(socket.create_connection(("localhost", self.https), 60), server_hostname="localhost")

    def ask(self, method: str, path: str, body: bytes = b"", token: str = TOKEN, **headers: str) -> tuple[int, bytes]:
        """Send one request to any path -> status and body."""
        connection = http.client.HTTPSConnection(
            "localhost", self.https, timeout=60, context=ssl.create_default_context(cafile=self.ca)
        )
        sent = {name.replace("_", "-"): value for name, value in headers.items()} | {"Authorization": f"Bearer {token}"}
        connection.putrequest(method, path, skip_accept_encoding=True)
        for name, value in (sent | {"Content-Length": str(len(body))}).items():
            connection.putheader(name, value)
        connection.endheaders(body)
        answer = connection.getresponse()
        return answer.status, answer.read()

    def infer(self, picture: bytes, outputs: list[dict[str, object]], **parameters: object) -> tuple[int, bytes]:
        """Send a picture for recognition over HTTP, with parameters of request and outputs -> status and body."""
        head = json.dumps(encoded(picture) | {"outputs": outputs, "parameters": parameters}).encode()
        return self.ask("POST", INFER, head + picture, Inference_Header_Content_Length=str(len(head)))

    def infer_grpc(
        self, picture: bytes, classes: int = 0, compression: str | None = None
    ) -> tritonclient.grpc.InferResult:
        """The same over gRPC with NVIDIA's client."""
        sent = {"authorization": f"Bearer {TOKEN}"}
        given = tritonclient.grpc.InferInput("image", [len(picture)], "UINT8")
        given.set_data_from_numpy(np.frombuffer(picture, np.uint8))
        wanted = [tritonclient.grpc.InferRequestedOutput("texts", class_count=classes)]
        with tritonclient.grpc.InferenceServerClient(
            f"localhost:{self.grpcs}", ssl=True, root_certificates=str(self.ca)
        ) as client:
            return client.infer(
                "plate_recognition", [given], outputs=wanted, headers=sent, compression_algorithm=compression
            )


def encoded(picture: bytes) -> dict[str, object]:
    """The JSON that precedes the bytes of a picture."""
    size = {"binary_data_size": len(picture)}
    return {"inputs": [{"name": "image", "shape": [len(picture)], "datatype": "UINT8", "parameters": size}]}


def program(name: str) -> str:
    found = shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin")
    assert found, f"no {name} here; `make test` installs it on Debian and Ubuntu"
    return found


def replaced(text: str, old: str, new: str, times: int = 1) -> str:
    assert text.count(old) == times, f"{SITE}: expected {times} x {old!r}, got {text.count(old)}"
    return text.replace(old, new)


def free_ports(count: int) -> list[int]:
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


@contextmanager
def nginx(http_url: str, grpc_url: str, folder: Path) -> Iterator[Proxy]:
    """nginx in front of the server at two ``host:port``, with the example's configuration but other ports and paths."""
    folder.mkdir(exist_ok=True)
    certificate, key = folder / "certificate.pem", folder / "key.pem"
    subprocess.run(
        [
            *(
                program("openssl"),
                "req",
                "-x509",
                "-newkey",
                "ec",
                "-pkeyopt",
                "ec_paramgen_curve:prime256v1",
                "-nodes",
            ),
            *("-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"),
            *("-keyout", key, "-out", certificate),
        ],
        check=True,
        capture_output=True,
    )
    (folder / "tokens.map").write_text(f'"~^Bearer {TOKEN}$" barrier-3;\n', encoding="utf-8")
    shutil.copy(SITE.with_name("plates.js"), folder)
    https, grpcs = free_ports(2)
    site = SITE.read_text(encoding="utf-8")
    site = replaced(site, "listen 8443 ", f"listen 127.0.0.1:{https} ")
    site = replaced(site, "listen 8444 ", f"listen 127.0.0.1:{grpcs} ")
    site = replaced(site, "server 127.0.0.1:8000;", f"server {http_url};")
    site = replaced(site, "server 127.0.0.1:8001;", f"server {grpc_url};")
    site = site.replace("/etc/nginx/plates/", f"{folder}/")
    site = replaced(site, "/var/log/nginx/", f"{folder}/", 2)
    (folder / "plates.conf").write_text(site, encoding="utf-8")
    temporary = "".join(
        f"    {kind}_temp_path {folder}/{kind};\n" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    user = "user root;\n" if os.geteuid() == 0 else ""
    (folder / "nginx.conf").write_text(
        f"{user}load_module modules/ngx_http_js_module.so;\ndaemon off;\npid {folder}/pid;\n"
        f"error_log {folder}/error.log;\nevents {{}}\n"
        f"http {{\n{temporary}    include {folder}/plates.conf;\n}}\n",
        encoding="utf-8",
    )
    (folder / "modules").symlink_to("/usr/lib/nginx/modules")
    files: list[str | Path] = ["-p", folder, "-c", folder / "nginx.conf", "-e", folder / "error.log"]
    command = [program("nginx"), *files]
    checked = subprocess.run([*command, "-t"], capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stderr
    process = subprocess.Popen(command)
    try:
        deadline = time.monotonic() + 30
        while True:
            try:
                socket.create_connection(("localhost", grpcs), 1).close()
                break
            except OSError:
                assert process.poll() is None and time.monotonic() < deadline, (folder / "error.log").read_text()
                time.sleep(0.05)
        yield Proxy(https, grpcs, certificate)
    finally:
        process.terminate()
        process.wait(30)
