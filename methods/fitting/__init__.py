"""What methods share that train networks: batches, schedules, stacks of members."""
