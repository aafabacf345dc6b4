"""What carries the shards of a batch to workers: processes of this machine, or Ray."""

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
from plate_nets.errors import BatchError
from plate_nets.extras import needs

_ATTEMPTS = 3
"""How often in a row processes may die before a shard is done, until the run ends."""


def local(job: Job, shards: Sequence[int], workers: int) -> Iterator[ShardDone]:
    """Do shards in processes of this machine -> what came of each, as they are done.

    Where a process is killed, those shards that are not done are begun anew with new processes.

    Raises:
        BatchError: processes die again and again.
        PlateError, OSError: as `ShardWorker.do`; shards that are done stay done.
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
    """Do shards on Ray, started here or a cluster that exists -> what came of each, as they are done.

    A shard whose worker or machine was killed is done again by another (Ray Data's own promise).

    Args:
        job: source and folder must be reached by all machines.
        shards: numbers.
        workers: actors, each with one CPU and networks of its own.
        address: of a cluster, as ``ray.init`` takes it; None: Ray runs on this machine for the time.

    Raises:
        BatchError: Ray does not start, or there is no cluster.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # Ray would report home
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")  # its core writes to the terminal past Python's logging
    with needs("ray", "--engine ray"):
        import ray
        from ray.data import ActorPoolStrategy, DataContext

    class Worker:
        """What Ray makes an actor of."""

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
        worker: Any = Worker  # Ray's types know functions alone
        done = numbers.map(worker, compute=ActorPoolStrategy(size=min(workers, len(shards))), num_cpus=1)
        for row in done.iter_rows():
            yield ShardDone(**row)
    finally:
        ray.shutdown()


_worker: ShardWorker
"""Of a process of `local`, made when it begins."""


def _begin(job: Job) -> None:
    global _worker
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the driver's
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
