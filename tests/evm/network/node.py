"""A chain on this very machine: anvil, started and stopped by whoever needs one."""

from __future__ import annotations

import os
import re
import select
import shutil
import signal
import subprocess
import threading
import time
from pathlib import Path
from types import TracebackType

from tests.evm.network.fetching import fetched_binary

START_SECONDS = 20
STOP_SECONDS = 5
HISTORY = 512
"""Blocks whose state is kept, in memory. Without a number here, anvil writes every state to the disk and leaves it."""

MNEMONIC = "test test test test test test test test test test test junk"
"""What every local node's accounts come from. Their keys are public: money on them belongs to anyone."""

_LISTENING = re.compile(r"Listening on (\S+):(\d+)")


class NodeMissing(Exception):
    """There is no local node on this machine; the message says how to get one."""


def binary() -> Path:
    """Where the node is: fetched by npm, or installed; NodeMissing otherwise."""
    if fetched_binary().exists():
        return fetched_binary()
    if installed := shutil.which("anvil"):
        return Path(installed)
    raise NodeMissing(
        "There is no local ethereum node: `make node` fetches one by npm (Debian: apt install npm), "
        "and an installed `anvil` is used as well."
    )


class LocalNode:
    """One anvil process. Blocks appear by the clock when `block_seconds` is set, else when they are asked for.

    The newest final block is two epochs below the head. Anyone may act for any account, without its key.
    """

    def __init__(
        self,
        *,
        chain_id: int,
        epoch_blocks: int = 32,
        block_seconds: float | None = None,
        port: int = 0,
        history: int = HISTORY,
    ) -> None:
        self.chain_id = chain_id
        self.url = ""
        mining = ["--no-mining"] if block_seconds is None else ["--block-time", f"{block_seconds:g}"]
        self._command = [
            str(binary()),
            *("--chain-id", str(chain_id), "--port", str(port), "--slots-in-an-epoch", str(epoch_blocks)),
            *("--mnemonic", MNEMONIC, "--prune-history", str(history), "--no-request-size-limit"),
            *("--auto-impersonate", "--enable-tx-gas-limit"),
            *mining,
        ]
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Returns once the node answers; RuntimeError with its last words when it does not."""
        self._process = subprocess.Popen(
            self._command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            start_new_session=True,  # an interrupt at the terminal is for us, and we stop it
        )
        said = self._read_until_listening(self._process)
        found = _LISTENING.search(said)
        if found is None:
            self.stop()
            raise RuntimeError(f"the local node did not start: {said[-500:]}")
        self.url = f"http://{found[1]}:{found[2]}"
        # It says every question it is asked, and would wait for somebody to read that.
        threading.Thread(target=_read_on, args=(self._process,), daemon=True).start()

    def stop(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def wait(self) -> int:
        """Until the node ends by itself; its exit code."""
        if self._process is None:
            raise RuntimeError("the local node does not run")
        return self._process.wait()

    def __enter__(self) -> LocalNode:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _read_until_listening(self, process: subprocess.Popen[bytes]) -> str:
        said, deadline = b"", time.monotonic() + START_SECONDS
        stream = process.stdout
        if stream is None:
            raise RuntimeError("the local node has no output")
        while not _LISTENING.search(said.decode(errors="replace")):
            ready, _, _ = select.select([stream], [], [], max(0, deadline - time.monotonic()))
            chunk = os.read(stream.fileno(), 65_536) if ready else b""
            if not chunk:
                break
            said += chunk
        return said.decode(errors="replace")


def _read_on(process: subprocess.Popen[bytes]) -> None:
    if process.stdout is not None:
        with process.stdout as stream:
            while stream.read(65_536):
                pass
