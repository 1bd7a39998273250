"""The programs of the quick start run as they are: taken from the page, with nothing but the secrets added."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from functools import partial
from html import unescape
from http.client import HTTPConnection
from pathlib import Path

import pytest
from django.test import Client
from pytest_django.fixtures import Settings
from pytest_django.live_server_helper import LiveServer

from config.environments import Environment
from merchants.pages.programs import LANGUAGES
from payments.models import Payment
from tests.dashboard.conftest import browser_of
from tests.factories import make_key, make_member, make_merchant
from tests.ports import free_port
from webhooks.endpoints.secrets import new_secret
from webhooks.endpoints.signing import signed_headers

pytestmark = pytest.mark.django_db(transaction=True)

PAGE = "/dashboard/developers"
BODY = b'{"type":"payment.completed","data":{"object":{"id":"pay_1"}}}'
RUNNERS = {"curl": "sh", "python": sys.executable, "node": "node", "php": "php"}
NEEDED = {"curl": ("sh", "curl", "openssl"), "python": (sys.executable,), "node": ("node",), "php": ("php",)}
HERE = [language.slug for language in LANGUAGES if all(map(shutil.which, NEEDED[language.slug]))]
"""The languages whose programs this machine has; Python's are everywhere."""


@pytest.fixture
def shop(live_server: LiveServer, settings: Settings) -> tuple[Client, str, str]:
    """A merchant's browser, its public key, and the private key that the page does not know."""
    settings.PUBLIC_URL, settings.SIMULATED_BLOCK_SECONDS = live_server.url, 0
    merchant = make_merchant()
    issued = make_key(merchant)
    return browser_of(make_member(merchant)), issued.key.public_key, issued.secret


def programs(browser: Client, language: str, folder: Path) -> dict[str, Path]:
    """Writes the programs of the page into the folder; returns them by their names without the ending."""
    page = browser.get(PAGE, {"language": language}).text
    found = re.findall(r'data-program="([^"]+)"><code>(.*?)</code></pre>', page, re.DOTALL)
    for name, code in found:
        (folder / name).write_text(unescape(code), encoding="utf-8")
    return {name.partition(".")[0]: folder / name for name, _ in found}


def run(language: str, program: Path, *arguments: str, **environment: str) -> str:
    done = subprocess.run(
        [RUNNERS[language], program.name, *arguments],
        cwd=program.parent, env={**os.environ, **environment}, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("language", HERE)
def test_a_payment_is_made_and_read(language: str, shop: tuple[Client, str, str], tmp_path: Path) -> None:
    browser, public_key, secret = shop
    found = programs(browser, language, tmp_path)
    assert public_key in found["create_payment"].read_text()
    assert secret not in browser.get(PAGE).text
    printed = run(language, found["create_payment"], BALLAST_SECRET_KEY=secret)
    payment = Payment.objects.get()
    assert payment.public_id in printed
    assert f"/pay/{payment.public_id}" in printed
    assert (payment.environment, payment.metadata) == ("sandbox", {"order": "1007"})
    read = run(language, found["read_payment"], payment.public_id, BALLAST_SECRET_KEY=secret)
    assert "created" in read
    assert "USDC" in read


@pytest.mark.parametrize("language", HERE)
def test_a_receiver_takes_what_is_genuine_and_refuses_the_rest(
    language: str, shop: tuple[Client, str, str], tmp_path: Path
) -> None:
    program, secret = programs(shop[0], language, tmp_path)["receive_webhook"], new_secret()
    taken = taken_by_the_shell if language == "curl" else partial(taken_by_a_server, language)
    assert taken(program, secret) == [True, True, False, False, False]


def taken_by_the_shell(program: Path, secret: str) -> list[bool]:
    found = []
    for headers, body in requests(secret):
        (program.parent / "body.json").write_bytes(body)
        done = subprocess.run(
            ["sh", program.name, *headers.values()],
            cwd=program.parent, env={**os.environ, "WEBHOOK_SECRET": secret},
            capture_output=True, text=True, check=False, timeout=120,
        )  # fmt: skip
        assert done.stdout.startswith("refused: " if done.returncode else "verified"), done.stderr
        found.append(done.returncode == 0)
    return found


def taken_by_a_server(language: str, program: Path, secret: str) -> list[bool]:
    port = free_port()
    serving = ["-S", f"127.0.0.1:{port}"] if language == "php" else []
    process = subprocess.Popen(
        [RUNNERS[language], *serving, program.name],
        cwd=program.parent, env={**os.environ, "PORT": str(port), "WEBHOOK_SECRET": secret},
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        ends_at = time.monotonic() + 120
        while not is_open(port):
            assert process.poll() is None
            assert time.monotonic() < ends_at
            time.sleep(0.05)
        statuses = [post(port, body, headers) for headers, body in requests(secret)]
        assert set(statuses) == {204, 400}
        return [status == 204 for status in statuses]
    finally:
        process.kill()
        process.wait()


def requests(secret: str) -> list[tuple[Mapping[str, str], bytes]]:
    """Signed, signed by two secrets; then altered, by another secret, and old."""
    now = int(time.time())
    signed = signed_headers([secret], message_id="evt_1", timestamp=now, body=BODY)
    rotated = signed_headers([new_secret(), secret], message_id="evt_1", timestamp=now, body=BODY)
    other = signed_headers([new_secret()], message_id="evt_1", timestamp=now, body=BODY)
    old = signed_headers([secret], message_id="evt_1", timestamp=now - 3600, body=BODY)
    return [(signed, BODY), (rotated, BODY), (signed, BODY + b" "), (other, BODY), (old, BODY)]


def is_open(port: int) -> bool:
    with socket.socket() as trial:
        return trial.connect_ex(("127.0.0.1", port)) == 0


def post(port: int, body: bytes, headers: Mapping[str, str]) -> int:
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("POST", "/", body, {"Content-Type": "application/json", **headers})
    status = connection.getresponse().status
    connection.close()
    return status


def test_the_key_that_is_filled_in_can_make_payments() -> None:
    merchant = make_merchant()
    browser = browser_of(make_member(merchant))
    fitting = make_key(merchant).key.public_key
    make_key(merchant, scopes=["payments:read"])
    make_key(merchant, allowed_networks=["192.0.2.0/24"])
    make_key(merchant, require_signature=True)
    make_key(merchant, Environment.PRODUCTION)
    page = browser.get(PAGE).text
    assert re.findall(r"pk_(?:test|live)_[A-Za-z0-9]{20,}", page).count(fitting) >= 3
    assert set(re.findall(r"pk_(?:test|live)_[A-Za-z0-9]{20,}", page)) == {fitting}


def test_another_language_is_a_link_and_an_unknown_one_is_the_first() -> None:
    browser = browser_of(make_member(make_merchant()))
    assert 'data-program="create_payment.mjs"' in browser.get(PAGE, {"language": "node"}).text
    assert 'data-program="create_payment.sh"' in browser.get(PAGE, {"language": "cobol"}).text
