"""A network of this process's own, in which nothing reaches the outside and any address can be ours."""

from __future__ import annotations

import ctypes
import os
import subprocess

from tests.gauntlet.report import Skipped

_CLONE_NEWNET = 0x40000000

PUBLIC_ADDRESS = "11.0.0.1"
"""An address that no special rule excludes: on our own loopback device, where nothing of it leaves."""


def enter_own_network() -> None:
    """This process and all that it starts from now on. Skipped where the system does not let it."""
    libc = ctypes.CDLL(None, use_errno=True)
    if not hasattr(libc, "unshare") or libc.unshare(_CLONE_NEWNET) != 0:
        raise Skipped(f"this scenario needs Linux, and the right to a network of its own: {_last_error()}")
    for command in ("ip link set lo up", f"ip address add {PUBLIC_ADDRESS}/32 dev lo"):
        subprocess.run(command.split(), check=True)


def _last_error() -> str:
    return os.strerror(ctypes.get_errno())
