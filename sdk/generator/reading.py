"""Reads the OpenAPI document into the model."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sdk.generator import names
from sdk.generator.model import Api, Enumeration, Event, Field, Operation, Record, Resource, Type

Schema = dict[str, Any]
ROOT = Path(__file__).resolve().parents[2]
DOCUMENT = ROOT / "docs" / "openapi.json"
VERSIONS = ROOT / "docs" / "api" / "versions.md"


def read(path: Path = DOCUMENT) -> Api:
    return Reader(json.loads(path.read_text(encoding="utf-8"))).api()


class Reader:
    def __init__(self, document: Schema) -> None:
        self.document = document
        self.schemas: dict[str, Schema] = document["components"]["schemas"]
        self.enumerations = self._name_enumerations()

    def api(self) -> Api:
        operations = list(self._operations())
        resources = tuple(
            Resource(name, tag.get("description", ""), tuple(one for one in operations if one.resource == name))
            for tag in self.document["tags"]
            if (name := names.snake(tag["name"])) in {one.resource for one in operations}
        )
        records = [
            self._record(name, schema) for name, schema in sorted(self.schemas.items()) if _is_record(name, schema)
        ]
        return Api(
            version=_newest_version(),
            resources=resources,
            records=tuple(sorted(records, key=lambda record: (record.is_request, record.name))),
            enumerations=tuple(sorted(self.enumerations.values(), key=lambda enumeration: enumeration.name)),
            events=tuple(self._events()),
        )

    # Operations

    def _operations(self) -> Iterator[Operation]:
        for path, methods in self.document["paths"].items():
            shared = methods.get("parameters", [])
            for method, operation in methods.items():
                if method in ("get", "post", "patch", "put", "delete"):
                    yield self._operation(path, method.upper(), operation, shared)

    def _operation(self, path: str, method: str, operation: Schema, shared: list[Schema]) -> Operation:
        resource, name = names.resource_and_method(operation["operationId"], operation["tags"][0])
        parameters = [self._resolved(parameter) for parameter in [*shared, *operation.get("parameters", [])]]
        replies = [reply for status, reply in operation["responses"].items() if status.startswith("2")]
        content = self._resolved(replies[0])["content"]
        result = self._type(content["application/json"]["schema"])
        listed = self.schemas.get(result.name, {})
        item = _referred(listed["properties"]["data"]["items"]) if _is_list(result.name, listed) else ""
        formats: list[str] = []
        query: list[Field] = []
        for parameter in parameters:
            if parameter["in"] != "query":
                continue
            if parameter["name"] == "format":
                formats = [value for value in parameter["schema"]["enum"] if value != "json"]
                continue
            query.append(self._field(parameter["name"], parameter["schema"], parameter))
        return Operation(
            id=operation["operationId"],
            resource=resource,
            name=name,
            method=method,
            path=path,
            summary=operation["summary"],
            description=operation.get("description", ""),
            path_parameters=tuple(
                self._field(parameter["name"], parameter["schema"], parameter)
                for parameter in parameters
                if parameter["in"] == "path"
            ),
            query_parameters=tuple(query),
            body=self._body(operation),
            result=result,
            item=item,
            formats=tuple(formats),
        )

    def _body(self, operation: Schema) -> Record | None:
        content = operation.get("requestBody", {}).get("content", {}).get("application/json")
        if content is None:
            return None
        name = content["schema"]["$ref"].rpartition("/")[2]
        record = self._record(name, self.schemas[name])
        return record if record.fields else None

    # Records

    def _record(self, name: str, schema: Schema) -> Record:
        required = set(schema.get("required", []))
        return Record(
            name=names.RECORDS.get(name, name),
            description=schema.get("description", ""),
            fields=tuple(
                self._field(field, inner, {**inner, "required": field in required})
                for field, inner in schema.get("properties", {}).items()
            ),
            is_request=name.endswith("Request"),
        )

    def _field(self, name: str, schema: Schema, about: Schema) -> Field:
        return Field(
            name=name,
            type=self._type(schema),
            required=bool(about.get("required", False)),
            description=about.get("description", ""),
            is_secret=name in names.SECRET_FIELDS,
        )

    def _resolved(self, schema: Schema) -> Schema:
        while "$ref" in schema:
            inner: Schema = self.document
            for part in schema["$ref"].removeprefix("#/").split("/"):
                inner = inner[part]
            schema = inner
        return schema

    def _type(self, schema: Schema) -> Type:
        if "$ref" in schema:
            return Type("record", name=_referred(schema))
        kinds = schema.get("type", [])
        kinds = [kinds] if isinstance(kinds, str) else kinds
        nullable = "null" in kinds
        alternatives = schema.get("anyOf") or schema.get("oneOf") or schema.get("allOf")
        if alternatives:
            return self._one_of(alternatives, nullable)
        if "const" in schema:
            return Type("const", value=schema["const"], nullable=nullable)
        if "enum" in schema:
            values = tuple(value for value in schema["enum"] if value is not None)
            if len(values) == 1:
                return Type("const", value=values[0], nullable=nullable)
            return Type("enum", name=self.enumerations[frozenset(values)].name, nullable=nullable)
        kind = next((kind for kind in kinds if kind != "null"), None)
        if kind == "array":
            return Type("array", item=self._type(schema["items"]), nullable=nullable)
        if kind == "object":
            values_of = schema.get("additionalProperties")
            item = self._type(values_of) if isinstance(values_of, dict) else Type("any")
            return Type("map", item=item, nullable=nullable)
        if kind == "string":
            return Type("datetime" if schema.get("format") == "date-time" else "string", nullable=nullable)
        if kind in ("integer", "number", "boolean"):
            return Type(kind, nullable=nullable)
        return Type("any", nullable=True)

    def _one_of(self, alternatives: list[Schema], nullable: bool) -> Type:
        nullable = nullable or {"type": "null"} in alternatives
        types = [self._type(schema) for schema in alternatives if schema != {"type": "null"}]
        kinds = {found.kind for found in types}
        if len(types) == 1:
            return Type(**{**vars(types[0]), "nullable": nullable or types[0].nullable})
        if kinds == {"string", "datetime"}:
            return Type("moment", nullable=nullable)
        if kinds == {"string", "number"}:
            return Type("amount", nullable=nullable)
        raise ValueError(f"no kind for {alternatives}")

    # Enumerations

    def _name_enumerations(self) -> dict[frozenset[str], Enumeration]:
        """A name for each set of values: that of its field, with the record's before it where the field says little."""
        places: dict[frozenset[str], list[tuple[str, str, tuple[str, ...]]]] = defaultdict(list)
        for owner, field, values in self._found_enumerations():
            places[frozenset(values)].append((owner, field, values))
        named: dict[str, Enumeration] = {}
        found: dict[frozenset[str], Enumeration] = {}
        for key, where in places.items():
            # A record of replies names better than one of requests, and that better than an operation.
            owner, field, values = min(
                where, key=lambda place: (place[0].endswith("Request"), place[0] not in self.schemas)
            )
            often, times = Counter(field for _, field, _ in where).most_common(1)[0]
            long = names.pascal(_short(owner)) + names.pascal(field)
            shared = times > 1 and often not in names.COMMON_FIELDS and len({owner for owner, _, _ in where}) > 1
            name = names.ENUMERATIONS.get(long, names.pascal(often) if shared else long)
            if name in named:
                name = long
            if name in named:
                raise ValueError(f"two enumerations would be called {name}; name one in names.py")
            named[name] = found[key] = Enumeration(name, values)
        return found

    def _found_enumerations(self) -> Iterator[tuple[str, str, tuple[str, ...]]]:
        for name, schema in self.schemas.items():
            if _is_record(name, schema):
                for field, inner in schema.get("properties", {}).items():
                    yield from _enumerations_in(name, field, inner)
        for methods in self.document["paths"].values():
            for operation in methods.values():
                for parameter in operation.get("parameters", []) if isinstance(operation, dict) else []:
                    found = self._resolved(parameter)
                    if found["name"] != "format":
                        yield from _enumerations_in(operation["operationId"], found["name"], found["schema"])

    # Events

    def _events(self) -> Iterator[Event]:
        for kind, methods in self.document["webhooks"].items():
            schema = methods["post"]["requestBody"]["content"]["application/json"]["schema"]
            name = schema["$ref"].rpartition("/")[2]
            record = _referred(self.schemas[name]["properties"]["data"]["properties"]["object"])
            yield Event(kind, name, record, methods["post"]["summary"])


def _newest_version() -> str:
    """The date of the last row of the table of versions."""
    rows: list[str] = re.findall(r"^\| (\d{4}-\d\d-\d\d) \|", VERSIONS.read_text(encoding="utf-8"), re.MULTILINE)
    return rows[-1]


def _referred(schema: Schema) -> str:
    """The name of the record that a reference is to."""
    name: str = schema["$ref"].rpartition("/")[2]
    return names.RECORDS.get(name, name)


def _is_list(name: str, schema: Schema) -> bool:
    return name.endswith("List") and "data" in schema.get("properties", {})


def _is_record(name: str, schema: Schema) -> bool:
    """Whether it is a record of its own: not a page of a list, an event, or an error."""
    return not (
        _is_list(name, schema) or name == "ErrorReply" or name == "EmptyRequest" or name == "Event"
        or (name.endswith("Event") and "apiVersion" in schema.get("properties", {}))
    )  # fmt: skip


def _short(owner: str) -> str:
    return owner.removesuffix("Request").removesuffix("Changes").removeprefix("New")


def _enumerations_in(owner: str, field: str, schema: Schema) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    if "items" in schema:
        yield from _enumerations_in(owner, field, schema["items"])
    values = tuple(value for value in schema.get("enum", ()) if value is not None)
    if len(values) > 1:
        yield owner, field, values
