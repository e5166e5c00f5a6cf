"""Names of cases."""

import subprocess

import torch
from hypothesis import given
from hypothesis import strategies as st

from bnnbench.engine.declare.case import Case, cases_of
from bnnbench.engine.declare.streams import stream
from bnnbench.methods.networks.architectures import Linear
from tests.suites.fakes import Elsewhere, Line
from tests.warm import python

NETWORK = (Linear(1),)


def test_a_case_goes_by_the_name_of_its_source_unless_it_has_one():
    assert Case(Line("protein"), NETWORK).name == "protein"
    assert Case(Line("protein"), NETWORK, "protein-narrow").name == "protein-narrow"
    assert Case(Line(), NETWORK).title == ""


def test_cases_of_several_sources_share_a_network():
    sources = Line(), Line("protein")
    assert cases_of(sources, NETWORK) == (Case(sources[0], NETWORK), Case(sources[1], NETWORK))


def test_a_name_of_its_own_stays_where_another_source_takes_its_place():
    (stand_in,) = Elsewhere().fallbacks()
    case = Case(Elsewhere(), NETWORK, "wide", "A wide network")
    assert case.on(stand_in) == Case(stand_in, NETWORK, "wide", "A wide network")


def test_a_name_of_the_source_is_also_its_stand_ins():
    (stand_in,) = Elsewhere().fallbacks()
    assert stand_in.name != Elsewhere().name
    assert Case(Elsewhere(), NETWORK).on(stand_in).name == stand_in.name


SCRIPT = """
import torch
from bnnbench.engine.declare.streams import stream
from tests.suites.fakes import Line
print(torch.rand(3, generator=stream("fit", Line(), 2, 1), dtype=torch.float64).tolist())
"""


def test_equal_names_give_equal_streams_in_another_process(project):
    answer = subprocess.run(
        python("-c", SCRIPT), capture_output=True, text=True, check=True, cwd=project
    )
    here = torch.rand(3, generator=stream("fit", Line(), 2, 1), dtype=torch.float64)
    assert answer.stdout.strip() == str(here.tolist())


@given(st.lists(st.integers(0, 50), min_size=2, max_size=6, unique=True))
def test_different_names_give_different_streams(names):
    seeds = {stream("fit", name).initial_seed() for name in names}
    assert len(seeds) == len(names)


def test_streams_of_neighbouring_names_are_uncorrelated():
    draws = torch.stack([torch.randn(4000, generator=stream("fit", n)) for n in range(8)])
    off_diagonal = torch.corrcoef(draws) - torch.eye(8)
    assert off_diagonal.abs().max() < 5 / 4000**0.5


def test_the_global_generator_is_left_as_it_was():
    before = torch.get_rng_state()
    torch.randn(3, generator=stream("fit", 0))
    assert torch.equal(before, torch.get_rng_state())
