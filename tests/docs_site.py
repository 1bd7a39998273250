"""`make docs`: docs/ as a static site that needs nothing from elsewhere, by Zensical, in var/site.

Zensical reads Python-Markdown, where what stands below a list item is indented by four; docs/ is CommonMark, as GitHub
and the product read it. So headings are handed over as they are, for its contents and search, and all else as HTML.
"""
# ruff: noqa: T201 - what is wrong goes to standard output

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from html import unescape
from pathlib import Path

import django
from django.template.loader import render_to_string

ROOT = Path(__file__).resolve().parents[1]
SOURCE, CONFIG, SITE = (ROOT / "var" / name for name in ("site-source", "site.toml", "site"))
ZENSICAL = ROOT / ".site" / "bin" / "zensical"

LOADED = re.compile(r"<(?:link|script|img|source|iframe)\b[^>]*?\s(?:href|src)=[\"']?((?:https?:)?//[^\"'\s>]+)")
PLACE = re.compile(r"\s(?:href|src)=[\"']?([^\"'\s>]+)")


def main() -> int:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    write_source()
    CONFIG.write_text(configuration(), encoding="utf-8")
    shutil.rmtree(SITE, ignore_errors=True)
    subprocess.run([ZENSICAL, "build", "--clean", "--strict", "--config-file", CONFIG], cwd=CONFIG.parent, check=True)
    write_for_programs()
    wrong = sorted(faults())
    print(*wrong, f"{len(wrong)} links are broken; the site is in {SITE}", sep="\n")
    return 1 if wrong else 0


def write_source() -> None:
    """Each page with its headings as Markdown and the rest as HTML, beside all other files."""
    from config.docs import library

    shutil.rmtree(SOURCE, ignore_errors=True)
    shutil.copytree(ROOT / "docs", SOURCE)
    for name in library.slugs().values():
        text = "\n".join(_parts(name))
        (SOURCE / name.replace("README.md", "index.md")).write_text(text, encoding="utf-8")
    for path in SOURCE.rglob("README.md"):
        path.unlink()


def _parts(name: str) -> Iterator[str]:
    from config.docs import library
    from config.docs.markdown import blocks_of

    sections = iter(library.sections(name))
    for block in blocks_of(library.text(name), lambda target: _address(name, target), is_plain=True):
        if block.startswith("<h"):
            section = next(sections)
            yield f"\n{'#' * section.level} {section.title} {{ #{section.anchor} }}\n"
        else:
            yield block


def _address(name: str, target: str) -> str | None:
    """Where a link leads on the site. What is not in docs/ is not on the site."""
    from config.docs import library

    there, mark, anchor = target.partition("#")
    if "://" in target or not there or not (found := library.file_of(name, there)):
        return target if "://" in target or not there else None
    path = os.path.relpath(found, Path(name).parent)
    return f"{re.sub('README.md$', 'index.md', path).removesuffix('.md')}{'.html' * path.endswith('.md')}{mark}{anchor}"


def configuration() -> str:
    """The settings of Zensical: JSON is TOML where strings, lists and one table a line are."""
    from config.docs import library

    nav = ",\n".join(
        f"  {{ {json.dumps(reader.name)} = [{', '.join(_in_nav(link.title, link.name) for link in reader.links)}] }}"
        for reader in library.readers()
    )
    palettes = "".join(
        f'[[project.theme.palette]]\nmedia = "(prefers-color-scheme{media})"\nscheme = "{scheme}"\n'
        f'toggle.icon = "lucide/{icon}"\ntoggle.name = "{other}"\n'
        for media, scheme, icon, other in (
            ("", "default", "sun-moon", "Light"),
            (": light", "default", "sun", "Dark"),
            (": dark", "slate", "moon", "As the system"),
        )
    )
    return f"""[project]
site_name = "Ballast"
site_description = "A self-hosted stablecoin payment service"
docs_dir = "{SOURCE.name}"
site_dir = "{SITE.name}"
use_directory_urls = false
nav = [
  {_in_nav("Find your page", "README.md")},
{nav}
]
[project.theme]
font = false
language = "en"
features = ["navigation.sections", "navigation.path", "navigation.top", "search.highlight", "toc.follow"]
{palettes}[project.markdown_extensions]
attr_list = {{}}
toc.permalink = true
"""


def _in_nav(title: str, name: str) -> str:
    return f"{{ {json.dumps(title)} = {json.dumps(re.sub('README.md$', 'index.md', name))} }}"


def write_for_programs() -> None:
    """The Markdown of each page, and the index of them."""
    from config.docs import library
    from config.process.release import RELEASE

    for name in library.slugs().values():
        shutil.copy(ROOT / "docs" / name, SITE / name)
    (SITE / "llms.txt").write_text(
        render_to_string("docs/llms.txt", {"readers": library.readers(), "home": ".", "release": RELEASE})
    )


def faults() -> Iterator[str]:
    """Links that lead nowhere, and what pages would load from elsewhere."""
    pages = {path: path.read_text(encoding="utf-8") for path in SITE.rglob("*.html")}
    anchors = {path: set(re.findall(r'\sid="?([^"\s>]+)', page)) for path, page in pages.items()}
    for path, page in pages.items():
        yield from (
            f"{path.relative_to(SITE)} loads {each}" for each in LOADED.findall(page) if "canonical" not in each
        )
        for target in map(unescape, PLACE.findall(page)):
            where, _, anchor = target.partition("#")
            start = SITE if where.startswith("/") else path.parent
            there = (start / where.lstrip("/")).resolve() if where else path
            there = there / "index.html" if there.is_dir() else there
            if ":" in target.partition("/")[0] or target.startswith("//"):
                continue
            if not there.exists() or (anchor and there in anchors and anchor not in anchors[there]):
                yield f"{path.relative_to(SITE)}: {target}"


if __name__ == "__main__":
    sys.exit(main())
