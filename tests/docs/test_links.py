"""Every link of the documentation leads to a file, and to a heading that is there."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md")])

FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"^```.*?^```|^(?: {4}|\t)(?! *[-*0-9]).*$|`[^`\n]*`", re.MULTILINE | re.DOTALL)
SOURCES = ("config", "merchants", "payments", "refunds", "settlements", "templates", "tests", "webhooks")
LINK = re.compile(r"\[(?:[^\[\]]|\[[^\]]*\])*\]\(<?([^)\s>]+)>?\)")


@cache
def anchors(page: Path) -> frozenset[str]:
    """The anchors that GitHub gives the headings of a page."""
    seen: Counter[str] = Counter()
    found = set()
    for heading in re.findall(r"^#+ (.+)$", FENCED.sub("", page.read_text()), re.MULTILINE):
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
        slug = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
        found.add(slug if not seen[slug] else f"{slug}-{seen[slug]}")
        seen[slug] += 1
    return frozenset(found)


def is_broken(page: Path, target: str) -> bool:
    path, _, anchor = target.partition("#")
    there = (page.parent / path).resolve() if path else page
    return not there.exists() or (bool(anchor) and (there.suffix != ".md" or anchor not in anchors(there)))


def test_every_link_leads_somewhere() -> None:
    broken = [
        f"{page.relative_to(ROOT)}: {target}"
        for page in PAGES
        for target in LINK.findall(CODE.sub("", page.read_text()))
        if "://" not in target and not target.startswith("mailto:") and is_broken(page, target)
    ]
    assert broken == []


def test_what_the_code_says_of_the_documentation_is_there() -> None:
    named = re.compile(r"docs/([a-z-]+\.md)")
    sources = [
        ROOT / ".env.example",
        ROOT / "compose.yaml",
        *(
            path
            for folder in (
                "config",
                "merchants",
                "payments",
                "refunds",
                "settlements",
                "templates",
                "tests",
                "webhooks",
            )
            for path in (ROOT / folder).rglob("*")
            if path.suffix in {".py", ".html"}
        ),
    ]
    missing = {
        (str(path.relative_to(ROOT)), name)
        for path in sources
        for name in named.findall(path.read_text())
        if not (DOCS / name).exists()
    }
    assert missing == set()


def test_the_index_leads_to_every_page() -> None:
    listed = set(LINK.findall((DOCS / "README.md").read_text()))
    assert {path.name for path in DOCS.glob("*.md")} - {target.partition("#")[0] for target in listed} == {"README.md"}
