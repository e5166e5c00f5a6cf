"""Whether this process is a worker, which receives no Ctrl-C."""

_is_worker = False


def become_worker() -> None:
    """Note that another process of this project started this one."""
    global _is_worker
    _is_worker = True


def is_worker() -> bool:
    """Return whether another process of this project started this one."""
    return _is_worker
