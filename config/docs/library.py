"""The files of docs/: which pages there are, where they lead, and the index by reader. Read once in a process."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from django.conf import settings
from django.utils.safestring import SafeString

from config.docs.markdown import Section, html_of, links_of, sections_of

HOME = "/docs"
_INDEX = "README.md"
_ELSEWHERE = {"api.md": "api-guide"}
"""A page whose address is not its name: `/docs/api` is the reference, with addresses that stay."""


@dataclass(frozen=True)
class Link:
    """A file that the index leads to."""

    name: str
    title: str
    address: str


@dataclass(frozen=True)
class Job:
    """A row of the index: what somebody wants to do, and the files that help."""

    words: str
    links: tuple[Link, ...]


@dataclass(frozen=True)
class Reader:
    """A part of the index: the jobs of merchants, developers, operators or auditors."""

    name: str
    jobs: tuple[Job, ...]

    @property
    def links(self) -> tuple[Link, ...]:
        """The files of all jobs, each once."""
        return tuple(dict.fromkeys(link for job in self.jobs for link in job.links))


def folder() -> Path:
    return Path(settings.BASE_DIR) / "docs"


@cache
def names() -> frozenset[str]:
    """The names of all files, as paths below docs/."""
    here = folder()
    return frozenset(path.relative_to(here).as_posix() for path in here.rglob("*") if path.is_file())


@cache
def slugs() -> dict[str, str]:
    """The file of each page by the end of its address."""
    return {_slug(name): name for name in sorted(names()) if name.endswith(".md")}


def _slug(name: str) -> str:
    return _ELSEWHERE.get(name, name.removesuffix(".md").removesuffix("README").rstrip("/"))


def address(name: str) -> str:
    """The address of a file: of its page, where it is Markdown."""
    slug = _slug(name) if name.endswith(".md") else name
    return f"{HOME}/{slug}" if slug else HOME


def text(name: str) -> str:
    return (folder() / name).read_text(encoding="utf-8")


@cache
def sections(name: str) -> tuple[Section, ...]:
    return sections_of(text(name))


def title(name: str) -> str:
    return sections(name)[0].title if name.endswith(".md") else name


def file_of(name: str, path: str) -> str | None:
    """The file that a path in a page leads to; of a folder it is the index."""
    there = posixpath.normpath(posixpath.join(posixpath.dirname(name), path))
    return next((each for each in (there, f"{there}/{_INDEX}") if each in names()), None)


def html(name: str) -> SafeString:
    """A page, with its links leading to addresses of the pages."""

    def address_of(target: str) -> str | None:
        if "://" in target or target.startswith("mailto:"):
            return target
        path, mark, anchor = target.partition("#")
        if not path:
            return target
        there = file_of(name, path)
        return f"{address(there)}{mark}{anchor}" if there else None

    return html_of(text(name), address_of)


@cache
def readers() -> tuple[Reader, ...]:
    """The index, read from the tables of docs/README.md."""
    return tuple(_readers(text(_INDEX))) if _INDEX in names() else ()


def _readers(text: str) -> Iterator[Reader]:
    for part in text.split("\n## ")[1:]:
        name, _, rest = part.partition("\n")
        rows = [line.strip("| ").split(" | ", 1) for line in rest.splitlines() if line.startswith("| ")]
        yield Reader(name, tuple(_job(*row) for row in rows[1:]))


def _job(words: str, links: str) -> Job:
    files = (target.partition("#")[0] for target in links_of(links))
    return Job(words.strip("* "), tuple(_link(name) for name in files if name in names()))


def _link(name: str) -> Link:
    return Link(name, title(name).partition(":")[0], address(name))
