"""The pages beside the reference say what the code does, and their programs run as they are pasted."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings
from pytest_django.live_server_helper import LiveServer

from config.api.versions import VERSIONS
from config.docs import library
from config.docs.markdown import LANGUAGES
from merchants.access.signing import signature_of
from merchants.access.throttling import PLAN_REQUESTS
from merchants.pages.programs import FOLDER
from payments.models import Payment
from tests.factories import make_key, make_merchant

RUNNERS = {"sh": ["bash"], "python": [sys.executable], "typescript": ["node"], "php": ["php"]}
ENDINGS = {"sh": "sh", "python": "py", "typescript": "mjs", "php": "php"}
HERE = [language for language in RUNNERS if shutil.which(RUNNERS[language][0])]


def programs(page: str, heading: str = "") -> dict[str, str]:
    """The first block of each language below a heading."""
    text = library.text(page).partition(f"\n## {heading}\n" if heading else "\n")[2]
    return dict(reversed(re.findall(r"```(\w+)\n(.*?)```", text, re.DOTALL)))


def test_an_example_has_the_same_languages_everywhere() -> None:
    for page in ("api/first-payment.md", "api/signing.md", "api/webhook-verification.md"):
        assert list(LANGUAGES) == re.findall(r"```(\w+)\n", library.text(page)), page


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("language", HERE)
def test_a_signed_request_is_accepted_by_a_key_that_requires_it(
    language: str, live_server: LiveServer, tmp_path: Path
) -> None:
    issued = make_key(make_merchant(), require_signature=True)
    file = tmp_path / f"sign.{ENDINGS[language]}"
    file.write_text(programs("api/signing.md", "A signed request")[language], encoding="utf-8")
    done = subprocess.run(
        [*RUNNERS[language], file],
        env={
            "PATH": os.environ["PATH"],
            "BALLAST_URL": live_server.url,
            "BALLAST_PUBLIC_KEY": issued.key.public_key,
            "BALLAST_SECRET_KEY": issued.secret,
        },
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert Payment.objects.get().public_id in done.stdout


def test_a_first_payment_is_short() -> None:
    """`make sdk` runs its programs."""
    lines = {language: len(code.splitlines()) for language, code in programs("api/first-payment.md", "Program").items()}
    assert len(lines) == len(RUNNERS)
    assert max(lines.values()) <= 25, lines


def test_the_signature_to_compare_is_right() -> None:
    body = '{"amount": 25, "currency": "EUR"}'
    signature = signature_of(
        secret="sk_test_example",
        timestamp="1795000000000", method="POST", path="/v1/payments", body=body.encode(),
    )  # fmt: skip
    page = library.text("api/signing.md")
    assert f"    {signature}\n" in page
    assert "`sk_test_example`, the timestamp `1795000000000`" in page


def test_the_receivers_of_the_page_are_those_of_the_quick_start() -> None:
    """Which tests/dashboard/test_quick_start.py runs."""
    found = programs("api/webhook-verification.md")
    for language, ending in ENDINGS.items():
        assert found[language] == (FOLDER / f"receive_webhook.{ending}").read_text(encoding="utf-8")


def test_the_page_of_versions_lists_all_of_them() -> None:
    rows = re.findall(r"^\| (\d{4}-\d\d-\d\d) \|", library.text("api/versions.md"), re.MULTILINE)
    assert rows == [str(version) for version in VERSIONS]


def test_the_limits_of_the_page_are_those_of_the_code() -> None:
    page = library.text("api/rate-limits.md")
    for each in (settings.SANDBOX_REQUESTS_PER_MINUTE, *PLAN_REQUESTS.values()):
        assert f"| {each:,} |" in page
