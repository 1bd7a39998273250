"""Each kind of alarm has its runbook, written by a person, whose commands are ones that Ballast takes."""

from __future__ import annotations

import re

from django.core.management import get_commands, load_command_class

from config.docs import library
from payments.monitoring.models import Alarm
from payments.monitoring.states import AlarmKind
from tests.alerting.runbooks import HEADINGS, RUNBOOKS, TO_WRITE, commands_of, page_of


def test_each_kind_of_alarm_has_a_page_of_four_parts_and_no_page_is_left_over() -> None:
    assert {path.name for path in RUNBOOKS.iterdir()} == {page_of(kind).name for kind in AlarmKind}
    for kind in AlarmKind:
        text = page_of(kind).read_text()
        assert tuple(re.findall("^## (.+)$", text, re.MULTILINE)) == HEADINGS, kind
        assert library.slugs()[Alarm(kind=kind).runbook.removeprefix("/docs/")] == f"runbooks/{kind}.md"
        assert text.startswith(f"# {kind.label}\n\nThe alarm `{kind.value}`."), kind
        assert TO_WRITE not in text, kind
        assert 80 <= len(text.split()) <= 230, kind
        first = text.partition("## First five minutes")[2].partition("## Then")[0]
        assert first.count("\n1. ") == first.count("\n2. ") == 1, f"{kind}: what to do first is numbered"


def test_each_command_of_a_runbook_is_one_that_its_parser_takes() -> None:
    applications = get_commands()
    for kind in AlarmKind:
        for name, *words in commands_of(kind):
            load_command_class(applications[name], name).create_parser("manage.py", name).parse_args(words)
        for name in re.findall(r"`manage\.py (\w+)", page_of(kind).read_text()):
            assert name in applications, kind
