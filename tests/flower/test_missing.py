"""Without Flower, its rooms say what to install, and the rest works."""

import subprocess
import sys

import pytest

HIDE = "import sys; sys.modules[{name!r}] = None\n"


def said(name, code):
    run = subprocess.run(
        [sys.executable, "-c", HIDE.format(name=name) + code], capture_output=True, text=True
    )
    return run.returncode, run.stdout + run.stderr


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("flwr", "import fedadp.flower"),
        ("flwr", "from fedadp.flower import FedAdp"),
        ("flwr", "from fedadp.flower.simulation import simulate"),
        ("cryptography", "import fedadp.deploy.pki"),
    ],
)
def test_what_is_missing_is_told_with_the_command_that_installs_it(name, code):
    returned, words = said(name, code)
    assert returned == 1
    assert words.splitlines()[-1].startswith("fedadp.errors.MissingExtraError: fedadp")
    assert "pip install 'fedadp[flower]'" in words


@pytest.mark.parametrize("words", [["run", "e.toml"], ["flower", "pki", "keys"]])
def test_the_commands_say_so_in_one_sentence(tmp_path, words):
    (tmp_path / "e.toml").write_text(
        'rounds = 1\nengine = "flower"\nmodel = "mlr"\ndata = "synthetic"\n'
        'partition = { name = "iid", nodes = 2 }\n'
    )
    name = "flwr" if words[0] == "run" else "cryptography"
    code = f"import os; os.chdir({str(tmp_path)!r}); sys.argv[1:] = {words!r}\n"
    returned, complained = said(name, code + "from fedadp.__main__ import main; main()")
    assert returned == 2, complained
    assert "pip install 'fedadp[flower]'" in complained
    assert "Traceback" not in complained


def test_the_library_itself_needs_no_flower():
    code = "import fedadp; from fedadp import FedAdp, Cohort, run; print(FedAdp())"
    assert said("flwr", code)[0] == 0
