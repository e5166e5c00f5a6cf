"""Connect to a Ray cluster, and wait for machines that it has yet to start."""

import logging
import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bnnbench.engine.workers import Settings
from bnnbench.engine.workers.base import ExecutorUnavailable, Watcher
from bnnbench.methods import environments, own_files

SHARED = ("BNNBENCH_DATA", "BNNBENCH_OFFLINE", own_files.VARIABLE, environments.VARIABLE)
"""Variables of the driver's environment that workers inherit."""

SECONDS_TO_START = 30.0
"""Time within which a machine with room starts a worker."""


@contextmanager
def connected(settings: Settings) -> Iterator[Any]:
    """Connect to the cluster, or start one on this machine; disconnect at the end."""
    import ray
    from ray.exceptions import RuntimeEnvSetupError

    shared = {name: os.environ[name] for name in SHARED if os.environ.get(name)}
    environment: dict[str, Any] = {"env_vars": shared | {"OMP_NUM_THREADS": "1"}}
    if folder := settings.working_dir:
        environment["working_dir"] = str(folder)
        environment["env_vars"][own_files.VARIABLE] = _copied(folder)
    local = {"num_cpus": settings.workers, "include_dashboard": False}
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        ray.init(
            address=settings.address or "local",
            runtime_env=environment,
            log_to_driver=False,
            logging_level=logging.ERROR,
            **({} if settings.address else local),
        )
    except RuntimeEnvSetupError as error:
        ray.shutdown()
        raise ExecutorUnavailable(f"--working-dir {settings.working_dir}: {error}") from error
    except (ConnectionError, ValueError, RuntimeError) as error:
        raise ExecutorUnavailable(
            f"no Ray cluster at --address {settings.address}: {error}"
        ) from error
    for number, handler in handlers.items():  # Ray's handler would end this process silently
        signal.signal(number, handler)
    try:
        yield ray
    finally:
        ray.shutdown()


def _copied(folder: Path) -> str:
    """Return the folders of custom methods, relative to the copied folder if inside it."""
    whole = folder.resolve()
    places = (Path(own_folder).resolve() for own_folder in own_files.folders())
    return os.pathsep.join(
        str(place.relative_to(whole) if place.is_relative_to(whole) else place) for place in places
    )


class Patience:
    """Reports the wait for a cluster's first worker, and ends it after a time limit.

    A cluster may have no machine until a worker is requested.
    """

    def __init__(
        self, settings: Settings, watcher: Watcher, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._settings, self._watcher, self._clock = settings, watcher, clock
        self._since: float | None = None
        self._said = False

    def check(self, machines: Callable[[], list[Mapping[str, float]]], ready: bool) -> None:
        """Raise `ExecutorUnavailable` after too long without a ready worker.

        `machines` returns the resources of each machine of the cluster.
        """
        if ready:
            self._since, self._said = None, False
            return
        now = self._clock()
        self._since = now if self._since is None else self._since
        waited = now - self._since
        if self._said and waited <= 60 * self._settings.wait_minutes:
            return
        lack = self._lack(machines())
        if not self._settings.address and lack:
            raise ExecutorUnavailable(f"{lack}, and no other can join a cluster of one machine")
        if waited > 60 * self._settings.wait_minutes:
            raise ExecutorUnavailable(
                f"no worker of Ray for {self._settings.wait_minutes:g} min: "
                f"{lack or 'all machines that have room for one are in use, or cannot start it'}; "
                "ask for less (--gpus, --memory), add machines, or wait longer (--wait)"
            )
        if lack or waited > SECONDS_TO_START:
            self._said = True
            self._watcher.note(
                f"Waiting for Ray to start a worker, up to {self._settings.wait_minutes:g} min "
                f"(--wait): {lack or 'no machine is free'}"
            )

    def _lack(self, machines: list[Mapping[str, float]]) -> str | None:
        """Return a sentence if no machine has room for a worker, even if idle; else None."""
        settings = self._settings
        needed = {"CPU": 1.0, "GPU": settings.gpus, "memory": float(settings.limits.bytes or 0)}
        if any(all(has.get(name, 0.0) >= needed[name] for name in needed) for has in machines):
            return None
        amounts = ", ".join(f"{amount:g} {name}" for name, amount in needed.items() if amount)
        return f"none of the {len(machines)} machines of the cluster has {amounts}"


def machines_of(ray: Any) -> list[Mapping[str, float]]:
    """Return the resources of each live machine of a cluster."""
    return [node["Resources"] for node in ray.nodes() if node["Alive"]]
