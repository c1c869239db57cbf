# SPDX-License-Identifier: GPL-2.0-only
"""The unit tests as the host has them, and which of them are not for the kernel."""

import json
import re
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from harness.paths import BUILD, ROOT

UNIT = ROOT / "selftests" / "unit"
_LIST = ROOT / "selftests" / "kunit" / "host-only"
_ENTRY = re.compile(r"^([^ #:]+): (.+)$")


@dataclass(frozen=True)
class HostCase:
    """name: as in KUnit, "<folder>.<suite>.<case>". file: below selftests/unit."""

    name: str
    file: str


def host_cases() -> list[HostCase]:
    """The cases of all programs that selftests/unit/run has built."""
    found = []
    for folder in sorted({test.relative_to(UNIT).parts[0] for test in UNIT.rglob("*_test.cc")}):
        with tempfile.NamedTemporaryFile(suffix=".json") as output:
            subprocess.run([BUILD / "unit" / f"unit_{folder}", "--gtest_list_tests",
                            f"--gtest_output=json:{output.name}"], check=True,
                           stdout=subprocess.DEVNULL)
            listed = json.load(output)
        for suite in listed["testsuites"]:
            # In the kernel the suite's name is the name of a directory.
            prefix = f"{folder}.{suite['name'].replace('/', '.')}"
            found += [HostCase(f"{prefix}.{case['name']}",
                               str(Path(case["file"]).resolve().relative_to(UNIT)))
                      for case in suite["testsuite"]]
    return found


def host_only() -> dict[str, str]:
    """Reasons by file or by name of a case."""
    entries = {}
    for line in _LIST.read_text().splitlines():
        if line and not line.startswith("#"):
            entry = _ENTRY.match(line)
            if entry is None:
                raise ValueError(f"{_LIST}: not \"<file or case>: <reason>\": {line}")
            entries[entry[1]] = entry[2]
    return entries
