"""No kernel in C reads or writes where it should not, nor does what C leaves undefined."""

import subprocess
from pathlib import Path

import pytest

from bnnbench.methods.compiled.c_library import DEFINES, STRICT, compiler
from bnnbench.methods.message_passing.kernels.compiled import LIBRARY

DRIVER = Path(__file__).with_name("driver.c")
SANITIZERS = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-g")


def program(path: Path, *flags: str) -> Path:
    """Build the driver with all kernels; skip where the compiler lacks what a flag needs."""
    words = [*compiler(""), *STRICT, *flags, f"-I{LIBRARY.folder}", str(DRIVER)]
    words += [str(LIBRARY.folder / name) for name in LIBRARY.sources]
    done = subprocess.run(
        [*words, "-o", str(path), "-lm"], capture_output=True, text=True, check=False
    )
    if done.returncode and ("asan" in done.stderr or "ubsan" in done.stderr):
        pytest.skip(f"needs a compiler with sanitizers: {done.stderr.splitlines()[-1]}")
    assert not done.returncode, done.stderr
    return path


@pytest.mark.parametrize("level", ["-O1", "-O3"])
@pytest.mark.parametrize("defines", DEFINES.values(), ids=("float32", "float64"))
def test_all_kernels_run_on_odd_shapes_under_sanitizers(defines, level, tmp_path):
    driver = program(tmp_path / "driver", level, *SANITIZERS, *defines)
    done = subprocess.run([str(driver)], capture_output=True, text=True, check=False)
    assert done.stdout == "0 invalid\n", done.stderr
    assert not done.returncode
    assert not done.stderr


def test_sanitizers_would_notice(tmp_path):
    kernel = (LIBRARY.folder / "sums.c").read_text()
    broken = tmp_path / "sums.c"
    broken.write_text(kernel.replace("o < outputs; o++", "o <= outputs; o++"))
    assert broken.read_text() != kernel
    words = [*compiler(""), *STRICT, "-O1", *SANITIZERS, f"-I{LIBRARY.folder}"]
    sources = [LIBRARY.folder / name for name in LIBRARY.sources if name != "sums.c"]
    words += [str(path) for path in (DRIVER, broken, *sources)]
    path = tmp_path / "driver"
    done = subprocess.run([*words, "-o", str(path), "-lm"], capture_output=True, check=False)
    if done.returncode:
        pytest.skip("needs a compiler with sanitizers")
    done = subprocess.run([str(path)], capture_output=True, text=True, check=False)
    assert done.returncode
    assert "AddressSanitizer" in done.stderr
