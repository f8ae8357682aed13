"""Pushes killed at random moments, watched all the time."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from components.pusher.package_pusher import PackagePusher
from components.pusher.release_directory import LOCK_FILE
from models.contract.labels import LABELS_FILE, Labels
from models.contract.manifest import Manifest
from models.contract.package import versions
from models.contract.release_log import RELEASES_FILE, ReleaseLog
from models.package import verify_content
from tests.components.packages import bare_package
from tests.push_watch import PushWatch

PUSHER = """
import sys
from itertools import cycle
from pathlib import Path
from components.pusher.package_pusher import PackagePusher
base, keep, *packages = sys.argv[1:]
print("ready", flush=True)
for package in cycle(packages):
    PackagePusher(Path(base), keep=int(keep) or None).push(
        Path(package), run_id="r", evaluation={"blessed": True}
    )
"""


@pytest.mark.parametrize("keep", [0, 2])
def test_a_killed_push_is_whole_or_invisible(tmp_path: Path, keep: int):
    dice = random.Random(keep)
    packages = [bare_package(tmp_path / f"made{number}", weights=str(number) * 9000) for number in range(2)]
    base = tmp_path / "push"
    command = [sys.executable, "-c", PUSHER, str(base), str(keep), *map(str, packages)]
    with PushWatch(base) as watch:
        for _ in range(6):
            process = subprocess.Popen(command, stdout=subprocess.PIPE)
            assert process.stdout is not None
            process.stdout.readline()
            time.sleep(dice.uniform(0.0, 0.1))
            process.send_signal(signal.SIGKILL)
            process.communicate()
        last = PackagePusher(base, keep=keep or None).push(
            bare_package(tmp_path / "last", weights="last"), run_id="r", evaluation={"blessed": True}
        )
    assert watch.seen
    there = versions(base)
    for version in there:
        verify_content(base / str(version), Manifest.load(base / str(version)))
    log, labels = ReleaseLog.load(base), Labels.load(base)
    assert labels == Labels.replay(log.records)
    assert labels.stable in there
    assert sorted(log.versions) == there
    assert there[-1] == int(last.path.name)
    assert len(there) <= keep + 1 or not keep
    assert set(os.listdir(base)) == {LOCK_FILE, LABELS_FILE, RELEASES_FILE, *map(str, there)}
