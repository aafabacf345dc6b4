"""OpenVINO in a process that gets signals."""

import subprocess
import sys

PROGRAM = """
import os, signal
from openvino import Model, opset13 as opset
from plate_nets.runtimes.openvino import compile_model

given = opset.parameter([1], name="x")
model = Model([opset.relu(given)], [given])
first, second = (compile_model(model, 1, "float32") for _ in range(2))
del first, second
try:
    os.kill(os.getpid(), signal.SIGINT)
except KeyboardInterrupt:
    print("interrupted")
"""


def test_ctrl_c_after_networks_are_gone_is_an_exception() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "interrupted\n"), done.stderr
