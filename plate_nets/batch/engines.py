"""What distributes shards to workers: processes of this machine, or Ray."""

import logging
import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.connection import wait
from multiprocessing.util import Finalize
from typing import Any

from plate_nets.batch.work import Job, ShardDone, ShardWorker
from plate_nets.common.errors import BatchError
from plate_nets.common.extras import needs

_ATTEMPTS = 3
"""How many times in a row worker processes may die without finishing a shard before the run gives up."""


def local(job: Job, shards: Sequence[int], workers: int) -> Iterator[ShardDone]:
    """Process shards in processes of this machine -> the result of each, as it finishes.

    If a process is killed, new processes take over the unfinished shards.

    Raises:
        BatchError: processes keep dying.
        PlateError, OSError: as `ShardWorker.do`; finished shards stay.
    """
    waiting = set(shards)
    attempts = 0
    while waiting:
        context = multiprocessing.get_context("spawn")  # threads of OpenVINO and gRPC do not survive a fork
        with ProcessPoolExecutor(min(workers, len(waiting)), context, _begin, (job,)) as pool:
            tasks = [pool.submit(_do, shard) for shard in sorted(waiting)]
            try:
                for task in as_completed(tasks):
                    done = task.result()
                    waiting.remove(done.shard)
                    attempts = 0
                    yield done
            except BrokenProcessPool as error:
                attempts += 1
                if attempts == _ATTEMPTS:
                    raise BatchError(
                        f"processes died {attempts} times in a row (out of memory?) with {len(waiting)} shards left; "
                        "try fewer --workers"
                    ) from error
            finally:
                pool.shutdown(wait=False, cancel_futures=True)


def on_ray(job: Job, shards: Sequence[int], workers: int, address: str | None = None) -> Iterator[ShardDone]:
    """Process shards on Ray, started here or an existing cluster -> the result of each, as it finishes.

    Ray Data repeats a shard whose worker or machine was killed.

    Args:
        job: its source and folder must be reachable from all machines.
        shards: their numbers.
        workers: actors, each with one CPU and its own networks.
        address: of a cluster, as ``ray.init`` takes it; None starts Ray on this machine for this run.

    Raises:
        BatchError: Ray does not start, or there is no cluster.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # Ray would report home
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")  # its core writes to the terminal past Python's logging
    with needs("ray", "--engine ray"):
        import ray
        from ray.data import ActorPoolStrategy, DataContext

    class Worker:
        def __init__(self) -> None:
            self._worker = ShardWorker(job)

        def __call__(self, row: dict[str, Any]) -> dict[str, Any]:
            return vars(self._worker.do(int(row["shard"])))

    own: dict[str, Any] = {} if address else {"num_cpus": workers, "include_dashboard": False}
    try:
        ray.init(address, logging_level=logging.ERROR, log_to_driver=False, **own)
    except Exception as error:  # Ray raises this very class where a machine is too busy to start it
        raise BatchError(f"Ray {f'at {address}' if address else 'on this machine'}: {error}") from error
    try:
        logging.getLogger("ray.data").setLevel(logging.ERROR)
        DataContext.get_current().enable_progress_bars = False
        numbers = ray.data.from_items([{"shard": shard} for shard in shards], override_num_blocks=len(shards))
        worker: Any = Worker  # Ray's types only know functions
        done = numbers.map(worker, compute=ActorPoolStrategy(size=min(workers, len(shards))), num_cpus=1)
        for row in done.iter_rows():
            yield ShardDone(**row)
    finally:
        ray.shutdown()


_worker: ShardWorker
"""The worker of a `local` process, created when the process starts."""


def _begin(job: Job) -> None:
    global _worker
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent process handles Ctrl-C
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _worker = ShardWorker(job)
    Finalize(None, _worker.close, exitpriority=0)


def _do(shard: int) -> ShardDone:
    return _worker.do(shard)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    wait([parent.sentinel])
    os._exit(1)
