"""Payouts whose recipients hold no trustline for days: set aside as claimable balances, where the operator lets us."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta

import pytest
from django.db import transaction
from django.db.models import F
from django.utils import timezone
from stellar_sdk import Claimant, CreateClaimableBalance, Keypair
from stellar_sdk.operation import AccountMerge, ClaimClaimableBalance, ManageData

from config import ids
from merchants.ledger.posting import Line, post
from payments.chains import registry
from payments.chains.protocol.payouts import SignedTransfer
from payments.chains.stellar import addresses
from payments.monitoring import figures
from payments.monitoring.measuring import measure_network
from payments.monitoring.models import NetworkSnapshot
from payments.transfers.audit import adopt_unknown
from payments.transfers.audit.outgoing import Comparison
from payments.transfers.audit.wallet_snapshot import WalletSnapshot, take_wallet_snapshot
from payments.transfers.models import Envelope, Payout, Transfer, TransferLine, Wallet
from payments.transfers.payouts import SET_ASIDE_AFTER
from payments.transfers.postings import hot_account
from payments.transfers.states import HoldReason, PayoutStatus, TransferStatus
from payments.treasury import unusual_changes
from payments.treasury.wallet_balances import wallet_findings
from tests.stellar.place import WALLET, XLM, Place, key_of
from tests.transfers.scenes import (
    SANDBOX,
    STELLAR,
    ask,
    drive,
    fresh,
    hot,
    reserved,
    the_transfer,
    the_wallet,
    treasury,
    wait_no_longer,
    why_frozen,
)

pytestmark = pytest.mark.django_db

STOCK = 1_000 * XLM
HALF = XLM // 2
"""What a claimable balance locks up of the hot wallet's XLM."""

LATE = key_of(77)
"""Somebody with an account, and no trustline at first."""


def places(*, channels: int = 1, sets_aside: bool = True) -> Callable[[object, pytest.MonkeyPatch], Iterator[Place]]:
    def made(settings: object, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
        """The sandbox on a local network, its treasury stocked on the chain and in the ledger."""
        place = Place(channels=channels, sets_aside=sets_aside)
        settings.SANDBOX_CHAIN = "devnet"  # type: ignore[attr-defined]
        monkeypatch.setattr(registry, "chain", lambda environment, network: place.chain)
        with transaction.atomic():
            lines = [Line(hot_account(STELLAR, "USDC"), STOCK), Line(treasury(STELLAR), -STOCK)]
            post(height=1, environment=SANDBOX, kind="treasury_in", reference=str(ids.new_uuid()), lines=lines)
        place.local.fund_native(LATE.public_key, 10 * XLM)
        yield place
        place.stop()

    return made


place = pytest.fixture(places(), name="place")
place_with_channels = pytest.fixture(places(channels=3), name="place_with_channels")
place_that_waits = pytest.fixture(places(sets_aside=False), name="place_that_waits")


def step(place: Place, times: int = 1) -> None:
    """A round, a ledger, and a round that looks at it."""
    for _ in range(times):
        wait_no_longer()
        drive(STELLAR, rounds=2)
        place.local.close_ledger()
        wait_no_longer()
        drive(STELLAR)


def let_days_pass(days: timedelta = SET_ASIDE_AFTER) -> None:
    """Whatever was to happen in a while happens so much sooner."""
    Payout.objects.update(set_aside_at=F("set_aside_at") - days, held_since=F("held_since") - days)


def waiting(place: Place, amount: int = 9, *, to: str = LATE.public_key) -> Payout:
    """A payout that has been found to lack its trustline, for as long as that is waited for."""
    payout = ask(STELLAR, amount, to=to)
    step(place)
    let_days_pass()
    return payout


def set_aside(place: Place, claimant: Keypair = LATE) -> list[tuple[str, int]]:
    """The claimable balances that wait for somebody on the network: id and amount."""
    state = place.local.network.state
    return [
        (each.id, each.amount)
        for each in state.claimable.values()
        if [account for account, _ in each.claimants] == [claimant.public_key]
    ]


def findings(place: Place) -> list[str]:
    """All that the comparisons of the hot wallet with the ledger find: since the beginning, a day and a moment ago."""
    snapshot = take_wallet_snapshot(SANDBOX, STELLAR)
    assert isinstance(snapshot, WalletSnapshot)
    compared = Comparison(snapshot, WALLET.public_key, since=None).findings()
    ended = Transfer.objects.order_by("finished_at").values_list("finished_at", flat=True).first()
    since = [timezone.now() - timedelta(days=1), *([ended] if ended else [])]
    later = [Comparison(snapshot, WALLET.public_key, since=each).findings() for each in since]
    return [str(each) for found in (compared, *later, wallet_findings(snapshot)) for each in found]


# --- whether and when --------------------------------------------------------------------------------


def test_nothing_is_set_aside_where_the_operator_has_not_said_so(place_that_waits: Place) -> None:
    payout = waiting(place_that_waits)
    let_days_pass(timedelta(days=30))
    step(place_that_waits, 2)
    assert (fresh(payout).status, fresh(payout).hold_reason) == (PayoutStatus.HELD, HoldReason.NO_TRUSTLINE)
    assert fresh(payout).set_aside_at is None
    assert (set_aside(place_that_waits), Transfer.objects.count()) == ([], 0)


def test_it_waits_three_days_for_the_trustline_and_is_then_set_aside_once(place: Place) -> None:
    payout = ask(STELLAR, 9, to=LATE.public_key)
    paid = ask(STELLAR, 5, to=place.recipient().public_key)
    before = timezone.now()
    step(place)
    due = fresh(payout).set_aside_at or before
    assert before + timedelta(days=3) <= due <= timezone.now() + timedelta(days=3)
    let_days_pass(timedelta(days=2, hours=23))
    step(place, 2)
    assert (fresh(payout).status, fresh(paid).status) == (PayoutStatus.HELD, PayoutStatus.PAID)
    assert fresh(payout).set_aside_at == due - timedelta(days=2, hours=23)
    assert set_aside(place) == []
    let_days_pass(timedelta(hours=1))
    step(place, 2)
    [(balance_id, amount)] = set_aside(place)
    payout = fresh(payout)
    assert (payout.status, payout.arrived, payout.claimable_balance, amount) == (PayoutStatus.PAID, 9, balance_id, 9)
    assert (reserved(payout), hot(STELLAR), place.held(WALLET)) == (0, STOCK - 14, STOCK - 14)
    assert fresh(paid).claimable_balance == ""
    step(place, 2)
    assert len(set_aside(place)) == 1

    place.local.trust(LATE, "USDC")
    place.local.act(LATE, ClaimClaimableBalance(balance_id))
    assert (place.held(LATE), set_aside(place)) == (9, [])


def test_of_six_without_a_trustline_each_gets_it_once_and_the_books_are_the_chain(place: Place) -> None:
    people = [key_of(100 + number) for number in range(6)]
    for each in people:
        place.local.fund_native(each.public_key, 10 * XLM)
    payouts = [ask(STELLAR, 10 + number, to=each.public_key) for number, each in enumerate(people)]
    step(place)
    for each in people[:2]:
        place.local.trust(each, "USDC")
    let_days_pass(timedelta(days=1))
    step(place, 2)
    assert [fresh(each).status for each in payouts] == [PayoutStatus.PAID] * 2 + [PayoutStatus.HELD] * 4
    place.local.act(people[5], AccountMerge(place.local.root.public_key))  # closed before
    let_days_pass(timedelta(days=2))
    step(place, 2)
    found = [(fresh(each).status, fresh(each).claimable_balance != "") for each in payouts]
    paid, late, closed = (PayoutStatus.PAID, False), (PayoutStatus.PAID, True), (PayoutStatus.FAILED, False)
    assert found == [paid, paid, late, late, late, closed]
    assert fresh(payouts[5]).failure_code == "destination_invalid"
    locked = place.chain.reserves.reserve(WALLET.public_key)
    place.local.act(people[3], AccountMerge(place.local.root.public_key))  # closed after, and opened again
    place.local.fund_native(people[3].public_key, 10 * XLM)
    for each in people[2:4]:
        place.local.trust(each, "USDC")
        place.local.act(each, ClaimClaimableBalance(set_aside(place, each)[0][0]))
    assert [place.held(each) for each in people[:4]] == [10, 11, 12, 13]
    assert [amount for _, amount in set_aside(place, people[4])] == [14]  # it waits for as long as nobody claims it
    assert locked - place.chain.reserves.reserve(WALLET.public_key) == 2 * HALF
    assert hot(STELLAR) == place.held(WALLET) == STOCK - 10 - 11 - 12 - 13 - 14
    assert findings(place) == []


def test_it_is_looked_at_when_its_time_has_come(place: Place) -> None:
    payout = ask(STELLAR, 9, to=LATE.public_key)
    step(place)
    let_days_pass(SET_ASIDE_AFTER - timedelta(minutes=10))
    wait_no_longer()
    drive(STELLAR)
    assert fresh(payout).next_attempt_at == fresh(payout).set_aside_at


def test_one_without_room_under_its_limit_is_set_aside_as_well(place: Place) -> None:
    place.local.trust(LATE, "USDC", limit=5)
    waiting(place)
    step(place)
    assert [amount for _, amount in set_aside(place)] == [9]


def wants_memos(place: Place) -> str:
    place.local.act(LATE, ManageData("config.memo_required", "1"))
    return LATE.public_key


@pytest.mark.parametrize(
    ("recipient", "memo"),
    [
        (lambda place: addresses.mux(LATE.public_key, 5), ""),
        (lambda place: LATE.public_key, "17"),
        (wants_memos, ""),
    ],
    ids=["M address", "memo", "asks for memos"],
)
def test_an_account_of_many_people_is_waited_for(place: Place, recipient: Callable[[Place], str], memo: str) -> None:
    payout = ask(STELLAR, 9, to=recipient(place), memo=memo)
    step(place)
    let_days_pass()
    step(place, 2)
    assert (fresh(payout).hold_reason, fresh(payout).set_aside_at) == (HoldReason.NO_TRUSTLINE, None)
    assert place.local.network.state.claimable == {}


def test_an_account_that_does_not_exist_fails_as_before(place: Place) -> None:
    payout = ask(STELLAR, 9, to=key_of(78).public_key)
    step(place)
    assert (fresh(payout).status, fresh(payout).failure_code) == (PayoutStatus.FAILED, "destination_invalid")


def test_switched_off_and_on_again_it_has_all_the_time_again(place: Place) -> None:
    payout = waiting(place)
    hot_wallet = place.chain.hot_wallet
    on, hot_wallet._profile = hot_wallet._profile, replace(place.profile, sets_aside=False)
    step(place)
    assert fresh(payout).set_aside_at is None
    hot_wallet._profile = on
    step(place)
    assert (fresh(payout).set_aside_at or timezone.now()) > timezone.now() + timedelta(days=2)
    assert set_aside(place) == []


# --- exactly once ------------------------------------------------------------------------------------


def test_a_trustline_that_appears_while_it_is_on_its_way_gets_one_of_them(place_with_channels: Place) -> None:
    place = place_with_channels
    payout = waiting(place)
    wait_no_longer()
    drive(STELLAR, rounds=2)
    assert fresh(payout).status == PayoutStatus.SENDING
    place.local.trust(LATE, "USDC")
    step(place, 3)
    assert fresh(payout).status == PayoutStatus.PAID
    assert (place.held(LATE), [amount for _, amount in set_aside(place)]) == (0, [9])
    assert hot(STELLAR) == place.held(WALLET) == STOCK - 9


def test_one_that_expired_is_paid_if_the_trustline_is_there_by_then(place: Place) -> None:
    payout = waiting(place)
    place.local.freeze_submissions()
    step(place)
    place.local.thaw_submissions()
    place.local.trust(LATE, "USDC")
    place.local.close_ledger(600)
    place.chain.sending._clock = lambda: timezone.now() + timedelta(seconds=600)
    step(place, 3)
    assert (fresh(payout).status, fresh(payout).claimable_balance) == (PayoutStatus.PAID, "")
    assert (place.held(LATE), set_aside(place)) == (9, [])
    assert [each.status for each in Transfer.objects.order_by("id")] == [TransferStatus.DEAD, TransferStatus.FINAL]
    assert findings(place) == []


class Killed(BaseException):
    """The worker's process ends here."""


def test_a_worker_that_is_killed_between_signing_and_sending_sets_it_aside_once(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    payout = waiting(place)

    def kill(transfer: SignedTransfer) -> None:
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(place.chain.sending, "broadcast", kill)
        wait_no_longer()
        with pytest.raises(Killed):
            drive(STELLAR)
    [stored] = [bytes(each.raw) for each in Envelope.objects.all()]
    step(place, 3)
    assert fresh(payout).status == PayoutStatus.PAID
    assert [amount for _, amount in set_aside(place)] == [9]
    assert [bytes(each.raw) for each in Envelope.objects.all()] == [stored]


def test_horizons_that_lag_and_a_raised_fee_make_no_second_one(place_with_channels: Place) -> None:
    place = place_with_channels
    payout = waiting(place)
    wait_no_longer()
    drive(STELLAR)
    place.local.surge(5_000)
    step(place)
    Envelope.objects.update(signed_at=timezone.now() - timedelta(minutes=2))
    for each in (place.local, place.other):
        each.pause_ingestion()
    step(place, 3)
    assert (fresh(payout).status, Envelope.objects.count()) == (PayoutStatus.SENDING, 2)
    for each in (place.local, place.other):
        each.resume_ingestion()
    step(place, 2)
    assert fresh(payout).status == PayoutStatus.PAID
    assert set_aside(place) == [(fresh(payout).claimable_balance, 9)]
    assert (findings(place), hot(STELLAR)) == ([], place.held(WALLET))


# --- beside payments ---------------------------------------------------------------------------------


def test_it_shares_an_envelope_with_payments_and_leaves_it_when_there_is_no_xlm_to_lock(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = key_of(79)
    place.local.fund_native(other.public_key, 10 * XLM)
    late = [ask(STELLAR, amount, to=key.public_key) for amount, key in ((9, LATE), (8, other))]
    step(place)
    let_days_pass()
    paid = [ask(STELLAR, 5, to=place.recipient(number).public_key) for number in (1, 2)]
    frozen = ask(STELLAR, 7, to=place.recipient(3).public_key)
    account = place.local.network.state.accounts[WALLET.public_key]
    place.local.pay(WALLET, place.recipient(4).public_key, "XLM", account.native - account.reserve - HALF - XLM // 10)
    spent = Transfer.objects.count()
    Wallet.objects.update(next_sequence=place.chain.hot_wallet.next_sequence(WALLET.public_key))  # the test spent it
    with monkeypatch.context() as patched:
        patched.setattr("payments.transfers.spending.TRANSFERS_PAID_FOR", -1_000)
        checked = place.chain.hot_wallet.check_recipient
        place.local.deauthorise(place.recipient(3).public_key, "USDC")
        patched.setattr(
            place.chain.hot_wallet, "check_recipient", lambda each: None if each.amount == 7 else checked(each)
        )
        step(place)
    step(place)
    assert [fresh(each).status for each in paid] == [PayoutStatus.PAID] * 2
    assert fresh(frozen).failure_code == "destination_refused"
    assert {fresh(each).status for each in late} == {PayoutStatus.PAID, PayoutStatus.HELD}
    [left] = [each for each in map(fresh, late) if each.status == PayoutStatus.HELD]
    assert (left.hold_reason, left.is_alone) == (HoldReason.NO_TRUSTLINE, False)
    assert Transfer.objects.count() == spent + 2
    first, second = Transfer.objects.order_by("id")
    assert (first.status, first.lines.count()) == (TransferStatus.FAILED, 5)
    assert first.last_error.count("op_low_reserve") == 1
    assert (second.status, second.lines.count()) == (TransferStatus.FINAL, 3)
    assert hot(STELLAR) == place.held(WALLET)


# --- XLM that is locked up ---------------------------------------------------------------------------


def test_the_reserve_is_counted_before_and_after(place: Place) -> None:
    payout = waiting(place)
    before = place.chain.reserves.reserve(WALLET.public_key)
    measure_network(SANDBOX, STELLAR)
    snapshot = NetworkSnapshot.objects.get(network=STELLAR)
    found = figures.figures_of(snapshot).tank
    assert found is not None
    assert snapshot.costs.set_aside == HALF
    step(place, 2)
    assert fresh(payout).status == PayoutStatus.PAID
    assert place.chain.reserves.reserve(WALLET.public_key) == before + HALF
    measure_network(SANDBOX, STELLAR)
    after = figures.figures_of(NetworkSnapshot.objects.get(network=STELLAR)).tank
    assert after is not None
    assert found.wanted - after.wanted == HALF + found.payout
    assert found.balance - after.balance == HALF + int(the_transfer().fee_units)


def test_without_xlm_to_lock_it_goes_on_waiting_and_fees_are_kept(place: Place) -> None:
    account = place.local.network.state.accounts[WALLET.public_key]
    kept = 100 * 100 * 100
    place.local.pay(WALLET, place.recipient().public_key, "XLM", account.native - account.reserve - HALF - kept + 1)
    the_wallets_own = place.chain.hot_wallet.next_sequence(WALLET.public_key)
    Wallet.objects.get_or_create(environment=SANDBOX, network=STELLAR, address=WALLET.public_key)
    Wallet.objects.update(next_sequence=the_wallets_own)
    payout = waiting(place)
    step(place, 2)
    assert (fresh(payout).hold_reason, Transfer.objects.count()) == (HoldReason.NO_TRUSTLINE, 0)
    assert "too little XLM" in the_wallet(STELLAR).last_error
    place.local.fund_native(WALLET.public_key, 201)  # what it lacks, and what paying took
    step(place, 2)
    assert fresh(payout).status == PayoutStatus.PAID
    assert the_wallet(STELLAR).last_error == ""


# --- what comparing finds ----------------------------------------------------------------------------


def test_comparing_finds_nothing_on_its_way_or_booked_or_claimed(place_with_channels: Place) -> None:
    place = place_with_channels
    payout = waiting(place)
    paid = ask(STELLAR, 5, to=place.recipient().public_key)
    wait_no_longer()
    drive(STELLAR, rounds=2)
    assert findings(place) == []
    place.local.close_ledger()
    assert (fresh(payout).status, findings(place)) == (PayoutStatus.SENDING, [])
    step(place, 2)
    assert (fresh(payout).status, fresh(paid).status) == (PayoutStatus.PAID, PayoutStatus.PAID)
    assert findings(place) == []
    TransferLine.objects.filter(payout=payout).update(claimable_balance="")
    assert len(findings(place)) == 3, "what was signed as a payment is not on the network"
    [(balance_id, _)] = set_aside(place)
    TransferLine.objects.filter(payout=payout).update(claimable_balance=balance_id)
    place.local.trust(LATE, "USDC")
    place.local.act(LATE, ClaimClaimableBalance(balance_id))
    assert findings(place) == []
    for _ in range(200):  # so many that comparing since then has to look the transfer up by its hash
        place.local.close_ledger(1)
    assert findings(place) == []
    snapshot = take_wallet_snapshot(SANDBOX, STELLAR)
    assert isinstance(snapshot, WalletSnapshot)
    usdc = [each for each in unusual_changes.of_the_last_day(snapshot, snapshot.finalized_height) if each.contract]
    assert usdc == []
    assert not why_frozen(STELLAR)


def test_one_that_somebody_else_made_with_our_key_is_found(place: Place) -> None:
    ours = waiting(place)
    step(place, 2)
    assert fresh(ours).status == PayoutStatus.PAID
    usdc = place.local.asset("USDC")
    place.local.act(WALLET, CreateClaimableBalance(usdc, "0.0000009", [Claimant(LATE.public_key)]))
    found = findings(place)
    assert any("a transfer of ours" in each and "9 USDC set aside for" in each for each in found)
    assert any("hot wallet" in each for each in found)


def lost_by_a_restore(place: Place, *claimants: str) -> tuple[Payout, str]:
    """A payout that waits in the restored ledger, and what the lost part of it has set aside: the transaction's id."""
    payout = ask(STELLAR, 9, to=LATE.public_key)
    step(place)
    made = CreateClaimableBalance(place.local.asset("USDC"), "0.0000009", [Claimant(each) for each in claimants])
    return payout, place.local.act(WALLET, made)


def test_what_a_lost_ledger_had_set_aside_is_adopted(place: Place) -> None:
    payout, digest = lost_by_a_restore(place, LATE.public_key)
    [unknown] = adopt_unknown.unknown_transfers(the_wallet(STELLAR), since_block=1)
    assert (unknown.payout, unknown.sent.transaction_hash) == (payout, digest)
    assert adopt_unknown.adopt(the_wallet(STELLAR), [unknown]) == 1
    assert fresh(payout).status == PayoutStatus.PAID
    assert set_aside(place) == [(fresh(payout).claimable_balance, 9)]
    assert (findings(place), hot(STELLAR)) == ([], STOCK - 9)


def test_one_that_another_may_claim_as_well_has_paid_nobody(place: Place) -> None:
    _, _ = lost_by_a_restore(place, LATE.public_key, key_of(5).public_key)
    [unknown] = adopt_unknown.unknown_transfers(the_wallet(STELLAR), since_block=1)
    assert unknown.payout is None
