"""Labels of a bundle and of its suites, which no other method may use."""

from collections.abc import Iterable, Mapping

from bnnbench.commands.stored_runs.submitted import Refused, Submitted, declared_suite
from bnnbench.engine.declare.description import canonical_json, describe
from bnnbench.engine.records.record import Record

CURE = (
    "give the class of the method another name, or an attribute `label` with another text in "
    "ASCII, and run it again"
)


def check_label(submitted: Submitted, others: Iterable[Record]) -> None:
    """Raise `Refused` if another method, or the same with other settings, has the label.

    Labels are ASCII, which has no look-alikes, and equal up to case and spaces. Other suites may
    use the method with other settings, but not another class.
    """
    first, keys = submitted.first, {record.key for record in submitted.records}
    if not (first.method.isascii() and first.method.isprintable()):
        raise Refused(f"the label {first.method!a} has characters that look like others: {CURE}")
    label, name = plain(first.method), _class_of(first.run.get("method"))
    _check_declared(submitted, label)
    for other in others:
        if other.key in keys:
            raise Refused(f"the bundle already has the run {other.key} of {other.method}")
        if plain(other.method) != label:
            continue
        of_other = _class_of(other.run.get("method"))
        if of_other != name:
            raise Refused(
                f"the label {other.method!r} belongs to {of_other} in the bundle, and these runs "
                f"are of {name}: {CURE}"
            )
        here = (other.suite, other.profile) == (first.suite, first.profile)
        mine = submitted.methods.get(other.dataset)
        if here and mine is not None and not _same(mine, other.run.get("method")):
            raise Refused(
                f"the label {other.method!r} belongs to {name} with other settings in the bundle, "
                f"on {other.dataset}: {CURE}"
            )


def _check_declared(submitted: Submitted, label: str) -> None:
    """Raise `Refused` if the suite declares another method under the label."""
    suite = declared_suite(submitted.first)
    for arm in suite.arms:
        for case in suite.cases if plain(arm.label) == label else ():
            mine = submitted.methods.get(case.name)
            if mine is not None and not _same(mine, suite.method_for(case, arm.method)):
                raise Refused(
                    f"the suite {suite.name} has another method, or other settings, under the "
                    f"label {arm.label!r}: {CURE}"
                )


def plain(label: str) -> str:
    """Return a label without differences of case and spaces."""
    return " ".join(label.casefold().split())


def _class_of(method: object) -> str:
    """Return the name of a described method's class; of a tuned method, the inner one's."""
    while isinstance(method, Mapping) and method.get("type") == "tuned":
        method = method.get("method")
    return str(method.get("type")) if isinstance(method, Mapping) else "a method without a class"


def _same(one: object, other: object) -> bool:
    return canonical_json(describe(one)) == canonical_json(describe(other))
