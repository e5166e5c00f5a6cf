"""A site from 10,000 runs: at most 20 s, 1 GB, and files under 3 MB."""

import resource
import subprocess
import sys

import pytest

from tests.reports.synthetic import many

RUNS = 10_000
MOST_SECONDS, MOST_KIB, MOST_BYTES = 20.0, 2**20, 3_000_000


@pytest.mark.parametrize("predicted", [0, RUNS])
def test_a_site_from_ten_thousand_runs(benchmark, tmp_path, project, predicted):
    """In a separate process, whose CPU time and memory the operating system reports."""
    if not benchmark.enabled:
        pytest.skip("timing is off")
    many(tmp_path / "results" / "many", RUNS, predicted)
    command = [sys.executable, "-m", "reports", str(tmp_path / "results"), "--out"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    benchmark.pedantic(
        subprocess.run, ([*command, str(tmp_path / "site")],), {"cwd": project, "check": True}
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    sizes = [page.stat().st_size for page in (tmp_path / "site").rglob("*.html")]
    benchmark.extra_info |= {"cpu_seconds": seconds, "peak_kib": after.ru_maxrss}
    benchmark.extra_info["largest_page_bytes"] = max(sizes)
    assert seconds <= MOST_SECONDS
    assert after.ru_maxrss <= MOST_KIB
    assert max(sizes) < MOST_BYTES
