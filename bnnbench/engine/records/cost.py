"""The cost of a run."""

from collections.abc import Mapping
from dataclasses import dataclass

from bnnbench.datasets.reading.shape import Amount, Message
from bnnbench.methods.fitting.work import UNITS


@dataclass(frozen=True)
class Cost:
    """The cost of a run. Runs fitted together share it equally."""

    fit_seconds: Amount
    predict_seconds: Amount
    peak_bytes: Amount
    """Growth of resident memory during the fit; on a GPU, the peak allocation."""
    fitted_together: int = 1
    fit_joules: Amount | None = None
    """Energy of the GPU during the fit; None without a counter, as on a CPU."""
    compile_seconds: Amount = 0.0
    """Time to compile kernels and to warm up the process before the fit, not part of `fit_seconds`;
    mostly 0, as a process does so once. In earlier records it is part of the fit seconds.
    """
    fit_cpu_seconds: Amount | None = None
    """Processor time of the fit, hardly affected by the machine's load; None in earlier records,
    and for a fit that continued from a checkpoint."""
    busy_elsewhere: Amount | None = None
    """Share of the machine's processor time used by other processes during the last fit; None in
    earlier records, and for fits of less than a fifth of a second."""
    predict_cpu_seconds: Amount | None = None
    """Processor time of the predictions; None in earlier records."""
    work: Mapping[str, Amount] | None = None
    """Unit of `methods.fitting.work` → amount, as counted by the method; None in earlier records,
    and for a fit that continued from a checkpoint. A third-party method may count nothing.
    """
    fit_of: Message | None = None
    """Key of the run that shares this fit. Both have its full cost, and totals count it once."""

    @property
    def known(self) -> dict[str, float]:
        """The fields that have a value, by name."""
        return {name: value for name, value in vars(self).items() if value is not None}

    def value(self, name: str) -> float | None:
        """Return a cost of `COSTS`, or the work in one of its units; None if unknown."""
        if name in UNITS:
            return None if self.work is None else self.work.get(name, 0.0)
        return getattr(self, name)


COSTS = (
    *("fit_seconds", "compile_seconds", "predict_seconds"),
    *("peak_bytes", "fitted_together", "fit_joules"),
    *("fit_cpu_seconds", "busy_elsewhere", "predict_cpu_seconds"),
    *UNITS,
)
"""The costs of a run in the order of tables: numbers of `Cost`, and its units of work."""
