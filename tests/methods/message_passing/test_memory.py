"""Memory compared with AdamW's, for the network of paper 000."""

import pytest

from bnnbench.engine.run.measuring import memory
from bnnbench.methods.message_passing.schedule import Coupled, GroupSequential
from tests.methods.message_passing.peaks import growth

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def of_adamw() -> float:
    if not memory.reset_high_water_mark():
        pytest.skip("needs Linux, where the peak of a block of code is known")
    return growth("AdamW(epochs=2)")


@pytest.mark.parametrize("schedule", [GroupSequential(4), Coupled(32), Coupled(64)], ids=repr)
def test_a_visit_of_several_iterations_needs_at_most_four_times_the_memory(schedule, of_adamw):
    # Iterations after the second store nothing more. There is one batch of aggregates here.
    assert (
        growth(f"MessagePassing((2,), 128, {schedule!r}, MessageAccuracy('zeroth'))")
        <= 4 * of_adamw
    )
