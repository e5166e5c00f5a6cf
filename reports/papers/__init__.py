"""Printed numbers, the protocols behind them, and verdicts on ours."""
