"""The base of all generated sources, which need no file and no licence."""

from bnnbench.datasets.origins import Origin


class Generated:
    """A source whose rows are drawn from a law; subclasses load them."""

    licence = "none needed: generated"
    bytes = 0

    @property
    def origin(self) -> Origin:
        """Drawn from a law."""
        return "generated"

    def missing(self) -> tuple[str, ...]:
        """Return nothing: there are no files."""
        return ()

    def fetch(self) -> None:
        """Return at once: there are no files."""

    def fallbacks(self) -> tuple[()]:
        """Return no fallbacks: none is needed."""
        return ()
