"""The states of code, packages and machines that runs come from."""

from bnnbench.reports.read.facts import origins
from tests.records import changed
from tests.reports.synthetic import record


def run(seed, commit="a", **packages):
    return changed(
        record(seed=seed), provenance={"commit": commit, "packages": {"torch": "2.13", **packages}}
    )


def test_a_package_that_only_one_method_imports_is_no_other_state():
    (state,) = origins([run(0, jaxtyping="0.3"), run(1), run(2, scipy="1.17")])
    assert state.runs == 3
    assert state.entries == {
        "commit": "a",
        "packages.jaxtyping": "0.3",
        "packages.scipy": "1.17",
        "packages.torch": "2.13",
    }


def test_other_versions_and_commits_are_other_states():
    states = origins([run(0, jaxtyping="0.3"), run(1, jaxtyping="0.4"), run(2, commit="b")])
    assert [state.runs for state in states] == [1, 1, 1]
