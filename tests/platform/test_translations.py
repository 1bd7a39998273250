"""Every language has every message that it must have, with the same placeholders, and Django reads the same."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.conf import settings

from tests import messages

TRANSLATED = [language for language, _name in settings.LANGUAGES if language != "en"]
FOUND = list(messages.messages())
PLACEHOLDER = re.compile(r"%\(\w+\)[sd]|\{\w+\}|</?\w+>")


@pytest.mark.parametrize("language", TRANSLATED)
def test_no_message_is_missing(language: str) -> None:
    catalog = messages.read_catalog(language)
    missing = [
        message.singular
        for message in messages.wanted(language, FOUND)
        if (kept := catalog.get(message.singular, message.context)) is None or not messages.is_translated(kept.string)
    ]
    assert missing == []


@pytest.mark.parametrize("language", TRANSLATED)
def test_the_catalogue_has_what_the_source_has_and_is_compiled(language: str) -> None:
    catalog, path = messages.updated(language, FOUND), messages.catalog_path(language)
    assert path.read_bytes() == messages.written(catalog), "run make messages"
    assert path.with_suffix(".mo").read_bytes() == messages.compiled(catalog), "run make messages"


@pytest.mark.parametrize("language", TRANSLATED)
def test_placeholders_are_those_of_the_message(language: str) -> None:
    differing = []
    for message in messages.read_catalog(language):
        originals = message.id if isinstance(message.id, tuple) else (message.id,)
        strings = message.string if isinstance(message.string, tuple) else (message.string,)
        # A form for one alone may say the number in words, and no other.
        if message.id and any(placeholders(each) != placeholders(originals[-1]) for each in strings[-1:]):
            differing.append(message.id)
    assert differing == []


def placeholders(text: str) -> list[str]:
    return sorted(PLACEHOLDER.findall(text))


def test_the_list_of_what_payers_read_names_what_is_there() -> None:
    places = {message.place for message in FOUND}
    paths = {place.partition(":")[0] for place in places}
    beginnings = {str(folder) for path in paths for folder in Path(path).parents}
    assert set(messages.PAYERS) - places - paths - beginnings == set()


def test_every_catalogue_is_of_a_language_that_is_offered() -> None:
    kept = set(messages.LOCALE.rglob("*.[mp]o"))
    offered = {messages.catalog_path(language) for language in TRANSLATED}
    assert kept == offered | {path.with_suffix(".mo") for path in offered}
