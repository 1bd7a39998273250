"""A shell into which the commands of pages are pasted."""

from __future__ import annotations

import re
import shlex
from html import unescape
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.test import Client

from merchants.services import IssuedKey


def run(command: str, key: IssuedKey) -> Any:
    """The reply to a command that is pasted into a shell with these keys: read as the shell and curl read it."""
    command = command.replace("$BALLAST_PUBLIC_KEY", key.key.public_key).replace("$BALLAST_SECRET_KEY", key.secret)
    name, *options = shlex.split(command.replace("\\\n", ""))
    assert name == "curl"
    headers, body, method, named = {}, None, "GET", None
    if options[0] == "-X":
        named, options = options[1], options[2:]
    address, *options = options
    while options:
        option, value, *options = options
        match option:
            case "-H":
                header, _, text = value.partition(": ")
                headers[header] = text
            case "--data-raw":
                body, method = value, "POST"
            case _:
                raise AssertionError(option)
    assert address.startswith(settings.PUBLIC_URL)
    parts = urlsplit(address)
    content_type = headers.pop("Content-Type", "application/json")
    return Client().generic(
        named or method, f"{parts.path}?{parts.query}", body or "", content_type=content_type, headers=headers
    )


def command_on(client: Client, address: str) -> str:
    found = re.search(r'data-copy="(curl [^"]+)"', client.get(address).text)
    assert found, address
    return unescape(found[1])
