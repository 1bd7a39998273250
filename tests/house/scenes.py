"""The house takes its own, in words its tests share. Coins have six digits there: amounts are whole coins."""

from __future__ import annotations

import io

from django.core.management import CommandError, call_command

from merchants.four_eyes.models import Proposal
from merchants.four_eyes.services import agree
from merchants.ledger.balances import balance
from merchants.ledger.chart import AccountKind
from merchants.ledger.posting import AccountRef
from merchants.models import User
from merchants.services import change_fee
from payments import tasks as payment_tasks
from payments.transfers.owners import follow_payouts
from payments.treasury.house.addresses import add_address
from payments.treasury.house.house_balance import HouseBalance, house_balances
from payments.treasury.house.models import AllowedAddress, Withdrawal
from payments.treasury.house.withdrawals import propose_withdrawal
from settlements.models import Settlement
from tests.factories import make_merchant
from tests.payments.scenes import BLOCKS_UNTIL_FINAL, make_payment, mine_and_watch, pay_and_confirm
from tests.settlements.scenes import advance, settle_one
from tests.transfers.scenes import ETHEREUM, SANDBOX, finish, somebody, wait_no_longer

COIN = 10**6
FEE = 10
"""What a settlement of a hundred coins leaves to the house."""

People = tuple[User, User]


def earn_fee(network: str = ETHEREUM) -> Settlement:
    """A merchant is paid 90 of 100 coins: the house has earned ten, which came from a payer."""
    merchant = make_merchant()
    change_fee(merchant=merchant, fee_bps=1000)
    payment = pay_and_confirm(make_payment(network, amount="100", merchant=merchant))
    mine_and_watch(payment.network, BLOCKS_UNTIL_FINAL[payment.network])
    settlement = advance(settle_one(merchant))
    leave(network)
    settlement = advance(settlement)
    assert settlement.status == "completed"
    return settlement


def its_address(people: People, network: str = ETHEREUM, name: str = "the house's bank") -> AllowedAddress:
    """An address that two people have let into the allow list."""
    listed, proposal = add_address(
        environment=SANDBOX, network=network, address=somebody(network, name), label="Bank", by=people[0]
    )
    agree(proposal, by=people[1])
    listed.refresh_from_db()
    assert listed.is_allowed
    return listed


def propose(address: AllowedAddress, coins: int, *, by: User) -> Proposal:
    return propose_withdrawal(address, code="USDC", amount=coins * unit(address.network), reason="rent", by=by)


def withdraw(address: AllowedAddress, coins: int, people: People) -> Withdrawal:
    """Proposed by one and agreed to by the other; reserved, and not sent yet."""
    agree(propose(address, coins, by=people[0]), by=people[1])
    return Withdrawal.objects.latest("pk")


def unit(network: str) -> int:
    """Base units of a coin."""
    return 10**7 if network == "stellar" else COIN


def leave(network: str = ETHEREUM) -> None:
    """What waits for coins is swept for, whatever may leave does, becomes final, and its withdrawals end."""
    for _ in range(3):
        payment_tasks.sweep()
        wait_no_longer()
        finish(network, rounds=1)
    follow_payouts()


def house(network: str = ETHEREUM) -> HouseBalance:
    """What the house has in USDC."""
    [found] = [each for each in house_balances(SANDBOX) if (each.network, each.asset) == (network, "USDC")]
    return found


def held_in(kind: AccountKind, network: str = ETHEREUM) -> int:
    return balance(AccountRef(network, "USDC", kind), environment=SANDBOX)


def reconcile() -> int:
    """The exit code of a full run, both environments, the networks asked."""
    return run("reconcile", "--full")[0]


def run(name: str, *arguments: str, **options: object) -> tuple[int, str]:
    """Exit code and output of a command."""
    out = io.StringIO()
    try:
        call_command(name, *arguments, stdout=out, stderr=out, no_color=True, **options)
    except SystemExit as stop:
        return int(stop.code or 0), out.getvalue()
    except CommandError as error:
        return error.returncode, f"{out.getvalue()}{error}"
    return 0, out.getvalue()
