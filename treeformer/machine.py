"""The machine: its cores, choice of a device, and the versions that results depend on.

Importing this loads no torch.
"""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import treeformer
from treeformer.extras import require

if TYPE_CHECKING:
    import torch

_CGROUPS = Path("/sys/fs/cgroup")
_MEMBERSHIP = Path("/proc/self/cgroup")


def cores() -> int:
    """The number of cores that this process may use: by its affinity and the CPU quota of its cgroup."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quota = cpu_quota()
    return allowed if quota is None else max(1, min(allowed, round(quota)))


def threads() -> int:
    """The number of threads to compute with: `cores`, or fewer if ``OMP_NUM_THREADS`` says so."""
    limit = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0].strip()
    return min(cores(), int(limit)) if limit.isdigit() and int(limit) else cores()


def limit_threads(count: int) -> None:
    """Let this process, and those that it starts, compute with this number of threads at most."""
    os.environ["OMP_NUM_THREADS"] = str(count)
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(count)


def cpu_quota(cgroups: Path = _CGROUPS, membership: Path = _MEMBERSHIP) -> float | None:
    """The smallest CPU quota of the cgroups of this process, in cores; None without one.

    Reads ``cpu.max`` of version 2 and ``cpu.cfs_quota_us`` of version 1, in each group from that of the
    process up to the root: containers often mount their group as the root.
    """
    quotas = []
    for folder in _cpu_groups(cgroups, membership):
        quota, period = [*_words(folder / "cpu.max"), "", ""][:2]
        if not quota:
            quota = "".join(_words(folder / "cpu.cfs_quota_us"))
            period = "".join(_words(folder / "cpu.cfs_period_us"))
        if quota.isdigit() and period.isdigit() and int(quota) and int(period):
            quotas.append(int(quota) / int(period))
    return min(quotas, default=None)


def _cpu_groups(cgroups: Path, membership: Path) -> Iterator[Path]:
    """The folders of the groups that limit the CPU time of this process; some may not exist."""
    try:
        lines = membership.read_text(encoding="utf-8").splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, group = line.split(":", 2)
        if controllers == "":
            roots = [cgroups]
        elif "cpu" in controllers.split(","):
            roots = [cgroups / "cpu", cgroups / controllers]
        else:
            continue
        inside = Path(group.lstrip("/"))
        for root in roots:
            yield from (root / part for part in (inside, *inside.parents))


def _words(file: Path) -> list[str]:
    """The words of a small file; none if it cannot be read."""
    try:
        return file.read_text(encoding="utf-8").split()
    except OSError:
        return []


def has_gpu() -> bool:
    """Whether a driver of NVIDIA is at work here, so that torch may find a GPU."""
    return Path("/dev/nvidiactl").exists() or Path("/dev/dxg").exists()


def chosen_device(device: str | None) -> torch.device:
    """The device ``cpu`` or ``cuda``; by default a GPU where there is one."""
    require("torch")
    import torch

    if device not in (None, "cpu", "cuda"):
        raise ValueError(f"device: expected cpu or cuda, got {device!r}")
    if device == "cuda" and not torch.cuda.is_available():
        raise ValueError("device: this machine has no CUDA device, expected cpu")
    return torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))


def machine(device: torch.device) -> dict[str, Any]:
    """Device and versions of packages, as facts about a run."""
    import torch

    name = torch.cuda.get_device_name(device) if device.type == "cuda" else platform.machine()
    versions = {package: metadata.version(package) for package in ("transformers", "accelerate")}
    return {
        "device": f"{device.type} ({name})",
        "versions": {
            "treeformer": treeformer.__version__,
            "python": platform.python_version(),
            "torch": torch.__version__,
            **versions,
        },
    }
