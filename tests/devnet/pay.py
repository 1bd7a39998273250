"""`manage.py devnet_pay`: lets the payer of the local networks pay an address or a payment link."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from typing import Any
from urllib.parse import parse_qs, urlsplit

from django.core.management.base import BaseCommand, CommandError, CommandParser

from config.coins import COINS
from config.money import to_units
from payments.chains.errors import ChainError
from payments.chains.evm import abi
from payments.chains.evm.nodes.rpc import Rpc
from tests.evm.network import devnet
from tests.stellar.network import client, keys

STELLAR_DECIMALS = 7


class Command(BaseCommand):
    help = "Pays from the payer of the networks that `manage.py devnet` runs, whose coins are worth nothing."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("to", help="A G, M or 0x address, or the link of a stellar payment (web+stellar:pay?…).")
        parser.add_argument("amount", nargs="?", help="Such as 12.5. A link has one already.")
        parser.add_argument("coin", nargs="?", choices=COINS, help="A link has one already.")
        parser.add_argument("--memo", help="On stellar: digits are sent as memo id, anything else as memo text.")
        parser.add_argument("--network", choices=devnet.networks(), help="For an 0x address, which is on all of these.")

    def handle(self, *, to: str, amount: str | None, coin: str | None, **options: Any) -> None:
        asked = {"to": to, "amount": amount, "coin": coin, "memo": options["memo"]}
        if to.startswith("web+stellar:"):
            asked = _read(to) | {name: value for name, value in asked.items() if value and name != "to"}
        if not (asked["amount"] and asked["coin"]):
            raise CommandError("Say how much of which coin, such as: 12.5 USDC.")
        try:
            is_evm = str(asked["to"]).startswith("0x")
            sent = _pay_evm(options["network"], **asked) if is_evm else _pay_stellar(**asked)
        except (client.Refused, ChainError, ValueError, InvalidOperation) as error:
            raise CommandError(str(error)) from error
        self.stdout.write(sent)


def _read(link: str) -> dict[str, str | None]:
    said = {name: values[-1] for name, values in parse_qs(urlsplit(link).query).items()}
    return {
        "to": said.get("destination"),
        "amount": said.get("amount"),
        "coin": said.get("asset_code"),
        "memo": said.get("memo"),
    }


def _pay_stellar(to: str, amount: str, coin: str, memo: str | None) -> str:
    """The transaction's hash."""
    stroops = to_units(Decimal(amount), STELLAR_DECIMALS)
    note = int(memo) if memo and memo.isdigit() else memo
    return str(client.turn("pay", sender=keys.PAYER_KEY, destination=to, code=coin, stroops=stroops, memo=note))


def _pay_evm(network: str | None, to: str, amount: str, coin: str, memo: str | None) -> str:
    if network is None:
        raise CommandError(f"On which network? --network {' or '.join(devnet.networks())}.")
    profile = devnet.profile(network)
    data = abi.call("transfer(address,uint256)", to, to_units(Decimal(amount), profile.decimals[coin]))
    wanted = {"from": devnet.PAYER, "to": devnet.token(coin), "data": "0x" + data.hex()}
    return str(Rpc(devnet.url(network), chain_id=profile.evm_chain_id).call("eth_sendTransaction", wanted))
