"""Syntax trees of source code, for tests that read it."""

from __future__ import annotations

import ast
import gc
from pathlib import Path


def tree_in(path: Path) -> ast.Module:
    """The tree of a module. No garbage is collected meanwhile: before Python 3.11.8 that lets another thread parse, and
    both then fail by `SystemError: AST constructor recursion depth mismatch` (python/cpython#106905)."""
    source, was_enabled = path.read_text(), gc.isenabled()
    gc.disable()
    try:
        return ast.parse(source, filename=str(path))
    finally:
        if was_enabled:
            gc.enable()
