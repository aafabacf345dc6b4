"""An object store on loopback: moto's server, which speaks S3."""

import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import boto3

from plate_nets.triton.server.ports import LOOPBACK, accepts, choose_ports
from tests.waiting import eventually

VARIABLES = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_EC2_METADATA_DISABLED": "true"}
"""The environment of its clients."""


@contextmanager
def object_store(bucket: str, objects: Mapping[str, bytes]) -> Iterator[str]:
    """Create a bucket with objects by key -> the query part of its addresses."""
    port = choose_ports({"s3": 0})["s3"]
    with subprocess.Popen(
        [Path(sys.executable).with_name("moto_server"), "-p", str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as server:
        try:
            assert eventually(lambda: accepts(LOOPBACK, port) or server.poll() is not None, 60)
            assert server.poll() is None
            client = boto3.client(
                "s3",
                endpoint_url=f"http://{LOOPBACK}:{port}",
                region_name="us-east-1",
                aws_access_key_id=VARIABLES["AWS_ACCESS_KEY_ID"],
                aws_secret_access_key=VARIABLES["AWS_SECRET_ACCESS_KEY"],
            )
            client.create_bucket(Bucket=bucket)
            for key, content in objects.items():
                client.put_object(Bucket=bucket, Key=key, Body=content)
            yield f"?endpoint_override={LOOPBACK}:{port}&scheme=http&region=us-east-1"
        finally:
            server.kill()
