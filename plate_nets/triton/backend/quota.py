"""The number of cores that this process may use: a container with a limit of two on a machine of 64 has two.

Linux limits the processor time of a control group, not the cores that its threads run on: if there are more threads
than the quota allows, all are stopped for the rest of each period (cgroups(7): cpu.max, in version 1 cpu.cfs_quota_us).
"""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from plate_nets.common.cores import own_cores
from plate_nets.common.errors import ContractError

CORES_VARIABLE = "PLATES_CORES"


def usable_cores(environ: Mapping[str, str] = os.environ, proc: Path = Path("/proc/self")) -> int:
    """The minimum of the cores in the affinity mask, in the quotas of all groups above, and in ``PLATES_CORES``.

    It is rounded down to at least 1, because threads that share part of a core wait for each other.

    Raises:
        ContractError: ``PLATES_CORES`` is not a whole number of 1 or more.
    """
    bounds = [float(own_cores()), *_quotas(proc)]
    if setting := environ.get(CORES_VARIABLE):
        if not setting.isdecimal() or not int(setting):
            raise ContractError(f"{CORES_VARIABLE}: expected a whole number of 1 or more, got {setting!r}")
        bounds.append(int(setting))
    return max(1, int(min(bounds)))


def _quotas(proc: Path) -> Iterator[float]:
    """The quotas of this process's control groups, and of all visible groups above, in cores."""
    try:
        groups = [line.split(":", 2) for line in (proc / "cgroup").read_text(encoding="utf-8").splitlines()]
        mounts = [line.split() for line in (proc / "mountinfo").read_text(encoding="utf-8").splitlines()]
    except OSError:
        return
    for fields in mounts:
        # 30 23 0:26 /root /mount/point options ... - cgroup2 source options
        root, point = fields[3:5]
        kind, _, options = fields[fields.index("-") + 1 :][:3]
        of_version_1 = kind == "cgroup" and "cpu" in options.split(",")
        if not of_version_1 and kind != "cgroup2":
            continue
        for _, controllers, path in groups:
            if ("cpu" in controllers.split(",")) if of_version_1 else not controllers:
                yield from _along(Path(point), os.path.relpath(path, root), of_version_1)


def _along(mount: Path, path: str, of_version_1: bool) -> Iterator[float]:
    """The quotas from a group up to its mount point; of a group outside the mount, only that of the mount point."""
    group = mount if path.startswith("..") else mount / path
    for folder in (group, *group.parents):
        try:
            if of_version_1:
                quota = (folder / "cpu.cfs_quota_us").read_text(encoding="ascii")
                period = (folder / "cpu.cfs_period_us").read_text(encoding="ascii")
            else:
                quota, period = (folder / "cpu.max").read_text(encoding="ascii").split()
            yield int(quota) / int(period) if quota.strip() not in ("max", "-1") else float("inf")
        except (OSError, ValueError):  # the root group has none
            pass
        if folder == mount:
            return
