"""Times that never go backwards."""

import contextlib
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

_TICK = timedelta(milliseconds=1)
_BEGINNING = datetime.min.replace(tzinfo=UTC)


def now() -> str:
    """Return the time in UTC, spelled so that text order is time order."""
    return _spelled(datetime.now(UTC))


@dataclass
class Clock:
    """The machine's clock, or a little more than the latest time seen where that is behind.

    A time then tells order among all that this clock has seen, even when the machine's was
    set back or another machine's is ahead.
    Source: Kulkarni et al. (2014), "Logical Physical Clocks".
    """

    latest: datetime = _BEGINNING

    def see(self, time: str) -> None:
        """Take notice of a time; text that is none is passed over."""
        with contextlib.suppress(ValueError):
            seen = datetime.fromisoformat(time)
            self.latest = max(self.latest, seen if seen.tzinfo else seen.replace(tzinfo=UTC))

    def now(self) -> str:
        """Return a time later than every time seen."""
        with contextlib.suppress(OverflowError):
            self.latest = max(datetime.now(UTC), self.latest + _TICK)
        return _spelled(self.latest)


def _spelled(time: datetime) -> str:
    return time.astimezone(UTC).isoformat(timespec="milliseconds")
