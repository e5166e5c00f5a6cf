"""Records of runs: their fields, their JSON and their clock."""
