"""Reads sanctions lists as they are published: OFAC's SDN list in three forms, the EU's, and a plain CSV.

Files of hundreds of megabytes are read in flat memory: an element is forgotten once it has been read. Each form is
recognised by its beginning, and only addresses of our networks' kinds are returned.
"""

from __future__ import annotations

import csv
import io
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from itertools import chain
from types import MappingProxyType
from typing import Any, BinaryIO
from xml.etree.ElementTree import Element, ParseError

from defusedxml.common import DefusedXmlException
from defusedxml.ElementTree import iterparse

from config.errors import DomainError
from payments.screening.addresses import account, accounts_in

DIGITAL_CURRENCY = "Digital Currency Address"
"""The beginning of OFAC's names of addresses: `Digital Currency Address - ETH`."""

_IN_REMARKS = re.compile(r"Digital Currency Address - \w+ ([0-9A-Za-z:]+)")
_SDN_COLUMNS = 12
_REMARKS_CUT = 990
"""OFAC cuts the remarks of `sdn.csv` at 1,000 characters, and the rest is in a file of its own: `sdn_comments.csv`."""
_EMPTY = "-0-"


class ListUnreadable(DomainError):
    code = "sanctions_list_unreadable"
    message = "This file is no sanctions list that can be read."


@dataclass(frozen=True, slots=True)
class Entry:
    """A listed person, group or thing."""

    number: str = ""
    name: str = ""
    programme: str = ""


@dataclass(slots=True)
class ParsedList:
    """What a file has: the entry of each address, and how many addresses are of networks that are not ours."""

    source: str = ""
    """Empty where the file does not say whose list it is."""
    published_on: date | None = None
    entries: int = 0
    addresses: dict[str, Entry] = field(default_factory=dict)
    foreign: set[str] = field(default_factory=set)

    def add(self, text: str, entry: Entry) -> None:
        if known := account(text):
            self.addresses.setdefault(known, entry)
        elif text.strip():
            self.foreign.add(text.strip())


def parse(file: BinaryIO) -> ParsedList:
    """Parse a list from its beginning to its end; ListUnreadable when it is none, or is cut off."""
    start = file.read(4096)
    file.seek(0)
    try:
        if start.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"<"):
            return _parse_xml(file)
        return _parse_csv(file)
    except (ParseError, DefusedXmlException, UnicodeDecodeError, csv.Error) as error:
        raise ListUnreadable(f"The file cannot be read to its end, and nothing was imported: {error}.") from error


# --- XML ---------------------------------------------------------------------------------------------


def _parse_xml(file: BinaryIO) -> ParsedList:
    found, reader = ParsedList(), None
    depth, root = 0, None
    for event, element in iterparse(file, events=("start", "end"), forbid_dtd=True):
        if event == "start":
            depth += 1
            if root is None:
                root = element
                reader = _reader_of(element, found)
            continue
        depth -= 1
        if reader is not None and reader.read(element, depth):
            element.clear()
            if depth == 1 and root is not None:
                root.clear()  # what it has of children that were read
    if reader is not None:
        reader.finish()
    return found


def _tag(element: Element) -> str:
    """The name of an element without its namespace, which OFAC has changed before."""
    return element.tag.rpartition("}")[2]


def _text(element: Element, *path: str) -> str:
    """The text of the first element on a path of names; empty without one."""
    for name in path:
        below = next((child for child in element if _tag(child) == name), None)
        if below is None:
            return ""
        element = below
    return (element.text or "").strip()


def _all(element: Element, name: str) -> Iterator[Element]:
    return (each for each in element.iter() if _tag(each) == name)


class _Reader(ABC):
    """Reads the elements of one form; `read` returns whether an element may be forgotten."""

    source = ""

    def __init__(self, found: ParsedList, root: Element) -> None:
        self.found = found
        found.source = self.source

    @abstractmethod
    def read(self, element: Element, depth: int) -> bool: ...

    def finish(self) -> None:
        if not self.found.entries:
            raise ListUnreadable("The file has no entry, and nothing was imported.")


class _Sdn(_Reader):
    """OFAC's `sdn.xml`."""

    source = "ofac"

    def read(self, element: Element, depth: int) -> bool:
        if depth != 1:
            return False
        if _tag(element) == "publshInformation":
            self.found.published_on = _us_date(_text(element, "Publish_Date"))
        elif _tag(element) == "sdnEntry":
            self.found.entries += 1
            programmes = (each.text or "" for each in _all(element, "program"))
            name = " ".join(filter(None, [_text(element, "firstName"), _text(element, "lastName")]))
            entry = Entry(_text(element, "uid"), name, ", ".join(programmes))
            for each in _all(element, "id"):
                if _text(each, "idType").startswith(DIGITAL_CURRENCY):
                    self.found.add(_text(each, "idNumber"), entry)
        return True


class _SdnAdvanced(_Reader):
    """OFAC's `sdn_advanced.xml`: kinds of features first, parties next, and their programmes at the end."""

    source = "ofac"

    def __init__(self, found: ParsedList, root: Element) -> None:
        super().__init__(found, root)
        self._kinds: set[str] = set()
        self._entries: dict[str, tuple[Entry, list[str]]] = {}
        self._programmes: dict[str, list[str]] = {}

    def read(self, element: Element, depth: int) -> bool:
        match _tag(element):
            case "DateOfIssue" if depth == 1:
                parts = [_text(element, name) for name in ("Year", "Month", "Day")]
                self.found.published_on = date(*map(int, parts)) if all(parts) else None
            case "FeatureType":
                if (element.text or "").strip().startswith(DIGITAL_CURRENCY):
                    self._kinds.add(element.get("ID", ""))
            case "DistinctParty":
                self.found.entries += 1
                self._read_party(element)
            case "SanctionsEntry":
                kept = self._programmes.setdefault(element.get("ProfileID", ""), [])
                kept += (text for each in _all(element, "SanctionsMeasure") if (text := _text(each, "Comment")))
            case _:
                return depth == 1
        return True

    def _read_party(self, party: Element) -> None:
        addresses = [
            (detail.text or "").strip()
            for feature in _all(party, "Feature")
            if feature.get("FeatureTypeID") in self._kinds
            for detail in _all(feature, "VersionDetail")
        ]
        if not addresses:
            return
        documented = next(_all(party, "DocumentedName"), party)
        name = " ".join((each.text or "").strip() for each in _all(documented, "NamePartValue"))
        profile = next(_all(party, "Profile"), party).get("ID", "")
        self._entries[profile] = (Entry(profile, name), addresses)

    def finish(self) -> None:
        super().finish()
        for profile, (entry, addresses) in self._entries.items():
            programmes = ", ".join(dict.fromkeys(self._programmes.get(profile, ())))
            for address in addresses:
                self.found.add(address, Entry(entry.number, entry.name, programmes))


class _Eu(_Reader):
    """The EU's consolidated list: it has no field for addresses, so they are looked for in all texts of an entry."""

    source = "eu"

    def __init__(self, found: ParsedList, root: Element) -> None:
        super().__init__(found, root)
        found.published_on = _iso_date(root.get("generationDate", ""))

    def read(self, element: Element, depth: int) -> bool:
        if depth != 1:
            return False
        if _tag(element) == "sanctionEntity":
            self.found.entries += 1
            names = (each.get("wholeName", "") for each in _all(element, "nameAlias"))
            programmes = [each.get("programme", "") for each in _all(element, "regulation")]
            number = element.get("euReferenceNumber", "") or element.get("logicalId", "")
            entry = Entry(number, next(filter(None, names), ""), ", ".join(dict.fromkeys(filter(None, programmes))))
            for each in element.iter():
                for text in (each.text or "", *each.attrib.values()):
                    for address in accounts_in(text):
                        self.found.add(address, entry)
        return True


_FORMS: Mapping[str, type[_Reader]] = MappingProxyType({"sdnList": _Sdn, "Sanctions": _SdnAdvanced, "export": _Eu})


def _reader_of(root: Element, found: ParsedList) -> _Reader:
    name = _tag(root)
    if name not in _FORMS:
        raise ListUnreadable(
            f"This XML begins with <{name}>. A list of OFAC begins with <sdnList> or <Sanctions>, the EU's with "
            "<export>."
        )
    return _FORMS[name](found, root)


# --- CSV ---------------------------------------------------------------------------------------------


def _parse_csv(file: BinaryIO) -> ParsedList:
    found = ParsedList()
    rows = csv.reader(io.TextIOWrapper(file, encoding="utf-8-sig", newline=""), strict=True)
    first = next(rows, [])
    columns = [name.strip().lower() for name in first]
    if "address" in columns:
        _read_plain(found, columns, rows)
    elif len(first) == _SDN_COLUMNS and first[0].strip().isdigit():
        found.source = "ofac"
        for row in chain([first], rows):
            _read_sdn_row(found, row)
    else:
        raise ListUnreadable(
            "This is neither XML nor a CSV that can be read: the first line of a plain CSV names its columns, address "
            "and perhaps name and programme, and OFAC's sdn.csv has 12 columns."
        )
    return found


def _read_plain(found: ParsedList, columns: list[str], rows: Iterator[list[str]]) -> None:
    for row in rows:
        if not any(each.strip() for each in row):
            continue
        cells: dict[str, Any] = dict(zip(columns, row, strict=False))
        if not cells.get("address", "").strip():
            raise ListUnreadable(f"Line {found.entries + 2} has no address, and nothing was imported.")
        found.entries += 1
        found.add(cells["address"], Entry("", cells.get("name", "").strip(), cells.get("programme", "").strip()))


def _read_sdn_row(found: ParsedList, row: list[str]) -> None:
    """A row of `sdn.csv`: number, name, kind, programmes and others; the last column has remarks."""
    if len(row) == 1 and not row[0].strip(" \x1a"):
        return  # the end of the file, as OFAC marks it
    if len(row) != _SDN_COLUMNS:
        raise ListUnreadable(f"A row after {found.entries} others is cut off, and nothing was imported.")
    if len(row[11]) >= _REMARKS_CUT:
        raise ListUnreadable(
            f"The remarks of entry {row[0].strip()} are cut off by OFAC and may name more addresses: import sdn.xml. "
            "Nothing was imported."
        )
    found.entries += 1
    number, name, programme, remarks = (
        "" if (cell := row[place].strip()) == _EMPTY else cell for place in (0, 1, 3, 11)
    )
    for address in _IN_REMARKS.findall(remarks):
        found.add(address, Entry(number, name, programme))


def _us_date(text: str) -> date | None:
    try:
        return datetime.strptime(text, "%m/%d/%Y").date()  # noqa: DTZ007 - a day
    except ValueError:
        return None


def _iso_date(text: str) -> date | None:
    try:
        return date.fromisoformat(text[:10])
    except ValueError:
        return None
