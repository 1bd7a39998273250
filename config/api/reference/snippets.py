"""A request of the API in four languages, each a program that runs as it is. Pure.

None needs a library: Python, Node and PHP call with what they bring.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from pprint import pformat
from typing import Any, NamedTuple

from config.api.renderers import render_json

SAMPLE_ID = "01kfjhr3c8e4bs0dz6wd5n5yry"


class Snippet(NamedTuple):
    """A program. `language` is what it is called on a page."""

    language: str
    code: str


def runnable(value: Any) -> Any:
    """The example with numbers as programs write them."""
    match value:
        case Decimal():
            return float(value)
        case Mapping():
            return {name: runnable(inner) for name, inner in value.items()}
        case list():
            return [runnable(inner) for inner in value]
    return value


def snippets(method: str, url: str, body: Any) -> tuple[Snippet, ...]:
    """The request in every language. `body` is None for a request without one."""
    return (
        Snippet("curl", _curl(method, url, body)),
        Snippet("Python", _python(method, url, body)),
        Snippet("Node", _node(method, url, body)),
        Snippet("PHP", _php(method, url, body)),
    )


def as_json(value: Any) -> str:
    return render_json(value, indented=True).decode()


def _curl(method: str, url: str, body: Any) -> str:
    lines = [f"curl {url}" if method == "GET" else f"curl -X {method} {url}"]
    lines += ['-H "Authorization: Bearer $BALLAST_PUBLIC_KEY"', '-H "X-Api-Secret: $BALLAST_SECRET_KEY"']
    if body is not None:
        lines += ['-H "Content-Type: application/json"', "-d '" + as_json(body).replace("'", "'\\''") + "'"]
    return " \\\n  ".join(lines)


def _python(method: str, url: str, body: Any) -> str:
    content = "" if body is None else f"\nbody = {pformat(body, sort_dicts=False, width=76)}"
    data = "" if body is None else "\n    data=json.dumps(body).encode(),"
    kind = "" if body is None else '\n        "Content-Type": "application/json",'
    return f"""import json
import os
from urllib.request import Request, urlopen
{content}
request = Request(
    "{url}",
    method="{method}",{data}
    headers={{
        "Authorization": "Bearer " + os.environ["BALLAST_PUBLIC_KEY"],
        "X-Api-Secret": os.environ["BALLAST_SECRET_KEY"],{kind}
    }},
)
with urlopen(request) as reply:
    print(json.load(reply))"""


def _node(method: str, url: str, body: Any) -> str:
    data = "" if body is None else "\n  body: JSON.stringify(" + as_json(body).replace("\n", "\n  ") + "),"
    kind = "" if body is None else '\n    "Content-Type": "application/json",'
    return f"""const reply = await fetch("{url}", {{
  method: "{method}",
  headers: {{
    Authorization: `Bearer ${{process.env.BALLAST_PUBLIC_KEY}}`,
    "X-Api-Secret": process.env.BALLAST_SECRET_KEY,{kind}
  }},{data}
}});
console.log(await reply.json());"""


def _php(method: str, url: str, body: Any) -> str:
    kind = "" if body is None else "\n        'Content-Type: application/json',"
    data = ""
    if body is not None:
        text = as_json(body).replace("\\", "\\\\").replace("'", "\\'")
        data = f"\n    'content' => '{text}',"
    return f"""<?php
$reply = file_get_contents('{url}', false, stream_context_create(['http' => [
    'method' => '{method}',
    'ignore_errors' => true,
    'header' => [
        'Authorization: Bearer ' . getenv('BALLAST_PUBLIC_KEY'),
        'X-Api-Secret: ' . getenv('BALLAST_SECRET_KEY'),{kind}
    ],{data}
]]));
echo $reply;"""
