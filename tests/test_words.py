"""The words of docs/glossary.md hold: each entry of the table names a word that must not be used, and where."""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

SOURCES = r"(config|merchants|webhooks|payments|refunds|settlements)/.*\.py"
TEXTS = rf"{SOURCES}|tests/.*\.py|templates/.*\.html|docs/(adr/)?[^/]*\.md|[A-Z]*\.md|\.env\.example"
HISTORY = r".*/migrations/.*|CHANGELOG\.md|docs/glossary\.md|tests/test_words\.py"
"""Text that stays as it was written, and the two files that name the words."""

WORDS = (
    (TEXTS, r"\bjudg(e|es|ed|ing|ements?)\b", "assess, assessment"),
    (TEXTS, r"\b(network's|the) own coin\b|\bgas money\b", "native coin, gas balance"),
)


def files(pattern: str) -> list[str]:
    """Names of the files in the repository that match, without those that keep old words."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [name for name in listed.split() if re.fullmatch(pattern, name) and not re.fullmatch(HISTORY, name)]


@pytest.mark.parametrize(("where", "word", "better"), WORDS, ids=[better for _, _, better in WORDS])
def test_a_word_that_the_glossary_replaces_is_not_used(where: str, word: str, better: str) -> None:
    names = files(where)
    assert names
    found = [
        f"{name}:{number}: {line.strip()}"
        for name in names
        for number, line in enumerate((ROOT / name).read_text(encoding="utf-8").splitlines(), 1)
        if re.search(word, line)
    ]
    assert found == [], f"say: {better}"


def test_every_file_that_the_glossary_names_is_there() -> None:
    page = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`([a-z_]+/[a-z_/]*(?:\.py)?)`", page))
    assert len(named) > 40
    assert [name for name in sorted(named) if not (ROOT / name).exists()] == []


def test_each_term_of_the_glossary_is_defined_once() -> None:
    page = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    terms = Counter(term.lower() for term in re.findall(r"\*\*([^*]+)\*\*", page))
    assert len(terms) > 150
    assert [term for term, count in terms.items() if count > 1] == []


def test_every_decision_is_in_the_list_in_its_order() -> None:
    decisions = ROOT / "docs" / "adr"
    listed = re.findall(r"^\| \[\d{4}\]\((\d{4}-[\w-]+\.md)\)", (decisions / "README.md").read_text(), re.MULTILINE)
    assert listed == sorted(path.name for path in decisions.glob("0*.md"))
