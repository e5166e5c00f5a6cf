"""Rewrite locks/packages.lock and locks/torch.lock; needs uv (`pip install uv`).

    python locks/lock.py            # keeps versions allowed by constraints.txt
    python locks/lock.py --upgrade  # takes the newest versions allowed

The CPU build of torch is not on PyPI; locks/torch-cpu.lock is edited by hand.
"""

import re
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
ROOT = FOLDER.parent
COMMAND = (
    *("uv", "pip", "compile", "pyproject.toml", "--extra=dev", "--extra=docs"),
    *("--constraints", "constraints.txt", "--universal", "--python-version", "3.11"),
    *("--generate-hashes", "--no-header", "--annotation-style", "line", "--quiet"),
)
HEADS = {
    "packages.lock": "All packages that the set-up installs but torch",
    "torch.lock": "torch, and the libraries that its build for CUDA needs on Linux",
}


def main(arguments: list[str]) -> None:
    """Resolve the project and its extras dev and docs for all platforms and write both locks."""
    locks = [FOLDER / name for name in HEADS]
    output = ROOT / "build" / "requirements.lock"
    output.parent.mkdir(exist_ok=True)
    output.write_text("".join(lock.read_text() for lock in locks if lock.exists()))
    subprocess.run([*COMMAND, "--output-file", output, *arguments], cwd=ROOT, check=True)
    pins = _pins(output.read_text())
    for lock, with_torch in zip(locks, (False, True), strict=True):
        chosen = [pin for name, pin in pins.items() if _comes_with_torch(name, pins) == with_torch]
        head = f"# {HEADS[lock.name]},\n# with the SHA-256 of each file on PyPI."
        lock.write_text(f"{head} Written by locks/lock.py.\n{''.join(chosen)}")


def _pins(text: str) -> dict[str, str]:
    """Return name → lines of each package, with all its versions together."""
    pins: dict[str, str] = {}
    for block in re.split(r"^(?=[\w])", text, flags=re.MULTILINE)[1:]:
        name = block.split("==")[0]
        pins[name] = pins.get(name, "") + block
    return pins


def _comes_with_torch(name: str, pins: dict[str, str]) -> bool:
    """Return whether a package is torch, or needed only by torch's Linux build."""
    if name not in pins or name == "torch":
        return name == "torch"
    askers = ", ".join(re.findall(r"# via (.*)", pins[name])).split(", ")
    linux = "sys_platform == 'linux'" in pins[name]
    return linux and all(_comes_with_torch(asker, pins) for asker in askers)


if __name__ == "__main__":
    main(sys.argv[1:])
