"""A network whose contracts, coins or key are not what the settings say is left alone until they are; others go on."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest
from pytest_django.fixtures import Settings
from structlog.testing import capture_logs

from config.environments import Environment
from payments import tasks
from payments.chains import registry
from payments.chains.errors import ChainUnavailable, NetworkUnavailable, NotSetUp
from payments.chains.readiness import RECHECK_SECONDS, Readiness
from payments.chains.settings_lookup import settings_of
from payments.deposits.models import ScanCursor
from payments.rates.quoting import RateUnavailable
from payments.services import NewPayment, create_payment
from payments.transfers.execution import executor
from payments.transfers.models import Transfer, Wallet
from tests.evm.harness import NodeHarness, profile_of
from tests.evm.network import devnet
from tests.evm.node import ETHEREUM_ID, running_node
from tests.factories import make_merchant
from tests.forgetting import forget_networks
from tests.networks import put_profile, with_set

PRODUCTION, SANDBOX = Environment.PRODUCTION, Environment.SANDBOX


class Checks:
    """What somebody finds who looks, how often they looked, and what time it is."""

    def __init__(self) -> None:
        self.finding: Exception | None = None
        self.looked = 0
        self.now = 1_000.0
        self.readiness = Readiness("polygon", clock=lambda: self.now)

    def check(self) -> None:
        self.looked += 1
        if self.finding:
            raise self.finding

    def require(self) -> None:
        self.readiness.require("contracts", self.check)


class TestRemembering:
    def test_what_was_right_once_is_not_asked_again(self) -> None:
        checks = Checks()
        checks.require()
        checks.finding = NotSetUp("broken since")
        checks.require()
        assert checks.looked == 1

    def test_what_is_wrong_is_asked_again_after_a_while_until_it_is_right(self) -> None:
        checks = Checks()
        checks.finding = NotSetUp("no contract")
        with capture_logs() as said:
            for _ in range(3):
                with pytest.raises(NotSetUp, match="no contract"):
                    checks.require()
            assert checks.looked == 1
            checks.now += RECHECK_SECONDS
            with pytest.raises(NotSetUp):
                checks.require()
            checks.finding = None
            with pytest.raises(NotSetUp):
                checks.require()
            checks.now += RECHECK_SECONDS
            checks.require()
        assert checks.looked == 3
        told = [(each["log_level"], each["event"]) for each in said]
        assert told == [("error", "network is not set up right"), ("info", "network is set up right now")]

    def test_a_network_that_does_not_answer_is_asked_again_at_once(self) -> None:
        checks = Checks()
        checks.finding = ChainUnavailable("nobody there")
        for _ in range(2):
            with pytest.raises(ChainUnavailable, match="nobody there"):
                checks.require()
        assert checks.looked == 2

    def test_each_part_is_remembered_by_itself(self) -> None:
        checks = Checks()
        checks.require()
        checks.finding = NotSetUp("another key")
        with pytest.raises(NotSetUp, match="another key"):
            checks.readiness.require("key", checks.check)


def cursor(environment: str = PRODUCTION) -> ScanCursor:
    return ScanCursor.objects.get(environment=environment, network="polygon")


def give_wrong_decimals(monkeypatch: pytest.MonkeyPatch) -> None:
    profile = profile_of("polygon")
    assets = dict(profile.assets)
    assets["DAI"] = replace(assets["DAI"], decimals=6)
    put_profile(monkeypatch, replace(profile, assets=assets))


def ask_for_payment() -> None:
    create_payment(
        merchant=make_merchant(),
        environment=PRODUCTION,
        request=NewPayment(
            amount=Decimal(1),
            currency="USD",
            cryptocurrency="USDC",
            network="polygon",
            merchant_wallet=devnet.OWNER,
        ),
    )


@pytest.mark.django_db
class TestOnANode:
    def test_a_network_that_was_never_read_takes_no_payments_yet(self, harness: NodeHarness) -> None:
        with pytest.raises(NetworkUnavailable):
            ask_for_payment()
        tasks.watch_networks()
        with pytest.raises(RateUnavailable):  # all that is wanting now
            ask_for_payment()

    def test_a_network_with_a_wrong_coin_is_not_read_and_takes_no_payments(
        self, harness: NodeHarness, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        fault = "DAI on polygon has 18 decimals, not 6."
        with monkeypatch.context() as wrong:
            give_wrong_decimals(wrong)
            tasks.watch_networks()
            assert (cursor().fault, cursor().last_error, cursor().cursor) == (fault, fault, None)
            assert cursor(SANDBOX).polled_at is not None
            with pytest.raises(NetworkUnavailable):
                ask_for_payment()
        forget_networks()
        tasks.watch_networks()
        assert (cursor().fault, cursor().last_error) == ("", "")
        assert cursor().cursor is not None

    @pytest.mark.parametrize(
        ("setting", "value", "said"),
        [
            ("factory", devnet.PAYER, "There is no contract at"),
            ("factory", devnet.token("DAI"), "is not our factory"),
            ("hot_wallet", devnet.PAYER, "the hot wallet is"),
            ("factory", "", "EVM_FACTORY is not set"),
        ],
    )
    def test_contracts_that_are_not_ours_are_named(
        self, harness: NodeHarness, settings: Settings, setting: str, value: str, said: str
    ) -> None:
        settings.NETWORK_SETTINGS = with_set("polygon", **{setting: value})
        tasks.watch_networks()
        assert said in cursor().fault
        assert cursor().cursor is None

    def test_a_coin_that_is_no_token_is_named(self, harness: NodeHarness, monkeypatch: pytest.MonkeyPatch) -> None:
        profile = profile_of("polygon")
        assets = {"USDC": replace(profile.assets["USDC"], contract=devnet.OWNER)}
        put_profile(monkeypatch, replace(profile, assets=assets))
        tasks.watch_networks()
        assert cursor().fault == f"There is no token at {devnet.OWNER} on polygon, for USDC."

    def test_providers_that_do_not_answer_are_no_fault_of_the_settings(
        self, harness: NodeHarness, settings: Settings
    ) -> None:
        [url] = settings_of("polygon").rpc_urls
        settings.NETWORK_SETTINGS = with_set("polygon", rpc_urls=("http://127.0.0.1:9",))
        tasks.watch_networks()
        assert cursor().fault == ""
        assert cursor().failing_since is not None
        settings.NETWORK_SETTINGS = with_set("polygon", rpc_urls=(url,))
        tasks.watch_networks()
        assert cursor().failing_since is None

    def test_providers_of_another_chain_are_a_fault(self, harness: NodeHarness, settings: Settings) -> None:
        [right] = settings_of("polygon").rpc_urls
        ethereum = running_node(ETHEREUM_ID).url
        again = ethereum.replace("127.0.0.1", "localhost")
        settings.NETWORK_SETTINGS = with_set("polygon", rpc_urls=(ethereum, again))
        tasks.watch_networks()
        assert cursor().fault.startswith("No provider of polygon is one: 127.0.0.1:")
        assert cursor().fault.count("speaks for chain '0x1', not for 0x89") == 2
        settings.NETWORK_SETTINGS = with_set(
            "polygon",
            rpc_urls=(
                ethereum,
                right,
            ),
        )
        tasks.watch_networks()
        assert "No provider" not in cursor().last_error, "one is right, so the other is at fault and no setting of ours"
        settings.NETWORK_SETTINGS = with_set("polygon", rpc_urls=(right,))
        tasks.watch_networks()
        assert (cursor().fault, cursor().failing_since) == ("", None)

    def test_a_fault_stays_while_nobody_can_say_that_it_is_right(
        self, harness: NodeHarness, settings: Settings, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with monkeypatch.context() as wrong:
            give_wrong_decimals(wrong)
            tasks.watch_networks()
        settings.NETWORK_SETTINGS = with_set("polygon", rpc_urls=("http://127.0.0.1:9",))
        tasks.watch_networks()
        assert cursor().fault == "DAI on polygon has 18 decimals, not 6."

    def test_nothing_is_paid_with_another_key_and_deposits_are_still_read(
        self, harness: NodeHarness, settings: Settings
    ) -> None:
        elsewhere = settings_of("polygon").rpc_urls[0].replace("127.0.0.1", "localhost")
        # Where nobody has looked at the key yet.
        settings.NETWORK_SETTINGS = with_set("polygon", rpc_urls=(elsewhere,), hot_wallet_key=devnet.PAYER_KEY)
        tasks.sweep()
        fault = f"EVM_HOT_WALLET is {devnet.HOT_WALLET}, but the key is that of {devnet.PAYER}."
        assert Wallet.objects.get().last_error == fault
        assert executor.run_round(PRODUCTION, "polygon") is False
        with pytest.raises(NotSetUp, match="but the key is that of"):
            executor.sign_sweep(
                environment=PRODUCTION,
                chain=registry.chain(PRODUCTION, "polygon"),
                asset=harness.profile.assets["USDC"],
                sequences=[1],
                record=lambda transfer: None,
            )
        assert not Transfer.objects.exists()
        tasks.watch_networks()
        assert (cursor().fault, cursor().failing_since) == ("", None)

    def test_the_web_process_asks_for_no_key(self, harness: NodeHarness, settings: Settings) -> None:
        settings.NETWORK_SETTINGS = with_set("polygon", hot_wallet_key="")
        harness.chain.set_up.require()
        tasks.watch_networks()
        assert cursor().fault == ""
