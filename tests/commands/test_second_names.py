"""Second names of commands."""

import pytest

from bnnbench.__main__ import COMMANDS, OTHER_NAMES, main


@pytest.mark.parametrize(("second", "name"), OTHER_NAMES.items())
def test_a_second_name_leads_to_its_command(second, name, capsys):
    assert name in COMMANDS
    assert second not in COMMANDS
    texts = []
    for each in (second, name):
        with pytest.raises(SystemExit) as ended:
            main([each, "--help"])
        texts.append(capsys.readouterr().out)
        assert not ended.value.code
    assert texts[0] == texts[1]
    assert f"usage: bnnbench {name}" in texts[0]
