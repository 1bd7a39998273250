"""Where secrets are, and where they are not: shown once, encrypted in the database, never in a log."""

from __future__ import annotations

import base64
import logging
from datetime import timedelta
from io import StringIO

import pytest
from django.apps import apps
from django.core.management import CommandError, call_command
from django.db import connection
from django.utils import timezone
from pytest_django.fixtures import Settings

from merchants.models import IdempotencyRecord, Merchant
from tests.factories import make_merchant
from tests.webhooks.scenes import (
    PRODUCTION,
    SANDBOX,
    URL,
    client_of,
    current,
    make_delivery,
    make_endpoint,
    make_event,
    send_due,
)
from webhooks.endpoints.secrets import SecretUnreadable, decrypt, encrypt, live_secrets, new_secret, owner_of, reencrypt
from webhooks.endpoints.signing import secret_bytes
from webhooks.models import Endpoint, SigningSecret
from webhooks.sending.due_deliveries import take_due
from webhooks.sending.fan_out import fan_out
from webhooks.sending.preparing import Preparation
from webhooks.services import account_secret, delete_endpoint, rotate_account_secret, rotate_secret

# --- at rest -----------------------------------------------------------------------------------------


def test_a_secret_comes_back_only_with_its_key_its_owner_and_all_its_bytes(settings: Settings) -> None:
    secret = new_secret()
    blob = encrypt(secret, owner="endpoint 1")
    assert decrypt(blob, owner="endpoint 1") == secret
    assert decrypt(memoryview(blob), owner="endpoint 1") == secret
    for place in range(len(blob)):
        damaged = bytearray(blob)
        damaged[place] ^= 1
        with pytest.raises(SecretUnreadable):
            decrypt(bytes(damaged), owner="endpoint 1")
    for wrong in (b"", blob[:1], blob[:20], blob[:-1], blob + b"\0"):
        with pytest.raises(SecretUnreadable):
            decrypt(wrong, owner="endpoint 1")
    with pytest.raises(SecretUnreadable):
        decrypt(blob, owner="endpoint 2")
    settings.WEBHOOK_ENCRYPTION_KEY = "another key"
    with pytest.raises(SecretUnreadable):
        decrypt(blob, owner="endpoint 1")


def test_a_secret_under_a_fallback_is_read_and_new_ones_are_under_the_first_key(settings: Settings) -> None:
    old_key, secret = settings.WEBHOOK_ENCRYPTION_KEY, new_secret()
    blob = encrypt(secret, owner="endpoint 1")
    settings.WEBHOOK_ENCRYPTION_KEY = "a new key"
    settings.WEBHOOK_ENCRYPTION_KEY_FALLBACKS = ["an even older key", old_key]
    assert decrypt(blob, owner="endpoint 1") == secret
    for wrong_owner_or_bytes in ((blob, "endpoint 2"), (blob[:-1], "endpoint 1"), (b"", "endpoint 1")):
        with pytest.raises(SecretUnreadable):
            decrypt(wrong_owner_or_bytes[0], owner=wrong_owner_or_bytes[1])
    fresh, renewed = encrypt(secret, owner="endpoint 1"), reencrypt(blob, owner="endpoint 1")
    assert reencrypt(renewed, owner="endpoint 1") == renewed
    settings.WEBHOOK_ENCRYPTION_KEY_FALLBACKS = []
    assert decrypt(fresh, owner="endpoint 1") == decrypt(renewed, owner="endpoint 1") == secret
    with pytest.raises(SecretUnreadable):
        decrypt(blob, owner="endpoint 1")


def test_the_same_secret_is_never_stored_the_same_way() -> None:
    secret = new_secret()
    assert len({encrypt(secret, owner="endpoint 1") for _ in range(100)}) == 100


def whole_database() -> bytes:
    """Every value of every table of ours as PostgreSQL prints it; bytes as hexadecimal digits."""
    dump = []
    with connection.cursor() as cursor:
        for model in apps.get_models():
            cursor.execute(f'SELECT row_to_json(t)::text FROM "{model._meta.db_table}" AS t')  # noqa: S608
            dump += [row[0] for row in cursor.fetchall()]
    return "\n".join(dump).encode()


@pytest.mark.django_db
def test_the_database_holds_no_secret_in_the_clear() -> None:
    merchant = make_merchant()
    client = client_of(merchant)
    shown: list[str] = []
    for method, path in [
        ("POST", "/webhooks"),
        ("POST", "/webhooks/{id}/rotate"),
        ("POST", "/webhooks/signing-secret/rotate"),
        ("POST", "/webhooks/signing-secret/rotate"),
    ]:
        where = path.format(id=Endpoint.objects.get().public_id) if "{id}" in path else path
        body = {"url": URL} if path == "/webhooks" else {}
        key = {"Idempotency-Key": f"{path} {len(shown)}"}
        replies = [client.call(method, where, json_body=body, headers=key) for _ in range(2)]
        assert replies[0].content == replies[1].content, "asked again, it is answered with the same secret"
        shown.append(replies[0].json()["secret"])
    assert len(set(shown)) == 4
    assert IdempotencyRecord.objects.count() == 4
    database = whole_database()
    assert Endpoint.objects.get().public_id.encode() not in database, "public ids are written as keys"
    assert str(Endpoint.objects.get().pk).encode() in database
    for secret in shown:
        spellings = [secret.encode(), secret.removeprefix("whsec_").encode(), secret_bytes(secret)]
        for spelling in spellings:
            assert spelling not in database
            assert spelling.hex().encode() not in database
            assert base64.b64encode(spelling) not in database


# --- shown once --------------------------------------------------------------------------------------


@pytest.mark.django_db
def test_no_reply_holds_a_secret_but_create_and_rotate() -> None:
    merchant = make_merchant()
    client = client_of(merchant)
    created = client.call("POST", "/webhooks", json_body={"url": URL}).json()
    path = f"/webhooks/{created['id']}"
    rotated = client.call("POST", f"{path}/rotate", json_body={}).json()
    assert rotated["secret"] != created["secret"]
    delivery = client.call("POST", f"{path}/test", json_body={}).json()
    send_due()
    replies = [
        client.call("GET", "/webhooks"),
        client.call("GET", path),
        client.call("PATCH", path, json_body={"description": "x"}),
        client.call("GET", "/events"),
        client.call("GET", f"/events/{delivery['event']}"),
        client.call("GET", "/deliveries"),
        client.call("GET", f"/deliveries/{delivery['id']}"),
        client.call("POST", f"/deliveries/{delivery['id']}/redeliver", json_body={}),
        client.call("POST", f"{path}/replay", json_body={"createdGte": "2026-01-01", "createdLte": "2199-01-01"}),
        client.call("DELETE", path),
    ]
    for reply in replies:
        assert reply.status_code == 200
        assert b"whsec_" not in reply.content
        assert b'"secret"' not in reply.content


@pytest.mark.django_db
def test_no_log_holds_a_secret(caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]) -> None:
    client = client_of(make_merchant())
    with caplog.at_level(logging.DEBUG):
        created = client.call("POST", "/webhooks", json_body={"url": URL}).json()
        rotated = client.call("POST", f"/webhooks/{created['id']}/rotate", json_body={}).json()
        client.call("POST", f"/webhooks/{created['id']}/rotate", json_body={"secret": rotated["secret"]})
        make_delivery(Endpoint.objects.get())
        send_due()
    written = caplog.text + "".join(capfd.readouterr())
    assert not [secret for secret in (created["secret"], rotated["secret"]) if secret in written]


# --- rotation ----------------------------------------------------------------------------------------


@pytest.mark.django_db
def test_a_rotation_keeps_the_secret_before_for_a_day_and_no_more_than_one() -> None:
    endpoint = make_endpoint()
    [first] = live_secrets(endpoint, timezone.now())
    reply = client_of(endpoint.merchant).call("POST", f"/webhooks/{endpoint.public_id}/rotate", json_body={})
    second = reply.json()["secret"]
    endpoint = current(endpoint)
    expires_at = endpoint.previous_secret_expires_at
    assert expires_at is not None
    assert timedelta(hours=23, minutes=59) < expires_at - timezone.now() <= timedelta(hours=24)
    assert reply.json()["previousSecretExpiresAt"][:19] == expires_at.isoformat()[:19]
    assert live_secrets(endpoint, timezone.now()) == [second, first]
    assert live_secrets(endpoint, expires_at) == [second]
    endpoint, third = rotate_secret(endpoint=endpoint)
    assert live_secrets(current(endpoint), timezone.now()) == [third, second]


@pytest.mark.django_db
def test_a_secret_moved_to_another_endpoint_is_unreadable() -> None:
    mine, yours = make_endpoint(), make_endpoint()
    mine.secret_encrypted = yours.secret_encrypted
    with pytest.raises(SecretUnreadable):
        live_secrets(mine, timezone.now())


# --- another key of the installation -----------------------------------------------------------------


@pytest.mark.django_db
def test_a_key_is_replaced_without_a_new_secret(settings: Settings) -> None:
    endpoint, deleted, other = rotate_secret(endpoint=make_endpoint())[0], make_endpoint(), make_endpoint()
    delete_endpoint(endpoint=deleted)
    account = account_secret(merchant_id=endpoint.merchant_id, environment=SANDBOX)
    rotate_account_secret(merchant=endpoint.merchant, environment=SANDBOX)
    holders: list[Endpoint | SigningSecret] = [endpoint, deleted, other, account]

    def readable() -> list[list[str]]:
        for holder in holders:
            holder.refresh_from_db()
        return [live_secrets(holder, timezone.now()) for holder in holders]

    before = readable()
    assert [len(secrets) for secrets in before] == [2, 1, 1, 2]
    settings.WEBHOOK_ENCRYPTION_KEY_FALLBACKS = [settings.WEBHOOK_ENCRYPTION_KEY]
    settings.WEBHOOK_ENCRYPTION_KEY = "a new key"
    assert readable() == before
    assert run_reencryption() == "4 re-encrypted, 0 were current."
    assert run_reencryption() == "0 re-encrypted, 4 were current."
    settings.WEBHOOK_ENCRYPTION_KEY_FALLBACKS = []
    assert readable() == before


@pytest.mark.django_db
def test_what_no_key_reads_is_told_and_left_alone(settings: Settings) -> None:
    lost = make_endpoint()
    settings.WEBHOOK_ENCRYPTION_KEY, old_key = "a new key", settings.WEBHOOK_ENCRYPTION_KEY
    make_endpoint()
    with pytest.raises(CommandError, match="1 cannot be read under any of the keys"):
        run_reencryption()
    stored = current(lost).secret_encrypted
    assert stored is not None
    assert bytes(stored) == lost.secret_encrypted
    settings.WEBHOOK_ENCRYPTION_KEY_FALLBACKS = [old_key]
    assert run_reencryption() == "1 re-encrypted, 1 were current."


def run_reencryption() -> str:
    output = StringIO()
    call_command("reencrypt_webhook_secrets", stdout=output, no_color=True)
    return output.getvalue().strip()


# --- the account's secret ----------------------------------------------------------------------------


def secrets_of(merchant: Merchant, environment: str = SANDBOX) -> list[str]:
    return live_secrets(account_secret(merchant_id=merchant.pk, environment=environment), timezone.now())


@pytest.mark.django_db
def test_an_account_has_one_secret_in_each_environment_made_when_it_is_first_asked_for() -> None:
    merchant = make_merchant()
    assert not SigningSecret.objects.exists()
    assert secrets_of(merchant) == secrets_of(merchant)
    others = [secrets_of(merchant, PRODUCTION), secrets_of(make_merchant())]
    assert len({*secrets_of(merchant), *others[0], *others[1]}) == 3
    assert SigningSecret.objects.count() == 3
    held = SigningSecret.objects.get(merchant=merchant, environment=SANDBOX)
    assert owner_of(held) == f"merchant {merchant.pk} sandbox"


@pytest.mark.django_db
def test_the_account_s_secret_is_shown_by_rotating_it() -> None:
    merchant = make_merchant()
    before = secrets_of(merchant)
    elsewhere = secrets_of(merchant, PRODUCTION)
    reply = client_of(merchant).call("POST", "/webhooks/signing-secret/rotate", json_body={})
    record = reply.json()
    assert reply.status_code == 200
    assert (record["object"], record["environment"]) == ("signing_secret", "sandbox")
    assert secrets_of(merchant) == [record["secret"], *before]
    assert secrets_of(merchant, PRODUCTION) == elsewhere
    secret, expires_at = rotate_account_secret(merchant=merchant, environment=SANDBOX)
    held = account_secret(merchant_id=merchant.pk, environment=SANDBOX)
    assert live_secrets(held, timezone.now()) == [secret, record["secret"]]
    assert live_secrets(held, expires_at) == [secret]


@pytest.mark.django_db
def test_what_goes_to_a_payment_s_own_address_is_signed_with_the_account_s_secret() -> None:
    merchant = make_merchant()
    make_endpoint(merchant)
    event = make_event(merchant, direct_url="https://shop.example.com/one-payment")
    fan_out()
    due = take_due(1, limit=10, probes=10, now=timezone.now())
    prepared = Preparation().prepare(due, now=timezone.now())
    targets = {each.target.url: each.target for each in prepared}
    assert targets["https://shop.example.com/one-payment"].secrets == tuple(secrets_of(merchant))
    assert targets[URL].secrets != tuple(secrets_of(merchant))
    assert {each.message.id for each in prepared} == {event.public_id}
