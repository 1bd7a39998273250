"""An example of each operation in four languages, for the product's reference: a file of its own data.

Each is a program that runs as it stands, once `{payment_id}` and the like are an id. `sdk/pages` runs them all.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple
from urllib.parse import urlencode

from sdk.generator.model import Api, Operation
from sdk.generator.names import camel, snake
from sdk.generator.python import argument
from sdk.generator.reading import DOCUMENT, ROOT

FILE = ROOT / "config" / "api" / "reference" / "examples.json"

WIDTH, NEW_LINE = 80, "\n"
LANGUAGES = ("curl", "Python", "TypeScript", "PHP")


QUERIES: dict[str, dict[str, Any]] = {"quote_retrieve": {"amount": "25.50", "currency": "EUR"}}
"""Values of the parameters without which an operation cannot be called: the document has no example of them."""


def render(api: Api) -> str:
    """The text of the file: for each operationId the program of each language."""
    bodies = dict(_bodies(json.loads(DOCUMENT.read_text(encoding="utf-8"))))
    for operation in api.operations:
        required = {each.name for each in operation.query_parameters if each.required}
        if missing := required - QUERIES.get(operation.id, {}).keys():
            raise ValueError(f"the example of {operation.id} needs values of {', '.join(sorted(missing))}: see QUERIES")
    examples = {
        operation.id: {
            language: write(operation, QUERIES.get(operation.id) or bodies.get(operation.id, {}))
            for language, write in zip(LANGUAGES, (_curl, _python, _typescript, _php), strict=True)
        }
        for operation in api.operations
    }
    return json.dumps(examples, indent=1, ensure_ascii=False) + "\n"


def _bodies(document: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The first example of each request's body."""
    for methods in document["paths"].values():
        for operation in methods.values():
            content = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
            for example in list(content.get("examples", {}).values())[:1]:
                yield operation["operationId"], example["value"]


def _curl(operation: Operation, values: Mapping[str, Any]) -> str:
    method = "" if operation.method == "GET" else f"-X {operation.method} "
    query = f"?{urlencode(values)}" if values and not operation.has_body else ""
    lines = [
        f'curl {method}"$BALLAST_URL/sandbox/v1{operation.path}{query}"',
        '-H "Authorization: Bearer $BALLAST_PUBLIC_KEY"',
        '-H "X-Api-Secret: $BALLAST_SECRET_KEY"',
    ]
    if operation.takes_key:
        lines.append('-H "Idempotency-Key: $(openssl rand -hex 16)"')
    if operation.has_body:
        text = json.dumps(values, indent=2, ensure_ascii=False).replace("'", "'\\''")
        lines += ['-H "Content-Type: application/json"', f"-d '{text}'"]
    return " \\\n  ".join(lines)


def _python(operation: Operation, values: Mapping[str, Any]) -> str:
    sent = [*operation.query_parameters, *(operation.body.fields if operation.body else ())]
    fields = {field.name: argument(field) for field in sent}
    arguments = [
        *_ids(operation),
        *(f"{fields[name]}={_written(value, PYTHON)}" for name, value in values.items()),
    ]
    call = f"client.{snake(operation.resource)}.{snake(operation.name)}"
    head = "from ballast import Ballast\n\nclient = Ballast()\n"
    if operation.is_paged:
        return f"{head}for {_item(operation)} in {_call(call, arguments)}:\n    print({_item(operation)})"
    return f"{head}{_result(operation)} = {_call(call, arguments)}\nprint({_result(operation)})"


def _typescript(operation: Operation, values: Mapping[str, Any]) -> str:
    fields = [f"{name}: {_written(value, TYPESCRIPT)}" for name, value in values.items()]
    arguments = [*_ids(operation), *([f"{{\n{_lines(fields, '  ')}}}"] if values else [])]
    call = f"client.{camel(operation.resource)}.{camel(operation.name)}({', '.join(arguments)})"
    head = 'import { Ballast } from "@ballast/sdk";\n\nconst client = new Ballast();\n'
    if operation.is_paged:
        item = camel(_item(operation))
        return f"{head}for await (const {item} of {call}) {{\n  console.log({item});\n}}"
    result = camel(_result(operation))
    return f"{head}const {result} = await {call};\nconsole.log({result});"


def _php(operation: Operation, values: Mapping[str, Any]) -> str:
    ids = [text.replace('"', "'") for text in _ids(operation)]
    arguments = [
        *ids,
        *(f"{name}: {_written(value, PHP)}" for name, value in values.items()),
    ]
    call = f"$client->{camel(operation.resource)}->{camel(operation.name)}"
    head = "<?php\nrequire 'vendor/autoload.php';\n\n$client = new Ballast\\Ballast();\n"
    if operation.is_paged:
        item = camel(_item(operation))
        return f"{head}foreach ({_call(call, arguments)} as ${item}) {{\n    print_r(${item});\n}}"
    result = camel(_result(operation))
    return f"{head}${result} = {_call(call, arguments)};\nprint_r(${result});"


def _ids(operation: Operation) -> list[str]:
    """The parameters of the path: texts that the reader of the file puts in place of the names."""
    return [f'"{{{field.name}}}"' for field in operation.path_parameters]


def _item(operation: Operation) -> str:
    return snake(operation.item)


def _result(operation: Operation) -> str:
    """A variable for the reply, named after its record."""
    name = snake(operation.result.name) or "reply"
    return name.removesuffix("_with_secret")


def _call(name: str, arguments: list[str]) -> str:
    """The call in one line, or with a line for each argument."""
    line = f"{name}({', '.join(arguments)})"
    if len(line) + 12 <= WIDTH and NEW_LINE not in line:
        return line
    return f"{name}(\n{_lines(arguments, '    ')})"


class Style(NamedTuple):
    """How a language writes a value."""

    words: Mapping[Any, str]
    """For true, false and null."""
    quoted: Callable[[str], str]
    key: Callable[[str], str]
    between: str
    begin: str
    end: str
    step: str


def _double(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _single(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _bare(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z_]\w*", name) else _double(name)


PYTHON = Style(
    {True: "True", False: "False", None: "None"},
    _double,
    _double,
    ": ",
    "{",
    "}",
    "    ",
)
TYPESCRIPT = Style({True: "true", False: "false", None: "null"}, _double, _bare, ": ", "{ ", " }", "  ")
PHP = Style(
    {True: "true", False: "false", None: "null"},
    _single,
    _single,
    " => ",
    "[",
    "]",
    "    ",
)


def _written(value: Any, style: Style) -> str:
    """A value in one line, or with a line for each part where that would be long."""
    match value:
        case bool() | None:
            return style.words[value]
        case float() if value.is_integer():
            return str(int(value))
        case str():
            return style.quoted(value)
        case Mapping():
            parts = [f"{style.key(name)}{style.between}{_written(each, style)}" for name, each in value.items()]
            begin, end = style.begin, style.end
        case list():
            parts, begin, end = [_written(each, style) for each in value], "[", "]"
        case _:
            return str(value)
    line = f"{begin}{', '.join(parts)}{end}"
    return line if len(line) < WIDTH - 24 else f"{begin.strip()}\n{_lines(parts, style.step)}{end.strip()}"


def _lines(parts: Iterable[str], step: str) -> str:
    return "".join(f"{step}{part.replace(NEW_LINE, NEW_LINE + step)},{NEW_LINE}" for part in parts)
