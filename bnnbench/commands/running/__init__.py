"""Run the plan of a suite's command."""
