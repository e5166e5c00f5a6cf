"""Parts that methods which train networks share: batches, schedules, stacks of members."""
