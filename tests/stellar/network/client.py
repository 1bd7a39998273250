"""Turning the knobs of the local Horizon from another process."""

from __future__ import annotations

from typing import Any

import httpx

from tests.stellar.network.keys import PORT

URL = f"http://127.0.0.1:{PORT}"


class Refused(Exception):
    """The local network did not do it; the message says why."""


def turn(knob: str, **arguments: Any) -> Any:
    """What a knob returns; Refused when it cannot be turned so, or nothing answers."""
    try:
        said = httpx.post(f"{URL}/_local/{knob}", json=arguments, timeout=10, trust_env=False)
    except httpx.HTTPError as error:
        raise Refused(f"Nothing answers at {URL}: is `manage.py devnet` running?") from error
    if said.is_error:
        raise Refused(str(said.json().get("extras", {}).get("reason", said.text)))
    return said.json()["result"]
