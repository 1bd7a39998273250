"""Preparing the hot wallet, and what is said until it is prepared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from datetime import timedelta
from io import StringIO

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.core.management import CommandError, call_command
from django.db import transaction
from django.utils import timezone
from pytest_django.fixtures import Settings
from stellar_sdk import Asset as LedgerAsset
from stellar_sdk import BumpSequence, ChangeTrust, ManageData, Operation, Payment, SetOptions, Signer

from config import ids
from config.doctor import registry as doctor
from config.doctor.registry import Asked, Level
from config.environments import Environment
from merchants.ledger.chart import AccountKind
from merchants.ledger.models import Account
from merchants.ledger.posting import Line, post
from payments import tasks as payment_tasks
from payments.chains import registry
from payments.chains.errors import NotSetUp
from payments.chains.network_table import DEVNET
from payments.chains.stellar.accounts import MEMO_REQUIRED
from payments.chains.stellar.channels import Channels, entry_name
from payments.chains.stellar.keys.wallet_keys import Keys
from payments.deposits import watching
from payments.models import Deposit
from payments.monitoring.alarm_rules import of_rows
from payments.transfers.postings import hot_account
from payments.transfers.states import PayoutStatus
from payments.treasury.wallet_balances import treasury_balance
from tests.stellar.network import devnet, keys
from tests.stellar.place import PROFILE, STOCK, USDC, WALLET, XLM, Place, key_of
from tests.transfers.scenes import SANDBOX, STELLAR, ask, drive, fresh, treasury, wait_no_longer

CHANNELS = 2
RESERVE = XLM // 2
COST = 3 * RESERVE + RESERVE + CHANNELS * (2 * RESERVE + RESERVE)
"""Three trustlines, one data entry, and each channel with an entry of its own."""

CHANNEL_KEYS = Keys(keys.HOT_WALLET_KEY, channels=CHANNELS)


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    """A network on which the wallet does not exist yet, where the sandbox is; each submission closes a ledger."""
    made = Place(channels=CHANNELS, prepared=False)
    made.local.network.closes_at_once = True
    monkeypatch.setattr(registry, "chain", lambda environment, network: made.chain)
    yield made
    made.stop()


def run(*arguments: str) -> str:
    said = StringIO()
    call_command("setup_stellar", *arguments, "--env", Environment.SANDBOX, stdout=said, no_color=True)
    return said.getvalue()


@pytest.mark.django_db(transaction=True)
def test_it_says_what_it_costs_and_does_it_once(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(CommandError, match=r"does not exist yet: send it at least 6\.0000\d+ XLM"):
        run("--yes")
    place.local.fund_native(WALLET.public_key, XLM + COST)
    with pytest.raises(CommandError, match=r"has too little: send it at least 0\.00\d+ XLM"):
        run("--yes")
    place.local.fund_native(WALLET.public_key, XLM)
    sequence = place.chain.hot_wallet.next_sequence(WALLET.public_key)

    said = run("--dry-run")
    assert f"trustline for {USDC.contract}" in said
    assert "5.0000000 XLM are locked up or handed to channel accounts" in said
    monkeypatch.setattr("builtins.input", lambda _: "n")
    with pytest.raises(CommandError, match="Nothing was done"):
        run()
    assert place.chain.hot_wallet.next_sequence(WALLET.public_key) == sequence

    said = run("--yes")
    assert "Done in ledger" in said
    assert f"channel 2  {CHANNEL_KEYS.channels[1]}" in said
    assert "USDC  trustline, issuer" in said
    assert "memos  asked for" in said
    account = place.local.network.state.accounts[WALLET.public_key]
    assert account.data[MEMO_REQUIRED] == b"1"
    assert place.local.balance(CHANNEL_KEYS.channels[0], "XLM") == 2 * RESERVE
    assert place.chain.reserves.reserve(WALLET.public_key) == 2 * RESERVE + COST - CHANNELS * 2 * RESERVE
    place.chain.set_up.require(signing=True)

    monkeypatch.setattr(registry, "networks", lambda environment: ("stellar",))
    monkeypatch.setattr(registry, "is_simulated", lambda environment: False)
    checked = StringIO()
    call_command("check_networks", "--env", Environment.SANDBOX, stdout=checked)
    assert "USDC: the issuer can freeze accounts and take coins back" in checked.getvalue()
    shown = doctor.examine(Asked(seconds=0), only=["network stellar"])
    lines = {line.name: line.level for line in shown if line.name.startswith("stellar sandbox")}
    assert set(lines) == {f"stellar sandbox{of}" for of in ("", " providers", " gas", " wallet")}
    assert Level.FAIL not in lines.values()

    said = run("--yes")
    assert "Nothing is missing." in said
    assert place.chain.hot_wallet.next_sequence(WALLET.public_key) == sequence + 1
    assert place.chain.preparations.only_set_up(WALLET.public_key, 0, sequence)


@pytest.mark.django_db(transaction=True)
def test_one_that_was_killed_after_sending_is_simply_run_again(place: Place) -> None:
    place.local.fund_native(WALLET.public_key, 100 * XLM)
    place.local.network.closes_at_once = False
    preparation = place.chain.preparation()
    transfer = preparation.sign(preparation.plan())
    place.chain.sending.broadcast(transfer)  # and then the process is killed
    place.chain.sending._clock = lambda: timezone.now() + timedelta(minutes=1)
    again = place.chain.preparation()
    rival = again.sign(again.plan())
    assert rival.sequence == transfer.sequence
    place.local.close_ledger()
    status = again.follow(rival, sleep=lambda _: None)
    assert (status.state, status.final) == ("replaced", True)
    assert "Nothing is missing." in run("--yes")


def test_what_is_missing_is_named_until_it_is_there(place: Place) -> None:
    def look() -> None:
        place.chain.set_up._readiness._found_wrong.clear()  # as after half a minute
        place.chain.set_up.require(signing=True)

    def fault() -> str:
        with pytest.raises(NotSetUp) as refusal:
            look()
        return str(refusal.value)

    assert fault().endswith("does not exist on Stellar (local): send it XLM, then run manage.py setup_stellar.")
    place.local.fund_native(WALLET.public_key, 100 * XLM)
    assert fault() == "The hot wallet has no trustline for USDC and USDT and DAI: run manage.py setup_stellar."
    for code in PROFILE.assets:
        place.local.trust(WALLET, code)
    assert fault() == "2 of 2 channel accounts do not exist yet: run manage.py setup_stellar."
    for channel in CHANNEL_KEYS.channels:
        place.local.fund_native(channel, XLM)
    look()


@pytest.mark.django_db
def test_a_network_that_is_not_set_up_says_so_once(
    place: Place, settings: Settings, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    settings.SANDBOX_CHAIN = "devnet"
    monkeypatch.setattr(registry, "networks", lambda environment: (STELLAR,) * (environment == SANDBOX))
    monkeypatch.setattr(watching, "chain", lambda environment, network: place.chain)
    with transaction.atomic():
        lines = [Line(hot_account(STELLAR, "USDC"), 5), Line(treasury(STELLAR), -5)]
        post(height=1, environment=SANDBOX, kind="treasury_in", reference=str(ids.new_uuid()), lines=lines)
    ask(STELLAR, 5, to=place.recipient().public_key)
    for _ in range(5):
        payment_tasks.sweep()
        watching.watch_network(SANDBOX, STELLAR)
        wait_no_longer()
        drive(STELLAR)
    warned = ("WARNING", "ERROR")
    said = Counter(each.msg["event"] for each in caplog.records if each.levelname in warned)  # type: ignore[index]
    assert dict.fromkeys(said, 1) == said
    assert {"nothing swept", "network unavailable"} <= {*said}


@pytest.mark.django_db
def test_what_was_missing_before_the_set_up_is_no_alarm_when_the_first_payouts_begin(
    place: Place, settings: Settings
) -> None:
    settings.SANDBOX_CHAIN = "devnet"
    place.local.fund_native(WALLET.public_key, 100 * XLM)
    payment_tasks.sweep()
    run("--yes")
    place.local.mint("USDC", WALLET.public_key, 5)
    place.chain.set_up._readiness._found_wrong.clear()  # as after half a minute
    payment_tasks.sweep()
    with transaction.atomic():
        lines = [Line(hot_account(STELLAR, "USDC"), 5), Line(treasury(STELLAR), -5)]
        post(height=1, environment=Environment.SANDBOX, kind="treasury_in", reference=str(ids.new_uuid()), lines=lines)
    payout = ask(STELLAR, 5, to=place.recipient().public_key)
    assert [each.kind for each in of_rows(Environment.SANDBOX, STELLAR)] == []
    for _ in range(3):
        wait_no_longer()
        drive(STELLAR)
    assert fresh(payout).status == PayoutStatus.PAID


def test_who_has_no_key_reads_the_channels_off_the_wallet(place: Place) -> None:
    def no_keys() -> Keys:
        raise ImproperlyConfigured("no key")

    keyless = Channels(place.horizons, wallet=WALLET.public_key, count=CHANNELS, keys=no_keys)
    with pytest.raises(NotSetUp, match="does not name its 2 channels yet"):
        keyless.names()
    place.local.fund_native(WALLET.public_key, 100 * XLM)
    preparation = place.chain.preparation()
    place.chain.sending.broadcast(preparation.sign(preparation.plan()))
    assert keyless.names() == CHANNEL_KEYS.channels == place.chain.channels()


def pays() -> Operation:
    return Payment(key_of(9).public_key, LedgerAsset.native(), "1")


@pytest.mark.parametrize(
    ("operation", "is_harmless"),
    [
        (lambda: ChangeTrust(LedgerAsset(*USDC.contract.split(":"))), True),
        (lambda: ChangeTrust(LedgerAsset("SCAM", key_of(9).public_key)), False),
        (lambda: ManageData(MEMO_REQUIRED, b"1"), True),
        (lambda: ManageData(entry_name(1), b"\x01" * 32), True),
        (lambda: SetOptions(home_domain="pay.example"), True),
        (lambda: SetOptions(signer=Signer.ed25519_public_key(key_of(9).public_key, 1)), False),
        (lambda: SetOptions(med_threshold=0), False),
        (lambda: BumpSequence(1), False),
        (pays, False),
    ],
)
def test_only_what_prepares_an_account_is_forgiven(
    place: Place, operation: Callable[[], Operation], is_harmless: bool
) -> None:
    place.local.fund_native(WALLET.public_key, 100 * XLM)
    place.local.fund_native(key_of(9).public_key, 100 * XLM)
    first = place.chain.hot_wallet.next_sequence(WALLET.public_key)
    place.local.act(WALLET, ManageData("note", b"harmless"))
    place.local.act(WALLET, operation())
    assert place.chain.preparations.only_set_up(WALLET.public_key, first, first)
    assert place.chain.preparations.only_set_up(WALLET.public_key, 0, first + 1) is is_harmless
    assert not place.chain.preparations.only_set_up(WALLET.public_key, 0, first + 2)


def test_what_no_history_tells_any_more_is_not_forgiven(place: Place) -> None:
    place.local.fund_native(WALLET.public_key, 100 * XLM)
    first = place.chain.hot_wallet.next_sequence(WALLET.public_key)
    for _ in range(3):
        place.local.act(WALLET, ManageData("note", b"harmless"))
    ledger = len(place.local.network.history.ledgers)
    for each in (place.local, place.other):
        each.reap_history(ledger)
    assert not place.chain.preparations.only_set_up(WALLET.public_key, 0, first + 2)
    assert not place.chain.preparations.only_set_up(WALLET.public_key, first, first + 2)


def test_the_sandbox_on_the_local_network_needs_no_settings() -> None:
    chain = devnet.chain(devnet.profile("stellar"))
    assert chain.payout_address() == keys.HOT_WALLET
    assert chain.channels() == (keys.HOT_WALLET,)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("--env", "production"), "STELLAR_HORIZON_URLS is not set"),
        (
            ("--env", "production", "--network", "polygon"),
            "No network is set up in production yet",
        ),
        (("--env", "sandbox", "--network", "stellar"), "stellar needs no set-up of this kind in sandbox"),
    ],
)
def test_where_nothing_can_be_prepared_it_says_why(arguments: tuple[str, ...], reason: str) -> None:
    with pytest.raises(CommandError, match=reason):
        call_command("setup_stellar", *arguments, stdout=StringIO())


@pytest.mark.django_db(transaction=True)
def test_what_the_local_hot_wallet_has_from_the_start_is_the_treasurys(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.SANDBOX_CHAIN = DEVNET
    made = Place()
    for module in (registry, watching):
        monkeypatch.setattr(module, "chain", lambda environment, network: made.chain)
    monkeypatch.setattr(registry, "networks", lambda environment: (STELLAR,))
    try:
        for said in (f"{STOCK // XLM:,} USDC on {STELLAR}", "has been stocked before"):
            stdout = StringIO()
            call_command("stock_sandbox", stdout=stdout)
            assert said in stdout.getvalue()
        treasury = Account.objects.get(kind=AccountKind.TREASURY)
        assert (treasury.asset, -treasury.balance, Deposit.objects.count()) == ("USDC", STOCK, 0)
        assert treasury_balance(SANDBOX, STELLAR, "USDC")[0].unexplained == 0
    finally:
        made.stop()
