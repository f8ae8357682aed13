"""Which pushed versions may go, and their removal."""

from __future__ import annotations

from components.blessing import is_blessed
from components.pusher.release_directory import ReleaseDirectory
from models.contract.manifest import Manifest


def removable(directory: ReleaseDirectory, keep: int) -> list[int]:
    """Versions beyond the `keep` newest blessed ones that nothing needs, ascending.

    Never among them: versions with a label, the version a rollback goes back to, the one rolled back
    last (somebody is about to look into it), the newest undamaged blessed version of each tokenizer that
    was not rolled back (a later run's baseline), and versions that no evaluation blessed or whose
    manifest cannot be read, which somebody put there by hand.

    Args:
        directory: locked.
        keep: at least 1.
    """
    blessed = {v: m for v, m in directory.readable().items() if is_blessed(m.evaluation)}
    surplus = sorted(blessed)[:-keep]
    if not surplus:
        return []
    rolled_back = directory.log.rolled_back
    candidates = {v: m for v, m in blessed.items() if v not in rolled_back}
    needed = {*directory.labels.targets.values(), *_baselines(directory, candidates), *[*rolled_back][-1:]}
    return [version for version in surplus if version not in {*needed, directory.rollback_target()}]


def remove_surplus(directory: ReleaseDirectory, keep: int | None) -> tuple[int, ...]:
    """Remove what `removable` names; without a limit nothing.

    Returns:
        The removed versions.
    """
    if keep is None:
        return ()
    found = removable(directory, keep)
    for version in found:
        directory.remove(version, f"older than the newest {keep} blessed versions (push.keep)")
    return tuple(found)


def _baselines(directory: ReleaseDirectory, blessed: dict[int, Manifest]) -> set[int]:
    found: dict[str, int] = {}
    for version in sorted(blessed, reverse=True):
        tokenizer = blessed[version].tokenizer.fingerprint
        if tokenizer not in found and directory.intact(version):
            found[tokenizer] = version
    return set(found.values())
