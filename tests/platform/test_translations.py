"""A translation has the placeholders of its message, and Django reads the same. What is missing `make check` finds."""

from __future__ import annotations

import re
from pathlib import Path
from unicodedata import name

import pytest
from django.conf import settings

from tests import messages

TRANSLATED = [language for language, _name in settings.LANGUAGES if language != "en"]
PLACEHOLDER = re.compile(r"%\(\w+\)[sd]|\{\w+\}|</?\w+>")


@pytest.mark.parametrize("language", TRANSLATED)
def test_placeholders_are_those_of_the_message(language: str) -> None:
    """Of plurals in the last form: one for a single thing may name the number in words, or leave it out."""
    differing = [
        message.id
        for message in messages.read_catalog(language)
        if message.id and places(_last(message.id)) != places(_last(message.string))
    ]
    assert differing == []


def places(text: str) -> list[str]:
    return sorted(PLACEHOLDER.findall(text))


def _last(text: object) -> str:
    return str(text[-1] if isinstance(text, (list, tuple)) else text)


def test_the_list_of_what_payers_read_names_what_is_there() -> None:
    places = {message.place for message in messages.messages()}
    paths = {place.partition(":")[0] for place in places}
    beginnings = {str(folder) for path in paths for folder in Path(path).parents}
    assert set(messages.PAYERS) - places - paths - beginnings == set()


def test_every_catalogue_is_of_a_language_that_is_offered() -> None:
    kept = set(messages.LOCALE.rglob("*.[mp]o"))
    offered = {messages.catalog_path(language) for language in TRANSLATED}
    assert kept == offered | {path.with_suffix(".mo") for path in offered}


@pytest.mark.parametrize("language", TRANSLATED)
def test_fonts_are_named_of_a_script_that_few_fonts_have(language: str) -> None:
    letters = "".join(_last(message.string) for message in messages.read_catalog(language) if message.id)
    scripts = {name(letter).partition(" ")[0] for letter in letters if letter.isalpha()} - {"LATIN", "CYRILLIC"}
    tokens = (settings.BASE_DIR / "static" / "css" / "tokens.css").read_text()
    assert bool(scripts - {"FEMININE", "MASCULINE"}) == (f"html:lang({language}) {{" in tokens), scripts
