"""Leaving out what libraries import but these commands do not use."""

from __future__ import annotations

import sys


def leave_out(*modules: str) -> None:
    """Make optional imports of `modules` fail at once.

    Libraries that import them guard the import and do without. No effect on modules that are
    imported already.
    """
    for module in modules:
        sys.modules.setdefault(module, None)  # type: ignore[arg-type]


def leave_out_keras_extras() -> None:
    """Leave out what Keras imports for notebooks and data frames: 4 of TensorFlow's 10 seconds of CPU.

    Only for processes that do nothing but serve a package.
    """
    leave_out("IPython", "pandas", "sklearn")
