"""What the templates of TypeScript write, laid out as prettier would."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable
from typing import Any

from sdk.generator.model import Api, Operation, Type
from sdk.generator.names import camel, pascal

WIDTH = 120
SENT = {
    "string": "string", "integer": "number", "number": "number", "boolean": "boolean", "datetime": "string | Date",
    "moment": "string | Date", "amount": "string | number", "any": "unknown",
}  # fmt: skip
RECEIVED = {**SENT, "datetime": "string", "moment": "string"}


def annotation(type_: Type) -> str:
    """The type of what comes in a reply. A text of an enumeration may be one that this version does not know."""
    return _written(type_, RECEIVED, is_sent=False)


def parameter(type_: Type) -> str:
    """The type of what is sent."""
    return _written(type_, SENT, is_sent=True)


def _written(type_: Type, names: dict[str, str], *, is_sent: bool) -> str:
    match type_.kind:
        case "enum":
            text = type_.name if is_sent else f"Open<{type_.name}>"
        case "const":
            text = json.dumps(type_.value)
        case "record":
            text = type_.name
        case "array":
            assert type_.item is not None
            inner = _written(type_.item, names, is_sent=is_sent)
            inner = f"({inner})[]" if " " in inner and not inner.endswith(">") else f"{inner}[]"
            text = f"readonly {inner}" if is_sent else inner
        case "map":
            assert type_.item is not None
            text = f"Record<string, {_written(type_.item, names, is_sent=is_sent)}>"
        case kind:
            text = names[kind]
    return f"{text} | null" if type_.nullable and text != "unknown" else text


def union(name: str, members: list[str]) -> str:
    """The declaration of a type that is one of several."""
    line = f"export type {name} = {' | '.join(members)};"
    if len(line) <= WIDTH:
        return line
    return f"export type {name} =\n" + "\n".join(f"  | {member}" for member in members) + ";"


def comment(text: str, indent: int = 0) -> str:
    """A comment for documentation; nothing where there is nothing to say."""
    text = text.replace("*/", "* /").strip()
    if not text:
        return ""
    margin = " " * indent
    if "\n" not in text and indent + len(text) + 7 <= WIDTH:
        return f"{margin}/** {text} */\n"
    paragraphs = [textwrap.wrap(" ".join(part.split()), WIDTH - indent - 3) for part in text.split("\n\n")]
    lines = [line for number, part in enumerate(paragraphs) for line in ([""] if number else []) + part]
    return "".join(f"{margin}{line}".rstrip() + "\n" for line in ["/**", *(f" * {line}" for line in lines), " */"])


def method(api: Api, operation: Operation, *, is_file: bool = False) -> str:
    """A method of a resource."""
    parameters = [f"{camel(field.name)}: string" for field in operation.path_parameters]
    request = [f'method: "{operation.method}"', f"path: {_path(operation)}"]
    if operation.body is not None:
        is_optional = not any(field.required for field in operation.body.fields)
        parameters.append(f"params: models.{operation.body.name}" + (" = {}" if is_optional else ""))
        request.append("body: params")
    if is_file:
        parameters.append(f"params: {params_name(operation, is_file=True)}")
        request.append("query: params")
    elif operation.query_parameters:
        is_optional = not any(field.required for field in operation.query_parameters)
        parameters.append(f"params{'?' if is_optional else ''}: {params_name(operation)}")
        request.append("query: params")
    parameters.append("options?: CallOptions")
    arguments = ["options"]
    if is_file:
        result, call = "Call<Uint8Array>", "call"
        request.append("isFile: true")
    elif operation.is_paged:
        result, call = f"ListCall<{_record(operation.item)}>", "list"
        cursor = _cursor(api, operation.item)
        arguments += [f'"{cursor}"'] if cursor != "id" else []
    else:
        result, call = f"Call<{_record(operation.result.name)}>", "call"
    name = camel(operation.download_name if is_file else operation.name)
    head = f"  {name}({', '.join(parameters)}): {result} {{"
    if len(head) > WIDTH:
        head = f"  {name}(\n" + "".join(f"    {one},\n" for one in parameters) + f"  ): {result} {{"
    body = f"    return this.#transport.{call}({{ {', '.join(request)} }}, {', '.join(arguments)});"
    if len(body) > WIDTH:
        fields = "".join(f"        {one},\n" for one in request)
        rest = "".join(f"      {one},\n" for one in arguments)
        body = f"    return this.#transport.{call}(\n      {{ {', '.join(request)} }},\n{rest}    );"
        if len(f"      {{ {', '.join(request)} }},") > WIDTH:
            body = f"    return this.#transport.{call}(\n      {{\n{fields}      }},\n{rest}    );"
    return f"{head}\n{body}\n  }}"


def params_name(operation: Operation, *, is_file: bool = False) -> str:
    name = operation.download_name if is_file else operation.name
    return f"{pascal(operation.resource)}{pascal(name)}Params"


def _path(operation: Operation) -> str:
    path = operation.path
    for field in operation.path_parameters:
        path = path.replace(f"{{{field.name}}}", f"${{segment({camel(field.name)})}}")
    return f"`{path}`" if operation.path_parameters else f'"{path}"'


def _record(name: str) -> str:
    return "Event" if name == "Event" else f"models.{name}"


def _cursor(api: Api, item: str) -> str:
    """The field by which a list is continued."""
    names = {"id"} if item == "Event" else {field.name for field in api.record(item).fields}
    return "id" if "id" in names else "month"


FILTERS: dict[str, Callable[..., Any]] = {
    "annotation": annotation, "parameter": parameter, "union": union, "comment": comment, "method": method,
    "params_name": params_name,
}  # fmt: skip
