"""The licences of what Ballast is shipped with, and which of them it may be shipped with."""

from __future__ import annotations

from importlib import metadata

from license_expression import LicenseSymbol, get_spdx_licensing

from tests.release.lock import LOCKS, Pinned, pinned

NOTICE = "asks to keep its notice, which the file of licences does"
MAY_BE_SHIPPED = {
    "Apache-2.0": NOTICE,
    "BSD-2-Clause": NOTICE,
    "BSD-3-Clause": NOTICE,
    "CNRI-Python": NOTICE,
    "MIT": NOTICE,
    "MIT-0": "asks nothing",
    "MIT-CMU": NOTICE,
    "MPL-2.0": "asks for the source of its own files, which the packages have, unchanged",
    "PSF-2.0": NOTICE,
    "LicenseRef-public-domain": "asks nothing",
}
"""With the reason. A licence that asks Ballast to be under it, or for the source of a service, is not here."""

ONLY_THESE = {
    "psycopg": "LGPL-3.0-only: unchanged, in a package of its own, which anybody may replace by another",
    "psycopg-binary": "LGPL-3.0-only: the same",
}
"""Packages under another licence, with the reason why they may be shipped all the same."""

SPELLINGS = {
    "3-Clause BSD License": "BSD-3-Clause",
    "BSD 3-Clause OR Apache-2.0": "BSD-3-Clause OR Apache-2.0",
    "MIT License": "MIT",
    "New BSD": "BSD-3-Clause",
    "PSFL": "PSF-2.0",
    "License :: OSI Approved :: Apache Software License": "Apache-2.0",
    "License :: OSI Approved :: MIT License": "MIT",
}
"""What packages say of themselves in a spelling of their own."""

READ = {
    "amqp": ("BSD", "BSD-3-Clause"),
    "billiard": ("BSD", "BSD-3-Clause"),
    "django-csp": ("BSD", "BSD-3-Clause"),
    "fido2": ("Copyright (c) 2018 Yubico AB", "BSD-2-Clause AND Apache-2.0 AND MPL-2.0"),
    "prompt-toolkit": ("License :: OSI Approved :: BSD License", "BSD-3-Clause"),
    "pycryptodome": ("BSD, Public Domain", "BSD-2-Clause AND LicenseRef-public-domain"),
    "python-dateutil": ("Dual License", "BSD-3-Clause AND Apache-2.0"),
    "qrcode": ("BSD", "BSD-3-Clause AND MIT"),
    "sqlparse": ("License :: OSI Approved :: BSD License", "BSD-3-Clause"),
    "vine": ("BSD", "BSD-3-Clause"),
    "async-timeout": (None, "Apache-2.0"),
    "colorama": (None, "BSD-3-Clause"),
    "tzdata": (None, "Apache-2.0"),
}
"""What a person read in the licence where the package says too little, with what it says; None: for other systems."""

_SPDX = get_spdx_licensing()


def expression(package: Pinned) -> str:
    """The SPDX expression of a package's licences; ValueError where a person has to read them first."""
    said = _said(package.name)
    if package.name in READ:
        then, found = READ[package.name]
        if said is not None and then is not None and said != then:
            raise ValueError(f"{package.name} says {said!r} of its licence, and said {then!r} when it was read")
        return found
    if said is None:
        raise ValueError(f"{package.name} is not installed here: read its licence, and add it to READ")
    found = SPELLINGS.get(said, said)
    if _SPDX.validate(found).errors:
        raise ValueError(f"{package.name} says {said!r} of its licence: read it, and add it to READ")
    return found


def may_be_shipped(package: Pinned, licence: str) -> bool:
    return package.name in ONLY_THESE or _is_allowed(_SPDX.parse(licence))


def faults(packages: list[Pinned]) -> list[str]:
    """Each package that may not be shipped, or whose licence nobody knows."""
    found = []
    for package in packages:
        try:
            licence = expression(package)
        except ValueError as error:
            found.append(str(error))
        else:
            if not may_be_shipped(package, licence):
                found.append(f"{package.name} is under {licence}, which is not among what may be shipped")
    return found


def notices(lock: str) -> str:
    """The texts of all licences, as their packages have them."""
    parts = [f"Ballast is shipped with, or installs, what {lock} pins. The licence of each, and its text.\n"]
    for package in pinned(lock):
        parts.append(f"{'=' * 100}\n{package.name} {package.version}: {expression(package)}\n")
        parts += _texts(package.name) or [f"Installed only where {package.marker}; its package has the text.\n"]
    return "\n".join(parts)


def _said(name: str) -> str | None:
    try:
        about = metadata.metadata(name)
    except metadata.PackageNotFoundError:
        return None
    lines = "".join(about.get_all("License", [])).strip().splitlines()
    if stated := [*about.get_all("License-Expression", []), *lines]:
        return str(stated[0])
    return ", ".join(text for text in about.get_all("Classifier", []) if text.startswith("License"))


def _texts(name: str) -> list[str]:
    try:
        files = metadata.files(name) or []
    except metadata.PackageNotFoundError:
        return []
    beginnings = ("licen", "copying", "notice")
    named = [file for file in files if ".dist-info" in str(file) and file.name.lower().startswith(beginnings)]
    return [file.locate().read_text(encoding="utf-8") for file in sorted(named, key=str)]  # type: ignore[attr-defined]


def _is_allowed(part: object) -> bool:
    """True if all of its licences may be shipped, or, where there is a choice, one of them."""
    if isinstance(part, LicenseSymbol):
        return part.key in MAY_BE_SHIPPED
    choose = any if isinstance(part, _SPDX.OR) else all
    return choose(_is_allowed(each) for each in part.args)  # type: ignore[attr-defined]


def main() -> list[str]:
    return [fault for lock in LOCKS.values() for fault in faults(pinned(lock))]
