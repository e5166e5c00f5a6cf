"""A process that is as it was, after work that changes its settings."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

import threadpoolctl
import torch


@contextmanager
def process_unchanged() -> Iterator[None]:
    """Restore environment variables and numbers of threads at the end of the block."""
    environment, threads = dict(os.environ), torch.get_num_threads()
    libraries = threadpoolctl.ThreadpoolController().lib_controllers
    threads_of_each = [library.num_threads for library in libraries]
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(environment)
        for library, number in zip(libraries, threads_of_each, strict=True):
            library.set_num_threads(number)
        torch.set_num_threads(threads)
