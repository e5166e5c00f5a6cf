"""Names of cases."""

from bnnbench.engine.declare.case import Case, cases_of
from bnnbench.methods.networks.architectures import Linear
from tests.suites.fakes import Elsewhere, Line

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
