"""The hot wallets against the ledger at one height, and the operator's coins on their way into the ledger."""

from __future__ import annotations

import io
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection, transaction

from merchants.ledger.balances import balance
from merchants.ledger.chart import AccountKind
from merchants.ledger.checking import CouldNotCheck, Finding, Scope, Severity
from merchants.ledger.models import Posting
from merchants.ledger.posting import AccountRef, Line, post
from payments import tasks
from payments.chains import registry
from payments.chains.simulated import control
from payments.deposits.watching import watch_network
from payments.models import Deposit, Discrepancy
from payments.states import DiscrepancyStatus
from payments.transfers.audit.wallet_snapshot import take_wallet_snapshots, wallet_snapshots
from payments.transfers.models import Transfer
from payments.treasury.wallet_balances import (
    NothingToBook,
    WalletBalance,
    book_treasury,
    treasury_balance,
    wallet_findings,
)
from tests.factories import make_merchant
from tests.payments.scenes import (
    BLOCKS_UNTIL_FINAL,
    ETHEREUM,
    POLYGON,
    SANDBOX,
    STELLAR,
    assert_all_is_well,
    make_payment,
    mine,
    pay,
    pay_and_confirm,
    pay_without_memo,
    watch,
)
from tests.transfers import scenes as transfers
from tests.worlds import populated_once

pytestmark = pytest.mark.django_db(transaction=True)

COIN = {ETHEREUM: 10**6, POLYGON: 10**6, STELLAR: 10**7}


def findings(network: str | None = None, *, at_block: int | None = None) -> list[Finding]:
    scope = Scope(network=network)
    return [finding for snapshot in wallet_snapshots(scope) for finding in wallet_findings(snapshot, at_block=at_block)]


def told(network: str | None = None, *, at_block: int | None = None) -> list[tuple[str, int | None, str]]:
    """Coins, differences and severities."""
    found = findings(network, at_block=at_block)
    return [(each.asset or "", each.delta, each.severity or Severity.ERROR) for each in found]


def hot_wallet(network: str) -> str:
    return registry.chain(SANDBOX, network).payout_address()


def put_in(network: str, coins: int, code: str = "USDC") -> None:
    """The operator sends coins to the hot wallet."""
    control.fund(network, address=hot_wallet(network), code=code, amount=coins * COIN[network])
    mine(network, BLOCKS_UNTIL_FINAL[network])


def book(network: str, code: str = "USDC", **options: str) -> str:
    out = io.StringIO()
    given = [word for name, value in options.items() for word in (f"--{name}", value)]
    call_command("book_treasury", "--env", SANDBOX, "--network", network, "--asset", code, "--yes", *given, stdout=out)
    return out.getvalue()


def treasury(network: str, code: str = "USDC") -> int:
    return balance(AccountRef(network, code, AccountKind.TREASURY), environment=SANDBOX)


def vandalise(sql: str, *parameters: Any) -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")
        cursor.execute(sql, parameters)


@pytest.fixture
@populated_once
def busy(db: None) -> None:
    """Deposits on stellar, where they arrive at the hot wallet, and payouts on two networks; all is booked."""
    for network in (ETHEREUM, STELLAR):
        put_in(network, 1_000)
        watch()
        book(network)
    merchant = make_merchant()
    for amount in ("10", "20"):
        pay_and_confirm(make_payment(STELLAR, amount=amount, merchant=merchant))
    pay_and_confirm(make_payment(ETHEREUM, merchant=merchant))
    pay_without_memo(make_payment(STELLAR, merchant=merchant), "3")
    mine(STELLAR)
    watch()
    for network in (ETHEREUM, STELLAR):
        transfers.ask(network, 5 * COIN[network])
        transfers.finish(network)
    watch()
    assert told() == []


class TestComparing:
    def test_clean_wallets_are_clean(self, busy: None) -> None:
        assert told() == []

    def test_missing_coins_are_an_error(self, busy: None) -> None:
        vandalise("UPDATE ledger_account SET balance = balance + 7 WHERE kind = 'chain:hot' AND network = 'stellar'")
        [finding] = findings()
        assert (finding.delta, finding.severity, finding.asset) == (-7, None, "USDC")
        assert finding.subject.startswith("hot wallet sandbox stellar USDC at block ")
        assert (finding.environment, finding.network) == (SANDBOX, STELLAR)
        assert finding.proposal.startswith("stop payouts")

    def test_coins_nobody_booked_are_a_warning_that_says_how_to_book_them(self, busy: None) -> None:
        put_in(ETHEREUM, 4, "USDT")
        [finding] = findings()
        assert (finding.expected, finding.actual, finding.delta) == (0, 4 * 10**6, 4 * 10**6)
        assert finding.severity is Severity.WARNING
        assert finding.proposal == (
            "if these are coins of yours: manage.py book_treasury --env sandbox --network ethereum --asset USDT"
        )

    def test_a_payout_on_its_way_is_explained_at_every_step(self, busy: None) -> None:
        for network in (ETHEREUM, STELLAR):
            payout = transfers.ask(network, 9 * COIN[network])
            assert told(network) == []
            transfers.drive(network)
            for _ in range(BLOCKS_UNTIL_FINAL[network] + 1):
                assert told(network) == []
                mine(network)
            assert told(network) == [], "final on the chain, and not booked"
            assert transfers.reserved(payout) == 9 * COIN[network]
            transfers.finish(network)
            assert transfers.reserved(payout) == 0
            assert told(network) == []

    def test_a_payout_final_on_the_chain_whose_rows_are_lost_is_missing_money(self, busy: None) -> None:
        transfers.ask(ETHEREUM, 9 * COIN[ETHEREUM])
        transfers.drive(ETHEREUM)
        mine(ETHEREUM, BLOCKS_UNTIL_FINAL[ETHEREUM] + 1)
        vandalise("DELETE FROM transfers_envelope WHERE transfer_id = %s", Transfer.objects.get(status="sent").pk)
        assert told(ETHEREUM) == [("USDC", -9 * COIN[ETHEREUM], Severity.ERROR)]

    def test_a_deposit_at_the_wallet_itself_is_explained_from_the_block_it_is_in(self, busy: None) -> None:
        pay(make_payment(STELLAR))
        mine(STELLAR)
        assert told(STELLAR) == [], "not read yet: compared where it has been read"
        while watch_network(SANDBOX, STELLAR):
            pass
        assert Deposit.objects.filter(booked_to="").count() == 1
        assert told(STELLAR) == [], "read and not booked"
        tasks.assess_due()
        assert told(STELLAR) == [], "booked"

    def test_a_deposit_that_was_deleted_before_it_was_booked_is_coins_nobody_booked(self, busy: None) -> None:
        pay(make_payment(STELLAR))
        mine(STELLAR)
        while watch_network(SANDBOX, STELLAR):
            pass
        vandalise("DELETE FROM payments_deposit WHERE booked_to = ''")
        assert told(STELLAR) == [("USDC", 100 * COIN[STELLAR], Severity.WARNING)]

    @pytest.mark.parametrize("network", [ETHEREUM, STELLAR])
    def test_every_height_of_the_past_agrees(self, busy: None, network: str) -> None:
        [snapshot] = wallet_snapshots(Scope(network=network))
        for height in range(snapshot.finalized_height + 1):
            # Coins were there before they were booked; they are booked since the block they were seen at.
            if wrong := [each for each in told(network, at_block=height) if each[2] == Severity.ERROR]:
                pytest.fail(f"at block {height}: {wrong}")
        assert told(network, at_block=snapshot.finalized_height) == []

    def test_a_height_that_is_not_final_cannot_be_compared(self, busy: None) -> None:
        [snapshot] = wallet_snapshots(Scope(network=ETHEREUM))
        with pytest.raises(CouldNotCheck, match="is not final"):
            findings(ETHEREUM, at_block=snapshot.finalized_height + 1)

    def test_a_network_that_does_not_answer_cannot_be_compared(self, busy: None) -> None:
        scope = Scope(network=ETHEREUM)
        scope.observed(take_wallet_snapshots)
        control.outage(ETHEREUM, 60)
        [snapshot] = wallet_snapshots(scope)
        with pytest.raises(CouldNotCheck, match="ethereum did not answer"):
            list(wallet_findings(snapshot))

    def test_a_coin_that_is_not_in_use_cannot_be_counted(self, busy: None) -> None:
        vandalise("UPDATE ledger_account SET asset = 'BUSD' WHERE kind = 'chain:hot' AND network = 'ethereum'")
        found = [each for each in findings(ETHEREUM) if each.expected == "a coin in use"]
        assert [(each.subject, each.identity, each.severity) for each in found] == [
            (
                "Coins in the hot wallet: BUSD on ethereum (sandbox)",
                "sandbox ethereum BUSD chain:hot",  # as it was named before: what is explained stays so
                Severity.WARNING,
            )
        ]


class TestGas:
    def test_coins_for_fees_need_not_be_booked(self, busy: None) -> None:
        assert told() == []

    def test_once_they_are_booked_they_are_counted(self, busy: None) -> None:
        assert book(ETHEREUM, "ETH").endswith("Booked: treasury_in sandbox:ethereum:ETH:1\n")
        assert told() == []
        transfers.ask(ETHEREUM)
        transfers.drive(ETHEREUM)
        mine(ETHEREUM)
        assert told() == [], "the fee of a transfer on its way"
        transfers.finish(ETHEREUM)
        assert told() == []
        control.fund_native(ETHEREUM, address=hot_wallet(ETHEREUM), amount=5)
        mine(ETHEREUM, BLOCKS_UNTIL_FINAL[ETHEREUM])
        assert told() == [("ETH", 5, Severity.WARNING)]
        book(ETHEREUM, "ETH")
        assert told() == []

    def test_missing_ones_are_an_error(self, busy: None) -> None:
        book(ETHEREUM, "ETH")
        vandalise("UPDATE ledger_account SET balance = balance + 7 WHERE kind = 'gas' AND network = 'ethereum'")
        assert told() == [("ETH", -7, Severity.ERROR)]


class TestBooking:
    def test_what_the_operator_put_in_is_the_treasurys(self, db: None) -> None:
        put_in(POLYGON, 250)
        said = book(POLYGON)
        assert "250.000000 USDC become the treasury's." in said
        assert treasury(POLYGON) == 250 * COIN[POLYGON]
        assert transfers.hot(POLYGON) == 250 * COIN[POLYGON]
        with pytest.raises(CommandError, match="nothing to book"):
            book(POLYGON)
        assert told() == []

    def test_a_part_of_it(self, db: None) -> None:
        put_in(POLYGON, 250)
        book(POLYGON, amount="100.5")
        book(POLYGON, amount="0.5")
        assert treasury(POLYGON) == 101 * COIN[POLYGON]
        with pytest.raises(CommandError, match="holds 149000000 base units that are not in the ledger"):
            book(POLYGON, amount="150")
        assert list(Posting.objects.values_list("reference", flat=True).order_by("id")) == [
            "sandbox:polygon:USDC:1",
            "sandbox:polygon:USDC:2",
        ]

    def test_money_on_its_way_is_nobodys_treasury(self, busy: None) -> None:
        pay(make_payment(STELLAR))
        mine(STELLAR)
        while watch_network(SANDBOX, STELLAR):
            pass
        with pytest.raises(CommandError, match="nothing to book"):
            book(STELLAR)

    def test_coins_taken_for_a_deposit_are_claimed_by_name(self, busy: None) -> None:
        before, usdc = treasury(STELLAR), registry.asset(SANDBOX, STELLAR, "USDC")
        control.pay_together(STELLAR, [control.Part(usdc.contract, 40 * COIN[STELLAR], hot_wallet(STELLAR))])
        mine(STELLAR, BLOCKS_UNTIL_FINAL[STELLAR])
        watch()
        assert told(STELLAR) == [], "they are in the ledger, as somebody's who named no payment"
        with pytest.raises(CommandError, match="nothing to book"):
            book(STELLAR)
        stray = Discrepancy.objects.get(amount=40 * COIN[STELLAR])
        with pytest.raises(CommandError, match="in USDT on stellar"):
            book(STELLAR, "USDT", discrepancy=stray.public_id)
        assert "40.0000000 USDC that arrived without a memo" in book(STELLAR, discrepancy=stray.public_id, by="Ada")
        stray.refresh_from_db()
        assert (stray.status, stray.resolved_by) == (DiscrepancyStatus.ACCEPTED, "Ada")
        assert treasury(STELLAR) == before + 40 * COIN[STELLAR]
        assert_all_is_well()
        with pytest.raises(CommandError):
            book(STELLAR, discrepancy=stray.public_id)

    def test_money_sent_for_a_payment_is_not_the_operators(self, busy: None) -> None:
        payment = pay_and_confirm(make_payment(STELLAR), "120")
        with pytest.raises(CommandError, match="was sent for a payment"):
            book(STELLAR, discrepancy=payment.discrepancies.get().public_id)

    def test_before_deposits_were_looked_for_nothing_is_the_operators(self, db: None) -> None:
        put_in(STELLAR, 40)
        assert told() == []
        with pytest.raises(CommandError, match="nobody has looked for deposits on stellar yet"):
            book(STELLAR)

    def test_missing_coins_are_not_booked_over(self, busy: None) -> None:
        vandalise("UPDATE ledger_account SET balance = balance + 7 WHERE kind = 'chain:hot' AND network = 'ethereum'")
        with pytest.raises(CommandError, match="Coins are missing"):
            book(ETHEREUM)

    def test_two_people_book_the_same_coins_once(self, db: None) -> None:
        put_in(POLYGON, 250)
        looks = [treasury_balance(SANDBOX, POLYGON, "USDC") for _ in range(2)]
        for found, times in looks:
            book_treasury(found, times=times, amount=250 * COIN[POLYGON])
        assert treasury(POLYGON) == 250 * COIN[POLYGON]
        assert Posting.objects.count() == 1

    @pytest.mark.parametrize("amount", [0, -1, 250_000_001])
    def test_more_than_there_is_is_refused(self, db: None, amount: int) -> None:
        put_in(POLYGON, 250)
        found, times = treasury_balance(SANDBOX, POLYGON, "USDC")
        with pytest.raises(NothingToBook):
            book_treasury(found, times=times, amount=amount)
        assert not Posting.objects.exists()

    def test_without_a_yes_nothing_is_booked(self, db: None, monkeypatch: pytest.MonkeyPatch) -> None:
        put_in(POLYGON, 250)
        command = ("book_treasury", "--env", SANDBOX, "--network", POLYGON, "--asset", "usdc")
        for answer in ("", "no"):
            monkeypatch.setattr("builtins.input", lambda prompt, answer=answer: answer)
            with pytest.raises(CommandError, match="Nothing was booked"):
                call_command(*command, stdout=io.StringIO())
            assert treasury(POLYGON) == 0
        monkeypatch.setattr("builtins.input", lambda prompt: "Y")
        call_command(*command, stdout=io.StringIO())
        assert treasury(POLYGON) == 250 * COIN[POLYGON]

    @pytest.mark.parametrize(
        ("network", "code", "why"), [("tron", "USDC", "tron is not in use"), (POLYGON, "EUR", "EUR is not in use")]
    )
    def test_what_is_not_in_use_is_refused(self, db: None, network: str, code: str, why: str) -> None:
        with pytest.raises(CommandError, match=why):
            book(network, code)

    def test_a_network_that_does_not_answer_is_not_guessed_at(self, db: None) -> None:
        put_in(POLYGON, 250)
        control.outage(POLYGON, 60)
        with pytest.raises(CommandError, match="did not answer"):
            book(POLYGON)


def test_what_is_missing_less_the_fees_that_may_have_been_paid() -> None:
    native = registry.profile(SANDBOX, ETHEREUM).native
    account = AccountRef(ETHEREUM, "ETH", AccountKind.GAS)

    def unexplained(on_chain: int, in_flight: int) -> int:
        return WalletBalance(SANDBOX, native, account, 1, 100, on_chain, (), in_flight).unexplained

    assert [unexplained(100, 0), unexplained(105, 9), unexplained(91, 9), unexplained(90, 9)] == [0, 5, 0, -1]


def test_a_movement_of_any_kind_counts_from_its_block(db: None) -> None:
    put_in(POLYGON, 1)
    book(POLYGON)
    put_in(POLYGON, 1)
    [snapshot] = wallet_snapshots(Scope(network=POLYGON))
    hot, own = (AccountRef(POLYGON, "USDC", kind) for kind in (AccountKind.CHAIN_HOT, AccountKind.TREASURY))
    with transaction.atomic():
        post(
            height=snapshot.finalized_height + 1,
            environment=SANDBOX,
            kind="of_a_kind_that_is_new",
            reference="1",
            lines=[Line(hot, COIN[POLYGON]), Line(own, -COIN[POLYGON])],
        )
    assert told(POLYGON) == [("USDC", COIN[POLYGON], Severity.WARNING)], "not there yet: the coins are nobody's"
    mine(POLYGON)
    assert told(POLYGON) == []


def test_blocks_before_entries_had_heights_cannot_be_compared(busy: None) -> None:
    [snapshot] = wallet_snapshots(Scope(network=ETHEREUM))
    vandalise("UPDATE ledger_entry SET height = NULL")
    assert told(ETHEREUM) == [], "what is in the ledger of an earlier release is final"
    with pytest.raises(CouldNotCheck, match="knows no blocks yet on ethereum"):
        findings(ETHEREUM, at_block=snapshot.finalized_height)
    put_in(ETHEREUM, 1)
    book(ETHEREUM)
    [snapshot] = wallet_snapshots(Scope(network=ETHEREUM))
    assert told(ETHEREUM, at_block=snapshot.finalized_height) == []
    with pytest.raises(CouldNotCheck, match=f"before block {snapshot.finalized_height} on ethereum"):
        findings(ETHEREUM, at_block=snapshot.finalized_height - 1)
