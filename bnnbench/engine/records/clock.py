"""Times that never go backwards."""

import contextlib
import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

_TICK = timedelta(milliseconds=1)
_BEGINNING = datetime.min.replace(tzinfo=UTC)


SKEW = timedelta(days=1)
"""Maximum difference between the clocks of two machines."""


def is_in_future(moment: str) -> bool:
    """Return whether a time is in the future. Raises ValueError for text in another format."""
    return _parsed(moment) > datetime.fromtimestamp(time.time(), UTC) + SKEW


def now() -> str:
    """Return the current time in UTC, in a format whose text order is time order."""
    return _as_text(datetime.now(UTC))


@dataclass
class Clock:
    """The machine's clock, or just after the latest time seen if that is later.

    Times then order all events that this clock has seen, even if the machine's clock was set back
    or another machine's clock is ahead.

    Source: Kulkarni et al. (2014), "Logical Physical Clocks".
    """

    latest: datetime = _BEGINNING

    def see(self, moment: str) -> None:
        """Note a time; text in another format is ignored."""
        with contextlib.suppress(ValueError):
            self.latest = max(self.latest, _parsed(moment))

    def now(self) -> str:
        """Return a time later than every time seen."""
        with contextlib.suppress(OverflowError):
            self.latest = max(datetime.now(UTC), self.latest + _TICK)
        return _as_text(self.latest)


def _parsed(moment: str) -> datetime:
    noted = datetime.fromisoformat(moment)
    return noted if noted.tzinfo else noted.replace(tzinfo=UTC)


def _as_text(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="milliseconds")
