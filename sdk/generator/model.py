"""The API as the templates see it: resources, operations, records, enumerations and events."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal[
    "string", "integer", "number", "boolean", "datetime", "moment", "amount", "enum", "const", "record", "array", "map",
    "any",
]  # fmt: skip
"""`datetime` is an instant, `moment` an instant or a date, `amount` a decimal that may be sent as text or as a number.
`map` is an object with names of its own, and `any` is JSON of any kind."""


@dataclass(frozen=True)
class Type:
    kind: Kind
    name: str = ""
    """Of an enumeration or a record."""
    item: Type | None = None
    """Of an array's or a map's values."""
    value: str | int | bool | None = None
    """Of a constant."""
    nullable: bool = False


@dataclass(frozen=True)
class Field:
    """A field of a record, or a parameter of an operation."""

    name: str
    """As the API has it: the languages change its case alone."""
    type: Type
    required: bool
    description: str = ""
    is_secret: bool = False
    """Never shown by a language's own representation of the record."""


@dataclass(frozen=True)
class Record:
    name: str
    description: str
    fields: tuple[Field, ...]
    is_request: bool


@dataclass(frozen=True)
class Enumeration:
    name: str
    values: tuple[str, ...]


@dataclass(frozen=True)
class Operation:
    id: str
    resource: str
    name: str
    """Words joined by `_`: the languages change its case alone."""
    method: str
    path: str
    summary: str
    description: str
    path_parameters: tuple[Field, ...]
    query_parameters: tuple[Field, ...]
    body: Record | None
    """None also where the body is always `{}`."""
    result: Type
    item: str = ""
    """The record of which a paged list is made."""
    formats: tuple[str, ...] = ()
    """Files that the operation can return instead: these have a method of their own, `download`."""

    @property
    def is_paged(self) -> bool:
        return bool(self.item)

    @property
    def takes_key(self) -> bool:
        """Whether it takes an Idempotency-Key, which the client then sends by itself."""
        return self.method == "POST"

    @property
    def has_body(self) -> bool:
        return self.method in ("POST", "PATCH", "PUT")

    @property
    def download_name(self) -> str:
        return "download" if self.name == "get" else f"download_{self.name}"


@dataclass(frozen=True)
class Resource:
    name: str
    description: str
    operations: tuple[Operation, ...]


@dataclass(frozen=True)
class Event:
    type: str
    name: str
    """Of its class."""
    record: str
    """Of `data.object`."""
    description: str


@dataclass(frozen=True)
class Api:
    version: str
    """The date that clients send as Ballast-Version."""
    resources: tuple[Resource, ...]
    records: tuple[Record, ...]
    """Those of replies, then those of requests, by name."""
    enumerations: tuple[Enumeration, ...]
    events: tuple[Event, ...]

    @property
    def operations(self) -> tuple[Operation, ...]:
        return tuple(operation for resource in self.resources for operation in resource.operations)

    def record(self, name: str) -> Record:
        return next(record for record in self.records if record.name == name)
