"""What the templates of PHP write for a type. PHP has no formatter in `make check`, so the layout is made here too."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable
from typing import Any

from sdk.generator.model import Field, Operation, Record, Resource, Type
from sdk.generator.names import camel

SENT = {
    "string": "string", "integer": "int", "number": "int|float|string", "boolean": "bool", "any": "mixed",
    "datetime": r"\DateTimeInterface|string", "moment": r"\DateTimeInterface|string", "amount": "int|float|string",
    "enum": "string", "record": "array", "array": "array", "map": "array",
}  # fmt: skip
RECEIVED = {**SENT, "number": "string", "amount": "string", "datetime": r"\DateTimeImmutable", "moment": "string"}


def property_type(type_: Type) -> str:
    """The type of a property of a record. A text of an enumeration may be one that this version does not know."""
    if type_.kind == "record":
        return f"?{type_.name}" if type_.nullable else type_.name
    text = _constant(type_) if type_.kind == "const" else RECEIVED[type_.kind]
    return f"?{text}" if type_.nullable and text != "mixed" else text


def parameter(field: Field, is_change: bool = False) -> str:
    """A parameter of a method, with its default."""
    kind = field.type.kind
    text = _constant(field.type) if kind == "const" else SENT[kind]
    name = argument(field)
    if field.required:
        return f"{text} ${name}" if not field.type.nullable else f"{text}|null ${name}"
    if text == "mixed":
        return f"mixed ${name} = {'Omitted::Value' if is_change else 'null'}"
    if is_change:
        return f"{text}{'|null' if field.type.nullable else ''}|Omitted ${name} = Omitted::Value"
    return f"{text}|null ${name} = null" if "|" in text else f"?{text} ${name} = null"


def argument(field: Field) -> str:
    """The name of a parameter: the API's own, but for those of the path."""
    return field.name


def path_argument(field: Field) -> str:
    return camel(field.name)


def ordered(fields: tuple[Field, ...]) -> list[Field]:
    """Required parameters first, as PHP wants them."""
    return sorted(fields, key=lambda field: not field.required)


def sent(field: Field) -> str:
    """The expression that makes of a parameter what is sent."""
    name = f"${argument(field)}"
    wrapper = {"number": "number", "datetime": "moment", "moment": "moment"}.get(field.type.kind)
    if field.type.kind in ("map", "record"):
        wrapper = "object"
    return f"self::{wrapper}({name})" if wrapper else name


def received(field: Field) -> str:
    """The statement that fills a property from the raw record."""
    raw = f"$raw['{field.name}']"
    value = _made(field.type, raw)
    if field.type.nullable:
        plain = f"        $this->{field.name} = isset({raw}) ? {value} : null;"
    else:
        plain = f"        isset({raw}) && $this->{field.name} = {value};"
    if value == raw and field.type.nullable:
        plain = f"        $this->{field.name} = {raw} ?? null;"
    if len(plain) <= 120:
        return plain
    if field.type.nullable:
        return f"        $this->{field.name} = isset({raw})\n            ? {value}\n            : null;"
    return f"        if (isset({raw})) {{\n            $this->{field.name} = {value};\n        }}"


def annotation(field: Field) -> str:
    """The type of a property in its comment, where it says more than PHP's own; else nothing."""
    text = _annotated(field.type)
    return "" if text in RECEIVED.values() or field.type.kind == "record" else text


def given(field: Field) -> str:
    """The type of a parameter in its comment."""
    type_ = field.type
    if type_.kind == "array":
        assert type_.item is not None
        text = f"list<{SENT[type_.item.kind] if type_.item.kind != 'const' else _constant(type_.item)}>"
    elif type_.kind in ("map", "record"):
        text = "array<string, mixed>"
    else:
        text = _constant(type_) if type_.kind == "const" else SENT[type_.kind]
    return text


def path(operation: Operation) -> str:
    """The expression of an operation's path."""
    template = re.sub(r"^(/sandbox)?/v1", "", operation.path)
    parts = re.split(r"\{(\w+)\}", f"/v1{template}")
    texts = [f"'{part}'" if index % 2 == 0 else f"rawurlencode(${camel(part)})" for index, part in enumerate(parts)]
    return " . ".join(text for text in texts if text != "''")


def comment(text: str, indent: int = 4, width: int = 120) -> str:
    """Prose as lines of a comment, each after ` * `."""
    paragraphs = [textwrap.wrap(" ".join(part.split()), width - indent - 3) for part in text.split("\n\n")]
    lines = [line for number, part in enumerate(paragraphs) for line in ([""] if number else []) + part]
    return "\n".join(f"{' ' * indent} * {line}".rstrip() for line in lines).replace("*/", "* /")


def tag(text: str, indent: int = 4) -> str:
    """A line of a comment that begins with a tag; what does not fit is indented below."""
    lines = textwrap.wrap(" ".join(text.split()), 120 - indent - 3, subsequent_indent="    ", break_long_words=False)
    return "\n".join(f"{' ' * indent} * {line}" for line in lines)


def constant(value: str) -> str:
    """The name of a constant for a value: `payment.coins_missing` is `PAYMENT_COINS_MISSING`, `*` is `ALL`."""
    name = re.sub(r"[^A-Za-z0-9]+", "_", value).strip("_").upper() or "ALL"
    return f"_{name}" if name[0].isdigit() else name


def _constant(type_: Type) -> str:
    return {"str": "string", "int": "int", "bool": "bool"}[type(type_.value).__name__]


def _annotated(type_: Type) -> str:
    if type_.kind == "record":
        return type_.name
    if type_.kind == "array":
        assert type_.item is not None
        return f"list<{_annotated(type_.item)}>" + ("|null" if type_.nullable else "")
    if type_.kind == "map":
        assert type_.item is not None
        return f"array<string, {_annotated(type_.item)}>" + ("|null" if type_.nullable else "")
    return _constant(type_) if type_.kind == "const" else RECEIVED[type_.kind]


def _made(type_: Type, raw: str) -> str:
    match type_.kind:
        case "string" | "enum" | "moment":
            return f"(string) {raw}"
        case "const":
            return f"({_constant(type_)}) {raw}"
        case "integer":
            return f"(int) {raw}"
        case "boolean":
            return f"(bool) {raw}"
        case "number" | "amount":
            return f"Decimal::toText({raw})"
        case "datetime":
            return rf"new \DateTimeImmutable({raw})"
        case "record":
            return f"{type_.name}::of({raw})"
        case "array" | "map":
            assert type_.item is not None
            if type_.item.kind in ("record", "number", "amount"):
                make = "Decimal::toText(...)" if type_.item.kind != "record" else f"{type_.item.name}::of(...)"
                return f"array_map({make}, {raw})"
            return raw
    return raw


def documented(field: Field) -> str:
    """The comment of a property: its description, and its type where that says more than PHP's own."""
    lines = [comment(field.description)] if field.description else []
    text = annotation(field)
    if text:
        lines.append(tag(f"@var {text}"))
    if not lines:
        return ""
    if len(lines) == 1 and "\n" not in lines[0] and len(lines[0]) + 5 <= 120:
        return lines[0].replace(" * ", "/** ", 1) + " */"
    return "\n".join(["    /**", *lines, "     */"])


def uses(record: Record, *kinds: str) -> bool:
    """Whether a property of the record, or of its arrays and maps, is of one of the kinds."""
    return any(kind in kinds for field in record.fields for kind in _kinds(field.type))


def imports(resource: Resource) -> list[str]:
    """The classes and namespaces that the methods of a resource name."""
    names = {r"Ballast\RequestOptions"}
    for operation in resource.operations:
        names.add(rf"Ballast\{_class(operation.item or operation.result.name).partition(chr(92))[0]}")
        if operation.is_paged:
            names.add(r"Ballast\Page")
        if operation.method == "PATCH" and operation.body:
            names.add(r"Ballast\Omitted")
    return sorted(names)


def method(operation: Operation) -> str:
    """The method of an operation: comment, parameters, and the sending."""
    if operation.is_paged:
        item = _class(operation.item)
        arguments = ["$this->transport", f"{item}::class", path(operation), *_sent(operation, "[]"), "$options"]
        return _method(operation, camel(operation.name), "Page", _call("Page::fetch(", arguments), f"Page<{item}>", ())
    result = _class(operation.result.name)
    arguments = [f"'{operation.method}'", path(operation), *_sent(operation), "options: $options"]
    body = _call(f"{result}::ofResponse($this->transport->send(", arguments)
    return _method(operation, camel(operation.name), result, f"{body})", "", ())


def download(operation: Operation) -> str:
    """The method that returns a file instead."""
    query = _values("given", operation.query_parameters, ("'format' => $format",))
    body = _call("$this->transport->send(", ["'GET'", path(operation), query, "options: $options"])
    return _method(operation, camel(operation.download_name), "string", f"{body}->body", "", ("string $format",))


def _call(head: str, arguments: list[str]) -> str:
    line = f"        return {head}{', '.join(arguments)});"
    if len(line) <= 119 and "\n" not in line:
        return f"{head}{', '.join(arguments)})"
    inner = "".join(f"            {argument},\n" for argument in arguments)
    return f"{head}\n{inner}        )"


def _method(operation: Operation, name: str, result: str, body: str, returned: str, extra: tuple[str, ...]) -> str:
    fields = ordered((*operation.query_parameters, *(operation.body.fields if operation.body else ())))
    is_change = operation.method == "PATCH"
    parameters = [f"string ${path_argument(field)}" for field in operation.path_parameters]
    parameters += [*extra, *(parameter(field, is_change) for field in fields), "?RequestOptions $options = null"]
    summary = operation.summary if not extra else f"{operation.summary} as a file. Returns its bytes"
    lines = ["    /**", comment(summary.rstrip(".") + ".")]
    if operation.description and not extra:
        lines += ["     *", comment(operation.description)]
    lines.append("     *")
    if extra:
        lines.append(tag("@param string $format " + " or ".join(f"`{one}`" for one in operation.formats)))
    for field in fields:
        text = parameter(field, is_change).rpartition("$")[0].split(" ", 1)[0]
        text = text.replace("array", given(field)) if "array" in text else text
        text = f"{text[1:]}|null" if text.startswith("?") else text
        lines.append(tag(f"@param {text} ${argument(field)} {field.description}".rstrip()))
    if returned:
        lines.append(f"     * @return {returned}")
    lines = lines[:-1] if lines[-1] == "     *" else lines
    lines += ["     */"]
    one = f"    public function {name}({', '.join(parameters)}): {result}"
    if len(one) <= 120:
        lines += [one, "    {"]
    else:
        lines.append(f"    public function {name}(")
        lines += [f"        {text}," for text in parameters]
        lines.append(f"    ): {result} {{")
    return "\n".join([*lines, f"        return {body};", "    }"])


def _sent(operation: Operation, nothing: str = "") -> list[str]:
    found = []
    if operation.query_parameters or nothing:
        found.append(_values("given", operation.query_parameters))
    if operation.body:
        kind = "changes" if operation.method == "PATCH" else "given"
        found.append("body: " + _values(kind, operation.body.fields))
    elif operation.has_body:
        found.append("body: []")
    return found


def _values(kind: str, fields: tuple[Field, ...], extra: tuple[str, ...] = ()) -> str:
    pairs = [*extra, *(f"'{field.name}' => {sent(field)}" for field in fields)]
    if not pairs:
        return "[]"
    inner = "".join(f"                {pair},\n" for pair in pairs)
    return f"self::{kind}([\n{inner}            ])"


def _class(name: str) -> str:
    return r"Event\Event" if name == "Event" else rf"Model\{name}"


def _kinds(type_: Type) -> list[str]:
    return [type_.kind, *(_kinds(type_.item) if type_.item else ())]


FILTERS: dict[str, Callable[..., Any]] = {
    "property_type": property_type, "received": received, "documented": documented, "uses": uses, "imports": imports,
    "method": method, "download": download, "comment": comment, "constant": constant,
}  # fmt: skip
