"""Every page, in a language that marks what is translated: outside of marks stand names and data alone.

The templates have a test of their own, which needs no page. This one finds what comes from Python: labels, errors,
messages, statuses, sentences.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock
from urllib.parse import urlsplit

import pytest
from django.apps import apps
from django.conf import settings as django_settings
from django.test import Client
from pytest_django.fixtures import Settings

from config.errors import DomainError
from merchants.people.models import Mail
from payments.suspense.payer_proofs import return_link
from refunds.destination_links import destination_link_url
from tests.dashboard.addresses import DOWNLOADS, FIELDS, READS, WRITES, Records, make_records
from tests.dashboard.conftest import browser_of
from tests.dashboard.pseudo import marked, not_translated, pseudo_language
from tests.factories import make_member, make_merchant
from tests.networks import STELLAR
from tests.payments.scenes import ETHEREUM, make_payment, pay_and_confirm
from tests.payments.test_giving_back import come

pytestmark = [pytest.mark.slow, pytest.mark.django_db]

NAMES = "|".join(
    (
        r"Ballast|Xero|QuickBooks|CSV|JSON|Python|Node|PHP|curl",
        *(re.escape(name) for _language, name in django_settings.LANGUAGES),
        r"[\w.+-]+@[\w.-]+|https?://\S*|[\w.:-]*/[\w/{}:.-]+|\w+(?:\.\w+)+",
        r"USD Coin|Tether USD|Dai|[A-Z]{3,4}|[A-Z\d]{4}",  # coins, currencies, time zones, addresses in fours
        r"(?:Ethereum|Polygon|Stellar)(?: \(simulated\))?|ethereum|polygon|stellar",
        r"0x[0-9A-Fa-f…]+|[A-Z2-7]{8,}…?[A-Z2-7]*|[a-z]{2,5}_[\w…]+|…\w+|v1,\S+",
        r"GET|POST|PATCH|PUT|DELETE|[2345]xx|\d{3} [A-Z][\w ]+",  # of HTTP
        r"Content-Type|Content-Length|User-Agent|webhook-(?:id|timestamp|signature)",
        r"\d+ (?:ms|s|min|h)|DE",
        r"exact|underpaid|overpaid|two_parts|late|wrong_\w+|two_transfers|reorg|outage|missing_memo|from_exchange|test",
    )
)
"""What is the same in every language: of the simulator and of a test event, what the API calls them."""

HAS_LEFT = ("leave", "hand-over", "remove", "/role", "/environment", "/merchant")
"""After these somebody else would look."""


@contextmanager
def refusals_aside() -> Iterator[None]:
    """Inside, what a refusal of the API says counts as translated: the contract speaks English."""
    begin = DomainError.__init__

    def marking(self: DomainError, *args: Any, **options: Any) -> None:
        begin(self, *args, **options)
        self.message = marked(self.message)

    with mock.patch.object(DomainError, "__init__", marking):
        yield


def data() -> re.Pattern[str]:
    """Names, and every text that some row has."""
    found: set[str] = set()

    def take(value: Any) -> None:
        if isinstance(value, dict):
            take([*value, *value.values()])
        elif isinstance(value, (list, tuple)):
            for each in value:
                take(each)
        elif isinstance(value, str) and len(value) > 2:
            found.add(value.strip())

    for model in apps.get_models():
        if model._meta.app_label not in {"contenttypes", "auth", "sessions"}:
            take(list(model._default_manager.values_list()))
    longest_first = sorted(found - {""}, key=len, reverse=True)
    return re.compile(rf"(?<!\w)(?:{'|'.join([NAMES, *map(re.escape, longest_first)])})(?!\w)")


def faults(pages: Iterable[tuple[str, str]]) -> str:
    """What nobody can translate, a line each, with the page where it stands first."""
    known, found = data(), dict[str, str]()
    for name, page in pages:
        for each in not_translated(page, known):
            found.setdefault(" ".join(each.split()), name)
    return "\n".join(f"{name}: {each}" for each, name in found.items())


@pytest.fixture
def records() -> Records:
    return make_records(make_merchant("Harbour Coffee"))


def test_the_dashboard_and_what_its_forms_say(records: Records) -> None:
    client = browser_of(make_member(records.payment.merchant))
    with pseudo_language(), refusals_aside():
        pages = [(path, client.get(records.in_path(path)).text) for path in READS if path not in DOWNLOADS]
        for path in WRITES:
            if not path.endswith(HAS_LEFT):
                pages += [
                    (f"POST {path}", client.post(records.in_path(path), fields, follow=True).text)
                    for fields in ({}, FIELDS)
                ]
        pages += [(mail.subject, f"<p>{mail.subject}<p>{mail.text}") for mail in Mail.objects.all()]
    assert len(pages) > 150
    assert faults(pages) == ""


PERSONAL = ("", "/password", "/app", "/codes", "/codes/new", "/email", "/passkeys/new", "/confirm", "/confirm/code")
OPEN = (
    "/login",
    "/signup",
    "/password",
    "/mailbox",
    "/invitation/x",
    "/signup/confirm/x",
    "/password/1-x-y",
    "/nothing",
)


def test_the_pages_of_people_and_their_mails(settings: Settings) -> None:
    settings.SIGN_UP = "open"
    settings.MAILBOX_IS_SHOWN = True
    member, nobody = make_member(make_merchant("Harbour Coffee")), Client()
    client = browser_of(member)
    fields = {
        "merchant_name": "Mine",
        "name": "Mine",
        "email": "mine@mine.example",
        "password": "a long phrase of mine",
    }
    with pseudo_language(), refusals_aside():
        pages = [(f"/account{path}", client.get(f"/account{path}").text) for path in PERSONAL]
        pages += [(f"POST /account{path}", client.post(f"/account{path}", {}).text) for path in PERSONAL]
        pages += [(path, nobody.get(path).text) for path in OPEN]
        pages += [(f"POST {path}", nobody.post(path, {}).text) for path in OPEN]
        pages += [(f"POST {path}", nobody.post(path, fields, follow=True).text) for path in ("/signup", "/password")]
        mails = [(mail.subject, f"<p>{mail.subject}<p>{mail.text}") for mail in Mail.objects.all()]
    assert len(mails) >= 1
    assert faults([*pages, *mails]) == ""


def test_the_payers_pages(records: Records, settings: Settings) -> None:
    settings.SIMULATED_BLOCK_SECONDS = 0
    merchant = records.payment.merchant
    paid = [pay_and_confirm(make_payment(ETHEREUM, merchant=merchant), amount) for amount in ("40", "100", "125")]
    nobody, pages = Client(), list[tuple[str, str]]()
    paths = [f"/pay/{payment.public_id}" for payment in (records.payment, *paid)]
    paths += [f"{path}/claim" for path in paths]
    paths += [f"/link/{records.link.code}", urlsplit(return_link(come(STELLAR))).path]
    paths += [urlsplit(destination_link_url(records.refund) or "").path]
    said: tuple[dict[str, str], ...] = (
        {},
        {"hash": "0x" + "ab" * 32},
        {"hash": paid[0].deposits.get().transaction_hash},
        {"address": "mine"},
    )
    with pseudo_language(), refusals_aside():
        for path in paths:
            pages.append((path, nobody.get(path).text))
            if not path.endswith(tuple(payment.public_id for payment in (records.payment, *paid))):
                pages += [(f"POST {path} {fields}", nobody.post(path, fields).text) for fields in said]
    assert faults(pages) == ""


JS = django_settings.BASE_DIR / "static" / "js"
_LITERAL = re.compile(r"""("[^"\n]*"|(?<!\w)'[^'\n]*'|`[^`]*`)""")
_PROSE = re.compile(r"[A-Za-z]{2,}[,.:;]? [a-z]{2,}|^.[A-Z][a-z]+ \$\{")
_NO_PROSE = re.compile(r"className|const memory|Bearer|new TypeError")


def test_scripts_say_nothing_of_their_own() -> None:
    """They take their words from the page."""
    found = {}
    for path in sorted(JS.glob("*.js")):
        lines = [line.partition("// ")[0] for line in path.read_text().splitlines() if not _NO_PROSE.search(line)]
        code = "\n".join(line for line in lines if not line.lstrip().startswith(("/*", "*", "//")))
        if prose := [literal for literal in _LITERAL.findall(code) if _PROSE.search(literal)]:
            found[path.name] = prose
    assert found == {}


@pytest.mark.parametrize(
    ("template", "scripts"),
    [
        ("checkout/wallet_words.html", ("wallets", "wallet_transfer", "stellar_wallets", "browser_wallets")),
        ("partials/proof_words.html", ("wallet_proof", "browser_wallets")),
    ],
)
def test_what_scripts_ask_for_is_in_the_page(template: str, scripts: tuple[str, ...]) -> None:
    has = set(re.findall(r"data-([a-z-]+)=", (django_settings.BASE_DIR / "templates" / template).read_text()))
    asked = {
        re.sub("[A-Z]", lambda letter: f"-{letter[0].lower()}", name)
        for script in scripts
        for name in re.findall(r'\bwords\("(\w+)"', (JS / f"{script}.js").read_text())
    }
    assert asked
    assert has == asked
