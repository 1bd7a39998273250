"""The content of the reference's pages, read from the OpenAPI document. Pure."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from django.utils.safestring import SafeString

from config.api.reference.advice import ADVICE
from config.api.reference.fields import Field, Fields, Schema, marked, name_of, words_of
from config.api.reference.snippets import SAMPLE_ID, Snippet, as_json, runnable, snippets
from config.ids import KINDS, PublicId

MONTH, SAMPLE_MONTH = "month", "2026-01"
"""The one parameter of a path that is no id."""

JSON = "application/json"
_SCOPE = re.compile(r"\s*Scope: `([a-z:]+)`\.$")


@dataclass(frozen=True)
class Example:
    """A body, with what it is an example of."""

    title: str
    text: str


@dataclass(frozen=True)
class Fault:
    """One error. `operations` are those that reply with it, each with its address."""

    code: str
    type: str
    status: int
    message: str
    operations: tuple[tuple[str, str], ...] = ()

    @property
    def phrase(self) -> str:
        return HTTPStatus(self.status).phrase


@dataclass(frozen=True)
class FaultType:
    """All errors of one type: what a program does about them, and whether the same request may be sent again."""

    name: str
    advice: SafeString
    repeat: SafeString
    faults: tuple[Fault, ...]


@dataclass(frozen=True)
class Operation:
    """One operation; `anchor` is its `operationId`, which does not change."""

    anchor: str
    method: str
    path: str
    summary: str
    description: SafeString
    scope: str
    in_path: tuple[Field, ...]
    in_query: tuple[Field, ...]
    in_header: tuple[Field, ...]
    body: tuple[Field, ...]
    request_examples: tuple[Example, ...]
    status: str
    record: str
    record_address: str
    is_list: bool
    other_types: tuple[str, ...]
    reply_examples: tuple[Example, ...]
    faults: tuple[Fault, ...]
    snippets: tuple[Snippet, ...]


@dataclass(frozen=True)
class Record:
    """The fields of one kind of record in replies."""

    anchor: str
    title: str
    fields: tuple[Field, ...]


@dataclass(frozen=True)
class Resource:
    """The page of one resource."""

    slug: str
    name: str
    words: str
    operations: tuple[Operation, ...]
    records: tuple[Record, ...]


@dataclass(frozen=True)
class SentEvent:
    """One event: its description, the record in it, and a body as it is sent."""

    type: str
    words: SafeString
    record: str
    record_address: str
    example: Example | None


@dataclass(frozen=True)
class Reference:
    """All that there is to show."""

    title: str
    words: SafeString
    servers: tuple[tuple[str, str], ...]
    keys: tuple[SafeString, ...]
    headers: tuple[tuple[str, SafeString], ...]
    listed: tuple[Field, ...]
    error: tuple[Field, ...]
    event_headers: tuple[Field, ...]
    resources: tuple[Resource, ...]
    events: tuple[SentEvent, ...]
    faults: tuple[Fault, ...]

    @property
    def fault_types(self) -> tuple[FaultType, ...]:
        return tuple(
            FaultType(
                type,
                marked(advice.words),
                marked(advice.repeat),
                tuple(each for each in self.faults if each.type == type),
            )
            for type, advice in ADVICE.items()
        )


def read_reference(document: Mapping[str, Any], *, public_url: str, home: str) -> Reference:
    """The reference of an OpenAPI document. `home` is the path under which its pages are."""
    return _Reader(document, public_url, home).reference()


class _Reader:
    def __init__(self, document: Mapping[str, Any], public_url: str, home: str) -> None:
        self._document = document
        self._schemas: Mapping[str, Schema] = document["components"]["schemas"]
        self._public_url = public_url
        self._home = home
        self._homes = self._homes_of_records()
        addresses = {name: f"{home}/{slug}#{_anchor(name)}" for name, slug in self._homes.items()}
        self._fields = Fields(self._schemas, addresses)
        self._addresses = addresses

    def reference(self) -> Reference:
        document, components = self._document, self._document["components"]
        resources = tuple(self._resource(tag["name"], tag["description"]) for tag in document["tags"])
        first_event = next(iter(document["webhooks"].values()))["post"]
        listed = self._fields.of(next(name for name in self._schemas if name.endswith("List")))
        return Reference(
            title=document["info"]["title"],
            words=marked(document["info"]["description"]),
            servers=tuple((each["description"], f"{self._public_url}{each['url']}") for each in document["servers"]),
            keys=tuple(marked(scheme["description"]) for scheme in components["securitySchemes"].values()),
            headers=tuple((name, marked(header["description"])) for name, header in components["headers"].items()),
            listed=tuple(field for field in listed if field.name != "data"),
            error=self._fields.of("ErrorReply")[0].children,
            event_headers=tuple(self._parameter(each) for each in first_event["parameters"]),
            resources=resources,
            events=tuple(self._events()),
            faults=tuple(self._faults(resources)),
        )

    def _all(self) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
        for path, methods in self._document["paths"].items():
            for method, operation in methods.items():
                yield method.upper(), path, operation

    def _homes_of_records(self) -> dict[str, str]:
        """The page that describes each record of a reply: where it is listed, else where it is first replied with."""
        found: dict[str, str] = {}
        later: dict[str, str] = {}
        for method, path, operation in self._all():
            _, name, is_list = self._reply(operation)
            slug = _slug(operation["tags"][0])
            if name:
                is_home = is_list and method == "GET" and path == f"/{slug}"
                (found if is_home else later).setdefault(name, slug)
        return {**later, **found}

    def _reply(self, operation: Mapping[str, Any]) -> tuple[str, str, bool]:
        """The status of success, the name of the record in the reply, and whether the reply is a list of them."""
        status, reply = next((status, reply) for status, reply in operation["responses"].items() if status < "300")
        name = name_of(reply.get("content", {}).get(JSON, {}).get("schema", {}))
        data = self._schemas.get(name, {}).get("properties", {}).get("data", {}) if name.endswith("List") else {}
        return (status, name_of(data["items"]), True) if data else (status, name, False)

    def _resource(self, name: str, words: str) -> Resource:
        slug = _slug(name)
        return Resource(
            slug=slug,
            name=name,
            words=words,
            operations=tuple(
                self._operation(method, path, each) for method, path, each in self._all() if each["tags"] == [name]
            ),
            records=tuple(
                Record(_anchor(each), words_of(each), self._fields.of(each))
                for each, page in self._homes.items()
                if page == slug
            ),
        )

    def _operation(self, method: str, path: str, operation: Mapping[str, Any]) -> Operation:
        parameters = [self._resolved(each) for each in operation.get("parameters", ())]
        placed = defaultdict(list)
        for each in parameters:
            placed[each["in"]].append(self._parameter(each))
        request = operation.get("requestBody", {}).get("content", {}).get(JSON, {})
        samples = [(example.get("summary", ""), runnable(example["value"])) for example in _examples(request)]
        body_name = name_of(request.get("schema", {}))
        body_fields = self._fields.of(body_name) if body_name else ()
        in_path = {each["name"]: _sample_of(each["name"]) for each in parameters if each["in"] == "path"}
        status, record, is_list = self._reply(operation)
        content = operation["responses"][status].get("content", {})
        scope = _SCOPE.search(operation["description"])
        return Operation(
            anchor=operation["operationId"],
            method=method,
            path=path,
            summary=operation["summary"],
            description=marked(_SCOPE.sub("", operation["description"])),
            scope=scope[1] if scope else "",
            in_path=tuple(placed["path"]),
            in_query=tuple(placed["query"]),
            in_header=tuple(placed["header"]),
            body=body_fields,
            request_examples=tuple(Example(title, as_json(value)) for title, value in samples),
            status=status,
            record=words_of(record),
            record_address=self._addresses.get(record, ""),
            is_list=is_list,
            other_types=tuple(type for type in content if type != JSON),
            reply_examples=tuple(
                Example(each.get("summary", ""), as_json(each["value"])) for each in _examples(content.get(JSON, {}))
            ),
            faults=tuple(self._faults_of(operation)),
            snippets=snippets(operation["operationId"], in_path),
        )

    def _parameter(self, parameter: Mapping[str, Any]) -> Field:
        description = parameter.get("description", "")
        if parameter["in"] == "path" and parameter["name"] == MONTH:
            description = f"A month, as `{SAMPLE_MONTH}`."
        elif parameter["in"] == "path":
            kind = _kind_of(parameter["name"])
            description = f"Id of the {kind.noun}, as `{kind.prefix}_…`."
        schema = {**parameter["schema"], "description": description}
        return self._fields.one(parameter["name"], schema, is_required=parameter.get("required", False))

    def _faults_of(self, operation: Mapping[str, Any]) -> Iterator[Fault]:
        for status, reply in sorted(operation["responses"].items()):
            if status < "400":
                continue
            for code, example in self._resolved(reply)["content"][JSON]["examples"].items():
                error = example["value"]["error"]
                yield Fault(code, error["type"], int(status), error["message"])

    def _faults(self, resources: tuple[Resource, ...]) -> Iterator[Fault]:
        """Every error once, by status, with the operations that reply with it; without them where all do."""
        places: dict[tuple[int, str], list[tuple[str, str]]] = defaultdict(list)
        known: dict[tuple[int, str], Fault] = {}
        operations = [(resource, operation) for resource in resources for operation in resource.operations]
        for resource, operation in operations:
            for fault in operation.faults:
                key = (fault.status, fault.code)
                known.setdefault(key, fault)
                places[key].append((operation.summary, f"{self._home}/{resource.slug}#{operation.anchor}"))
        for key in sorted(known):
            fault = known[key]
            own = places[key] if len(places[key]) <= len(operations) // 4 else []
            yield Fault(fault.code, fault.type, fault.status, fault.message, tuple(own))

    def _events(self) -> Iterator[SentEvent]:
        for type, path in self._document["webhooks"].items():
            content = path["post"]["requestBody"]["content"][JSON]
            record = name_of(self._schemas[name_of(content["schema"])]["properties"]["data"]["properties"]["object"])
            example = next((Example("", as_json(each["value"])) for each in _examples(content)), None)
            words = marked(path["post"]["summary"])
            yield SentEvent(type, words, words_of(record), self._addresses.get(record, ""), example)

    def _resolved(self, value: Mapping[str, Any]) -> Mapping[str, Any]:
        while "$ref" in value:
            target: Any = self._document
            for part in value["$ref"].removeprefix("#/").split("/"):
                target = target[part]
            value = target
        return value


def _examples(content: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return list(content.get("examples", {}).values())


def _sample_of(parameter: str) -> str:
    """The placeholder for a parameter of a path in an example."""
    return SAMPLE_MONTH if parameter == MONTH else f"{_kind_of(parameter).prefix}_{SAMPLE_ID}"


def _kind_of(parameter: str) -> PublicId:
    """The kind of id that a parameter of a path names: `link_id` is the id of a payment link."""
    noun = parameter.removesuffix("_id")
    return next(kind for kind in KINDS if kind.noun.split()[-1] == noun)


def _slug(name: str) -> str:
    return name.lower().replace(" ", "-")


def _anchor(name: str) -> str:
    return f"record-{words_of(name).lower().replace(' ', '-')}"
