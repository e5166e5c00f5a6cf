"""Printed numbers, their protocols, and verdicts on ours."""
