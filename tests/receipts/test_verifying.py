"""Whether a receipt is genuine: the page, the script, and keys that change."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial
from html import unescape
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.utils import timezone
from pytest_django.fixtures import Settings

from payments.receipts import documents, keys, verify
from payments.receipts.models import ReceiptKey
from tests.receipts.scenes import KEYS, file_of, refunded_in_part, sent_back

pytestmark = pytest.mark.django_db

GENUINE = "This is the genuine receipt of a test: no real money"
VERIFIERS = [keys.verifies, verify.ed25519_verifies]


def published(now: datetime | None = None) -> list[dict[str, str]]:
    return verify.read_keys(json.dumps({"keys": keys.published_keys(now or timezone.now())}).encode())


def refusal(content: bytes, verifier: verify.Verifier = keys.verifies) -> str:
    """Why a receipt is refused; empty when it is genuine."""
    try:
        verify.verified(verify.read_receipt(content), published(), verifier)
    except verify.Unreadable:
        return "unreadable"
    except verify.NotGenuine as why:
        return why.why
    return ""


# --- tampering -----------------------------------------------------------------------------------------


def tampered(value: Any) -> Iterator[Any]:
    """The value with each part of it changed, taken away, doubled or renamed, one at a time."""
    if isinstance(value, str):
        yield from (value + "0", value[1:] if value else " ")
        return
    for place in value if isinstance(value, dict) else range(len(value)):
        for changed in tampered(value[place]):
            other = copy.copy(value)
            other[place] = changed
            yield other
        other = copy.copy(value)
        del other[place]
        yield other
    if isinstance(value, dict):
        yield value | {"added": "x"}
    else:
        yield [*value, *value[:1]] if value else ["x"]
        if len(value) > 1:
            yield value[::-1]


def test_whatever_is_changed_in_a_receipt_it_is_refused() -> None:
    refund_path = sent_back()[1]
    for content in (file_of(refunded_in_part()), Client().get(f"{refund_path}/receipt.json").content):
        assert [refusal(content, verifier) for verifier in VERIFIERS] == ["", ""]
        receipt = json.loads(content)
        variants = [json.dumps(each).encode() for each in tampered(receipt)]
        assert len(variants) > 90
        for variant in variants:
            assert refusal(variant), variant
        for variant in variants[::7]:
            assert refusal(variant, verify.ed25519_verifies) == refusal(variant)


def test_what_has_two_readings_or_is_not_whole_is_no_receipt() -> None:
    content = file_of(refunded_in_part())
    in_another_order = json.dumps(json.loads(content), sort_keys=True).encode()
    assert refusal(b"\xef\xbb\xbf" + content) == refusal(in_another_order) == ""
    deep = b'{"payload":' + b"[" * 90_000
    for broken in (
        b"", b"null", b"[]", b"{}", b"\xff", content[:-2], content[: len(content) // 2], content + b"{}", deep,
        content.replace(b'"key"', b'"key":"0","key"', 1),
        content.replace(b'"kind": "payment"', b'"kind": "refund", "kind": "payment"', 1),
        content.replace(b'"kind": "payment"', b'"kind": 1', 1), content.replace(b'"payment"', b"NaN", 1),
        content.replace(b"Harbour", b"\\ud800", 1), content.replace(b'"payment"', b'[[[[[[[["payment"]]]]]]]]', 1),
        content + b" " * verify.MOST_BYTES, content.replace(b"ballast-receipt-1", b"ballast-receipt-2"),
    ):  # fmt: skip
        assert refusal(broken) == "unreadable", broken[:80]


# --- the keys ------------------------------------------------------------------------------------------


def test_a_receipt_is_genuine_for_ever_although_the_year_ends_and_the_secret_is_changed(settings: Settings) -> None:
    payment = refunded_in_part()
    assert [each["validFrom"][:4] for each in published()] == [f"{timezone.now():%Y}"]  # before it has signed

    def receipt_at(instant: str) -> tuple[str, bytes]:
        payload = documents.payment_payload(payment, datetime.fromisoformat(instant))
        assert payload is not None
        receipt = documents.sign(payload)
        return receipt["key"], json.dumps(receipt).encode()

    old_key, old = receipt_at("2027-12-31T23:59:59Z")
    new_key, new = receipt_at("2028-01-01T00:00:00Z")
    first_secret, settings.SECRET_KEY = settings.SECRET_KEY, "another secret of fifty characters at the very least"
    other_key, other = receipt_at("2028-01-01T00:00:00Z")
    assert len({old_key, new_key, other_key}) == 3
    assert [refusal(each) for each in (old, new, other)] == ["", "", ""]
    assert {each["id"] for each in published()} >= {old_key, new_key, other_key}
    valid = {each["id"]: (each["validFrom"][:10], each["validUntil"][:10]) for each in published()}
    assert (valid[old_key], valid[other_key]) == (("2027-01-01", "2028-01-01"), ("2028-01-01", "2029-01-01"))
    settings.SECRET_KEY = first_secret
    ReceiptKey.objects.all().delete()  # a backup of before: the same secret gives the same keys again
    assert receipt_at("2028-01-01T00:00:00Z")[0] == new_key
    assert refusal(new) == ""
    assert refusal(other) == "unknown_key"


def test_a_key_signs_for_its_own_year_only() -> None:
    payload = documents.payment_payload(refunded_in_part(), datetime(2027, 5, 1, tzinfo=UTC))
    assert payload is not None
    key_id, private = keys.signing_key(datetime(2028, 5, 1, tzinfo=UTC))
    signature = private.sign(verify.signed_bytes(payload)).hex()
    forged = {"format": verify.FORMAT, "key": key_id, "payload": payload, "signature": signature}
    assert refusal(json.dumps(forged).encode()) == "out_of_time"


# --- the page ------------------------------------------------------------------------------------------


def checked(content: bytes | str) -> Any:
    """The page's reply to an upload, or to pasted text."""
    file = content if isinstance(content, str) else SimpleUploadedFile("receipt.json", content)
    return Client(enforce_csrf_checks=True).post("/receipts/verify", {"text" if file is content else "file": file})


def test_the_page_shows_what_a_genuine_receipt_says_and_nothing_of_any_other() -> None:
    content = file_of(refunded_in_part())
    payload = json.loads(content)["payload"]
    for given in (content, content.decode()):
        text = unescape(checked(given).text)
        assert GENUINE in text
        for _, words in documents.lines_of(payload):
            assert words in text
    mark = "<b>Shop of a swindler</b>"
    forged = content.replace(b"Harbour Coffee", mark.encode())
    stranger = json.loads(forged)
    stranger["key"] = "0" * 16
    for given, words in (
        (forged, "Something in it was changed"),
        (json.dumps(stranger).encode(), "with a key that this service never had"),
        (forged[:-9], "This cannot be read as a receipt"),
        (forged + b" " * 300_000, "This cannot be read as a receipt"),
    ):
        text = unescape(checked(given).text)
        assert words in text
        assert "genuine receipt of a test" not in text
        for said in ("swindler", payload["reference"], "100.00", payload["address"]):
            assert said not in text
    empty = checked("")
    assert (empty.status_code, empty.cookies) == (400, {})
    assert "Choose a file, or paste the text of a receipt." in empty.text
    assert "It does not show who paid" in unescape(Client().get("/receipts/verify").text)


def test_only_a_receipt_of_real_money_is_called_genuine_without_more() -> None:
    payload = documents.payment_payload(refunded_in_part(), timezone.now())
    assert payload is not None
    content = json.dumps(documents.sign(payload | {"environment": "production"})).encode()
    text = checked(content).text
    assert "This receipt is genuine" in text
    assert "no real money" not in text


def test_whoever_checks_too_many_waits() -> None:
    replies = [checked("{}").status_code for _ in range(21)]
    assert replies == [200] * 20 + [429]
    assert Client().get("/receipts/verify").status_code == 200


# --- the script, as people run it ----------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path, settings: Settings) -> Iterator[Path]:
    """The script, a receipt and the keys as files, and the keys at the address that the script was written with."""
    handler = partial(SimpleHTTPRequestHandler, directory=str(tmp_path))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        settings.PUBLIC_URL = f"http://127.0.0.1:{server.server_port}"
        (tmp_path / "receipt.json").write_bytes(file_of(refunded_in_part()))
        (tmp_path / "verify.py").write_bytes(Client().get("/receipts/verify.py").content)
        (tmp_path / ".well-known").mkdir()
        for path in ("keys.json", KEYS.removeprefix("/")):
            (tmp_path / path).write_bytes(Client().get(KEYS).content)
        yield tmp_path
        server.shutdown()


def run(folder: Path, receipt: bytes | str, *arguments: str) -> tuple[int, str]:
    if isinstance(receipt, bytes):
        (folder / "other.json").write_bytes(receipt)
        receipt = "other.json"
    command = [sys.executable, "-I", "verify.py", receipt, *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, env={})
    assert "Traceback" not in done.stderr
    return done.returncode, done.stdout


def test_the_script_tells_genuine_from_forged_receipts(folder: Path) -> None:
    content = (folder / "receipt.json").read_bytes()
    code, said = run(folder, "receipt.json")
    assert code == 0
    assert said.startswith("A TEST: no real money has moved.\nGENUINE: signed with the key ")
    assert '"merchant": "Harbour Coffee"' in said
    with_keys = ("--keys", "keys.json")
    assert run(folder, "receipt.json", *with_keys)[0] == 0
    assert run(folder, content.replace(b"Harbour", b"Harbor"), *with_keys) == (
        1, f"NOT GENUINE: {verify.WHY['changed']}\n",
    )  # fmt: skip
    stranger = Ed25519PrivateKey.generate()
    receipt = json.loads(content)
    receipt["signature"] = stranger.sign(verify.signed_bytes(receipt["payload"])).hex()
    assert run(folder, json.dumps(receipt).encode(), *with_keys)[0] == 1
    receipt["key"] = "0" * 16
    assert run(folder, json.dumps(receipt).encode(), *with_keys) == (1, f"NOT GENUINE: {verify.WHY['unknown_key']}\n")
    for broken in (content[:-3], content[:100], b"", b"[" * 100_000, content + b" " * 300_000, "nothing.json"):
        code, said = run(folder, broken, *with_keys)
        assert (code, said[:12]) == (2, "NOT CHECKED:"), said
    assert "must begin with https" in run(folder, "receipt.json", "--keys", "http://example.com/keys")[1]
    for place in ("nothing.json", "receipt.json", "http://127.0.0.1:9/keys", "verify.py"):
        assert run(folder, "receipt.json", "--keys", place)[0] == 2, place


def test_the_script_prints_no_character_that_a_terminal_obeys(folder: Path) -> None:
    payload = documents.payment_payload(refunded_in_part(), timezone.now())
    assert payload is not None
    receipt = documents.sign(payload | {"merchant": "\x1b[2J\x9b2J\u202eShop é"})
    code, said = run(folder, json.dumps(receipt).encode(), "--keys", "keys.json")
    assert code == 0
    assert "\\x9b2J\\u202eShop " in said
    assert not {"\x1b", "\x9b", "\u202e"} & {*said}


# Of RFC 8032, section 7.1: secret and public keys, messages, signatures.
VECTORS = [
    (
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a", "",
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
    ),
    (
        "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c", "72",
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
    ),
    (
        "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025", "af82",
        "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a",
    ),
]  # fmt: skip


def test_the_script_verifies_as_rfc_8032_says() -> None:
    for public, message, signature in VECTORS:
        given = [bytes.fromhex(each) for each in (public, message, signature)]
        assert verify.ed25519_verifies(*given)
        for place in (0, 2):  # a bit of the key, and of either half of the signature
            for byte in (0, len(given[place]) - 1):
                other = list(given)
                other[place] = given[place][:byte] + bytes([given[place][byte] ^ 1]) + given[place][byte + 1 :]
                assert not verify.ed25519_verifies(*other)
        larger = int.from_bytes(given[2][32:], "little") + verify.L  # the same signature, written otherwise
        assert not verify.ed25519_verifies(given[0], given[1], given[2][:32] + larger.to_bytes(32, "little"))


LOW_ORDER = [
    (1).to_bytes(32, "little"), bytes(32), (verify.P - 1).to_bytes(32, "little"),
    bytes.fromhex("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05"),
]  # fmt: skip
NO_POINTS = [
    (verify.P + 1).to_bytes(32, "little"), (1 | 1 << 255).to_bytes(32, "little"), (2).to_bytes(32, "little"),
]  # fmt: skip
"""Two other encodings of the neutral point, and what is not on the curve."""


@pytest.mark.parametrize("public", [*LOW_ORDER, *NO_POINTS, b"short"])
def test_a_key_for_which_anybody_can_sign_is_refused(public: bytes) -> None:
    anybody = (1).to_bytes(32, "little") + bytes(32)  # R is the neutral point, S is 0
    assert not any(verify.ed25519_verifies(public, message, anybody) for message in (b"a", b"b", b"c", b"d"))
    assert (verify.decoded(public) is None) == (public in NO_POINTS) or public == b"short"
