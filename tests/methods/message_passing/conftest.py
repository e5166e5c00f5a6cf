"""Device graphs, replayed by a recorder on the CPU."""

import pytest

from bnnbench.methods.message_passing.kernels.compiled import Compiled
from tests.methods.message_passing.recorder import Recorder


@pytest.fixture
def capture(monkeypatch):
    """Return a capture on a CPU, and the recorders that it has made."""
    recorders: list[Recorder] = []
    active: list[Recorder] = []
    call = Compiled.call

    def recorded(self, name, dtype, *arguments):
        if active:
            active[-1].saw(arguments)
            active[-1].steps.append(lambda: call(self, name, dtype, *arguments))
        return call(self, name, dtype, *arguments)

    monkeypatch.setattr(Compiled, "call", recorded)

    def capturing(work):
        recorder = Recorder()
        recorders.append(recorder)
        active.append(recorder)
        with recorder:
            outcome = work()
        active.pop()
        for storage, before in recorder.before.values():
            storage.copy_(before)
        return recorder.replay, outcome

    return capturing, recorders
