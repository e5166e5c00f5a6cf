"""The table of sources and its command line."""

import numpy as np
import pytest

from bnnbench.commands.data import main
from bnnbench.datasets import FILE_SETS, SOURCES, source
from bnnbench.datasets.base import DataSource, ImageSource, TableSource
from bnnbench.datasets.official.svhn import PATH
from bnnbench.engine.declare.description import canonical_json, describe


@pytest.fixture(autouse=True)
def _restored_environment(monkeypatch, folder):
    monkeypatch.setenv("BNNBENCH_OFFLINE", "")


@pytest.mark.parametrize("name", SOURCES)
def test_every_source_keeps_the_contract(name):
    one = source(name)
    assert isinstance(one, DataSource)
    assert isinstance(one, ImageSource) != isinstance(one, TableSource)
    assert one.name == name.removesuffix("_large")
    assert one == source(name)
    assert hash(one) == hash(source(name))
    assert canonical_json(describe(one)) == canonical_json(describe(source(name)))
    assert one.licence
    assert (one.bytes == 0) == (one.origin in ("generated", "stand-in"))


@pytest.mark.parametrize("name", SOURCES)
def test_a_fold_beyond_the_last_is_refused(name):
    one = source(name)
    with pytest.raises(ValueError, match="folds"):
        one.load(one.folds)


def test_no_two_sources_are_equal():
    assert len({source(name) for name in SOURCES}) == len(SOURCES)


def test_the_list_names_every_source_and_what_is_there(folder, capsys):
    folder.mkdir()
    np.savez(folder / PATH, X=np.zeros(1))
    assert main([]) == 0
    lines = capsys.readouterr().out.splitlines()
    rows = {line.split()[0]: line for line in lines[3:]}
    assert rows.keys() == SOURCES.keys() | FILE_SETS.keys()
    assert " yes " in rows["svhn_first1083"]
    assert " no " in rows["cifar10"]
    assert "non-commercial" in rows["svhn"]
    assert "2,918 MB" in rows["cifar10_c"]


def test_the_folder_can_be_given_before_or_after_the_command(tmp_path, capsys):
    for arguments in (["--data-dir", str(tmp_path)], ["list", "--data-dir", str(tmp_path)]):
        assert main(arguments) == 0
        assert str(tmp_path) in capsys.readouterr().out


def test_fetching_what_is_there_succeeds(capsys):
    assert main(["fetch", "diabetes", "digits_as_mnist"]) == 0


def test_fetching_offline_fails_and_says_why(capsys):
    assert main(["fetch", "diabetes", "cifar10", "--offline"]) == 1
    assert "BNNBENCH_OFFLINE" in capsys.readouterr().err


def test_a_misspelt_name_names_the_nearest(capsys):
    assert main(["fetch", "cifar-10"]) == 2
    assert "cifar10" in capsys.readouterr().err


def test_a_wrong_flag_is_a_usage_error(capsys):
    with pytest.raises(SystemExit) as stopped:
        main(["fetch"])
    assert stopped.value.code == 2


def test_a_misspelt_option_names_the_nearest(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["facts", "boston", "--foldd", "1"])
    assert stop.value.code == 2
    assert "--foldd 1; did you mean --fold?" in capsys.readouterr().err
