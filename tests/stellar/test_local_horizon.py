"""The local Horizon, driven by the library's own client as it is."""

from __future__ import annotations

import json
from http.client import HTTPConnection

import pytest
import requests
from django.core.management import CommandError, call_command
from stellar_sdk import (
    FeeBumpTransactionEnvelope,
    Keypair,
    MuxedAccount,
    Server,
    TransactionBuilder,
    TransactionEnvelope,
)
from stellar_sdk.client.requests_client import RequestsClient
from stellar_sdk.exceptions import BaseHorizonError
from stellar_sdk.operation import Payment

from tests.stellar.network import client, keys
from tests.stellar.network.horizon import LocalHorizon
from tests.stellar.network.preparing import prepare

pytestmark = pytest.mark.slow

PAYER, RECEIVER = Keypair.random(), Keypair.random()


@pytest.fixture
def server(horizon: LocalHorizon) -> Server:
    horizon.mint("USDC", PAYER.public_key, 1000 * 10**7)
    horizon.mint("USDC", RECEIVER.public_key, 1)
    horizon.sync_seconds = 0.2
    return Server(horizon.url, RequestsClient(num_retries=0))


def paid(
    horizon: LocalHorizon, *destinations: str, memo: str | int | None = None, fee: int = 100
) -> TransactionEnvelope:
    """A payment of one USDC to each."""
    operations = [Payment(each, horizon.asset("USDC"), "1") for each in destinations or (RECEIVER.public_key,)]
    return horizon.envelope(PAYER, *operations, memo=memo, fee=fee)


def bumped(horizon: LocalHorizon, inner: TransactionEnvelope, fee: int) -> FeeBumpTransactionEnvelope:
    found = TransactionBuilder.build_fee_bump_transaction(RECEIVER, fee, inner, horizon.network.passphrase)
    found.sign(RECEIVER)
    return found


def handed(server: Server, envelope: TransactionEnvelope | FeeBumpTransactionEnvelope) -> tuple[int, str]:
    """HTTP status and `tx_status` of handing it to `/transactions_async`."""
    try:
        return 201, str(server.submit_transaction_async(envelope)["tx_status"])
    except BaseHorizonError as error:
        return error.status, json.loads(error.message)["tx_status"]


def test_one_transaction_of_each_account_waits_and_a_fee_bump_replaces_it(
    horizon: LocalHorizon, server: Server
) -> None:
    first, second = paid(horizon), paid(horizon, memo=1)
    assert [handed(server, each) for each in (first, first, second)] == [
        (201, "PENDING"),
        (409, "DUPLICATE"),
        (503, "TRY_AGAIN_LATER"),
    ]
    assert handed(server, bumped(horizon, first, 999)) == (400, "ERROR")
    bump = bumped(horizon, first, 1000)
    assert handed(server, bump) == (201, "PENDING")
    horizon.close_ledger()
    for digest in (bump.hash_hex(), first.hash_hex()):
        found = server.transactions().transaction(digest).call()
        assert (found["hash"], found["fee_charged"], found["max_fee"]) == (digest, "200", "2000")
    (record,) = server.payments().for_transaction(first.hash_hex()).call()["_embedded"]["records"]
    assert (record["transaction_hash"], record["amount"]) == (bump.hash_hex(), "1.0000000")
    assert handed(server, first) == (400, "ERROR")  # core knows no history: the sequence number is used


def test_too_low_an_offer_waits_out_a_surge_and_is_dropped(horizon: LocalHorizon, server: Server) -> None:
    envelope = paid(horizon)
    horizon.surge(5_000)
    assert server.fee_stats().call()["fee_charged"]["p50"] == "5000"
    assert handed(server, envelope) == (201, "PENDING")
    for _ in range(4):
        horizon.close_ledger()
    assert handed(server, envelope) == (503, "TRY_AGAIN_LATER")
    richer = paid(horizon, fee=6_000)
    assert handed(server, richer) == (201, "PENDING")
    horizon.close_ledger()
    assert server.transactions().transaction(richer.hash_hex()).call()["fee_charged"] == "5000"


def test_history_before_the_elder_ledger_is_gone_without_a_word(horizon: LocalHorizon, server: Server) -> None:
    horizon.pay(PAYER, RECEIVER.public_key, "USDC", 1)
    kept = horizon.network.state.ledger
    horizon.reap_history(kept)
    of_receiver = server.payments().for_account(RECEIVER.public_key)
    assert len(of_receiver.cursor(1).call()["_embedded"]["records"]) == 1
    assert server.root().call()["history_elder_ledger"] == kept
    for gone in (server.ledgers().ledger(kept - 1), of_receiver.cursor(1).order(desc=True)):
        with pytest.raises(BaseHorizonError) as raised:
            gone.call()
        assert raised.value.status == 410


def test_knobs_work_from_another_process(horizon: LocalHorizon, server: Server) -> None:
    def turn(knob: str, **arguments: str | int) -> requests.Response:
        return requests.post(f"{horizon.url}/_local/{knob}", json=arguments, timeout=60)

    assert turn("pay", sender=PAYER.secret, destination=RECEIVER.public_key, code="USDC", stroops=5, memo=7).ok
    (record,) = (
        server.payments()
        .for_account(PAYER.public_key)
        .order()
        .limit(1)
        .join("transactions")
        .call()["_embedded"]["records"]
    )
    assert (record["amount"], record["transaction"]["memo_type"]) == ("0.0000005", "id")
    assert turn("deauthorise", account=RECEIVER.public_key, code="USDC").ok
    assert turn("clawback", account=PAYER.public_key, code="USDC", stroops=10**7).ok
    assert horizon.balance(PAYER.public_key, "USDC") == 999 * 10**7 - 5
    envelope = paid(horizon, memo="text")
    assert turn("try_again_later", times=1).ok
    assert handed(server, envelope) == (503, "TRY_AGAIN_LATER")
    assert turn("drop_after_accept").ok
    with pytest.raises(Exception, match="Remote end closed"):
        server.submit_transaction_async(envelope)
    assert turn("close_ledger", seconds=400).json()["result"] == horizon.network.state.ledger
    found = server.transactions().transaction(envelope.hash_hex()).call()
    assert (found["successful"], found["memo"]) == (False, "text")  # the receiver is frozen
    assert turn("answer_next", status=429, path="/fee_stats").ok
    with pytest.raises(BaseHorizonError) as raised:
        server.fee_stats().call()
    assert raised.value.status == 429
    assert (turn("start").status_code, turn("mint", code="USDC").status_code) == (404, 400)


def test_devnet_pays_from_the_command_line(
    horizon: LocalHorizon, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    prepare(horizon)
    monkeypatch.setattr(client, "URL", horizon.url)
    muxed = MuxedAccount(keys.HOT_WALLET, 77).account_muxed or ""
    link = f"web+stellar:pay?destination={muxed}&amount=12.5&asset_code=USDC&asset_issuer={keys.ISSUERS['USDC']}"
    call_command("devnet_pay", link)
    call_command("devnet_pay", keys.HOT_WALLET, "1", "DAI", "--memo", "5")
    for sent, expected in zip(
        capsys.readouterr().out.split(), [("12.5000000", "77", "none"), ("1.0000000", None, "id")], strict=True
    ):
        (paid,) = (
            Server(horizon.url).payments().for_transaction(sent).join("transactions").call()["_embedded"]["records"]
        )
        assert (paid["amount"], paid.get("to_muxed_id"), paid["transaction"]["memo_type"]) == expected
    for arguments, said in (
        ((keys.HOT_WALLET, "1"), "how much of which coin"),
        ((keys.HOT_WALLET, "2000000", "DAI"), "op_underfunded"),
        (("0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC", "1", "DAI"), "On which network"),
    ):
        with pytest.raises(CommandError, match=said):
            call_command("devnet_pay", *arguments)


@pytest.mark.parametrize(("method", "path"), [("GET", "/"), ("POST", "/transactions_async")])
def test_a_connection_outlives_a_fault(horizon: LocalHorizon, method: str, path: str) -> None:
    """Else the next question, sent while the server still closes, gets no answer, and only sometimes."""
    horizon.answer_next(503)
    kept = HTTPConnection(horizon.url.removeprefix("http://"))
    for asked, status in (((method, path, "tx=" if method == "POST" else None), 503), (("GET", "/"), 200)):
        kept.request(*asked)
        reply = kept.getresponse()
        reply.read()
        assert reply.status == status
    kept.close()
