"""The first recorded scenario: memos, every way a transaction can be rejected or fail, fee bumps, pages."""

from __future__ import annotations

import time

from stellar_sdk import Asset, HashMemo, IdMemo, ReturnHashMemo, TextMemo
from stellar_sdk.operation import ChangeTrust, CreateAccount, ManageData

from tests.stellar.scenarios.running import Scenario

NAMES = ("issuer", "recv", "alice", "bob", "carol", "nobody")


def run(scenario: Scenario) -> None:
    server = scenario.server
    scenario.note("root", server.root().call)
    scenario.note("fee_stats", server.fee_stats().call)
    scenario.note("ledgers", server.ledgers().order(desc=True).limit(2).call)
    make_accounts(scenario)
    send_memos(scenario)
    be_rejected(scenario)
    fail(scenario)
    batch_and_bump(scenario)
    use_trustlines(scenario)
    submit_otherwise(scenario)
    ask(scenario)


def make_accounts(scenario: Scenario) -> None:
    made = [CreateAccount(scenario.address(name), "100") for name in NAMES if name != "nobody"]
    scenario.submit("create", scenario.built("root", *made))
    for name in ("recv", "alice", "bob"):
        scenario.submit(f"trust_{name}", scenario.built(name, ChangeTrust(scenario.usdc)))
    scenario.submit("issue", scenario.built("issuer", scenario.pay("alice", "1000")))


def send_memos(scenario: Scenario) -> None:
    built, pay, submit = scenario.built, scenario.pay, scenario.submit
    submit("pay_text", built("alice", pay("recv", "12.5"), memo=TextMemo("INV-1")))
    submit("pay_id", built("alice", pay("recv", "1"), memo=IdMemo(2**63 + 5)))
    submit("pay_hash", built("alice", pay("recv", "2"), memo=HashMemo(b"\x01" * 32)))
    submit("pay_return", built("alice", pay("recv", "3"), memo=ReturnHashMemo(b"\x02" * 32)))
    submit("pay_nomemo", built("alice", pay("recv", "4")))
    submit("pay_muxed", built("alice", pay(scenario.muxed("recv", 77), "5")))
    submit("pay_text_bin", built("alice", pay("recv", "0.0000001"), memo=TextMemo(b"\xff\xfe\x00a")))
    once = built("alice", pay("recv", "6"))
    submit("pay_once", once)
    submit("pay_resubmit", once)
    scenario.kept["once"] = once


def be_rejected(scenario: Scenario) -> None:
    built, submit = scenario.built, scenario.submit
    one = scenario.pay("recv", "1")
    sequence = int(scenario.server.load_account(scenario.address("alice")).sequence)
    submit("bad_seq_high", built("alice", one, sequence=sequence + 5))
    submit("bad_seq_low", built("alice", one, sequence=sequence - 2))
    submit("too_late", built("alice", one, bounds=(0, 1000)))
    submit("too_early", built("alice", one, bounds=(int(time.time()) + 5000, 0)))
    submit("low_fee", built("alice", one, fee=10))
    submit("bad_auth", built("alice", one, signers=["bob"]))
    submit("bad_auth_extra", built("alice", one, signers=["alice", "bob"]))
    submit("no_source", built("nobody", one, sequence=1))


def fail(scenario: Scenario) -> None:
    built, pay, submit = scenario.built, scenario.pay, scenario.submit
    submit("no_trust", built("alice", pay("carol", "1")))
    submit("no_dest", built("alice", pay("nobody", "1")))
    submit("underfunded", built("alice", pay("recv", "99999")))
    submit("src_no_trust", built("carol", pay("recv", "1")))
    submit("batch_fail", built("alice", pay("recv", "1"), pay("carol", "1"), pay("recv", "2")))


def batch_and_bump(scenario: Scenario) -> None:
    built, pay, submit = scenario.built, scenario.pay, scenario.submit
    submit("batch_ok100", built("alice", *(pay("recv", "0.01") for _ in range(100))))
    bump = scenario.bumped("bob", 200, built("alice", pay("recv", "7")))
    submit("fee_bump", bump)
    submit("fee_bump_inner_resubmit", bump.transaction.inner_transaction_envelope)
    failing = scenario.bumped("bob", 200, built("alice", pay("carol", "7")))
    submit("fee_bump_fail", failing)
    scenario.kept["failing"] = failing


def use_trustlines(scenario: Scenario) -> None:
    built, pay, submit, nobody = scenario.built, scenario.pay, scenario.submit, scenario.address("nobody")
    submit("create_exists", built("root", CreateAccount(scenario.address("alice"), "5")))
    submit("create_low", built("root", CreateAccount(nobody, "0.5")))
    submit("trust_noissuer", built("alice", ChangeTrust(Asset("XX", nobody))))
    submit("trust_remove_bal", built("alice", ChangeTrust(scenario.usdc, limit="0")))
    submit("line_full_setup", built("bob", ChangeTrust(scenario.usdc, limit="10")))
    submit("line_full", built("alice", pay("bob", "11")))
    submit("native_under", built("carol", pay("recv", "99.9", Asset.native())))
    submit("burn", built("alice", pay("issuer", "1")))
    submit("memo_req_setup", built("bob", ManageData("config.memo_required", "1")))


def submit_otherwise(scenario: Scenario) -> None:
    scenario.post("malformed", {"tx": "AAAA"})
    scenario.horizon.network.closes_at_once = False
    envelope = scenario.built("alice", scenario.pay("recv", "8"))
    scenario.submit_async("async_ok", envelope)
    scenario.submit_async("async_dup", envelope)
    scenario.submit_async("async_badseq", scenario.built("alice", scenario.pay("recv", "8"), sequence=5))
    for _ in range(7):  # as many as closed until the next call
        scenario.horizon.close_ledger(1)
    scenario.horizon.network.closes_at_once = True


def ask(scenario: Scenario) -> None:
    server, note = scenario.server, scenario.note
    alice, receiver, nobody = (scenario.address(name) for name in ("alice", "recv", "nobody"))
    note("account_alice", server.accounts().account_id(alice).call)
    note("account_missing", server.accounts().account_id(nobody).call)
    note("account_bad", server.accounts().account_id("GABC").call)
    note("payments_join", server.payments().for_account(receiver).join("transactions").limit(5).call)
    note("payments_desc", server.payments().for_account(receiver).order(desc=True).limit(3).call)
    note("payments_failed", server.payments().for_account(receiver).include_failed(True).limit(200).call)
    note("payments_limit201", server.payments().for_account(receiver).limit(201).call)
    note("payments_badcursor", server.payments().for_account(receiver).cursor("abc").call)
    note("payments_now", server.payments().for_account(receiver).cursor("now").call)
    note("payments_missing", server.payments().for_account(nobody).call)
    note("payments_past_end", server.payments().for_account(receiver).cursor(str(2**62)).call)
    note("tx_get", server.transactions().transaction(scenario.kept["once"].hash_hex()).call)
    note("tx_missing", server.transactions().transaction("00" * 32).call)
    note("txs", server.transactions().for_account(alice).limit(2).call)
    note("txs_failed", server.transactions().for_account(alice).include_failed(True).limit(200).call)
    note("op_for_tx", server.payments().for_transaction(scenario.kept["once"].hash_hex()).call)
    note("ledger1", server.ledgers().ledger(1).call)
    note("effects", server.effects().for_account(receiver).limit(3).call)
    note("tx_feebump", server.transactions().transaction(scenario.kept["failing"].hash_hex()).call)
    scenario.answers["walk"] = len(walk(scenario))


def walk(scenario: Scenario) -> list[str]:
    """The tokens of all payments, page by page."""
    pages = scenario.server.payments().for_account(scenario.address("recv")).limit(7)
    page, tokens = pages.call(), []
    while records := page["_embedded"]["records"]:
        tokens += [each["paging_token"] for each in records]
        page = pages.next()
    return tokens
