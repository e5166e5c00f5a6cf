"""Parts of methods that train networks: batches, schedules, stacks of members."""
