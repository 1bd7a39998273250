"""What operators and merchants decide about money: rates, currencies, wallets, debts, and what the house takes."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from django.conf import settings
from django.utils import timezone

from merchants.ledger.chart import AccountKind
from merchants.models import Merchant as MerchantRow
from merchants.services import update_settings
from payments.chains.simulated.networks import address_named
from payments.merchant_wallets.models import MerchantWallet
from payments.merchant_wallets.services import cancel_change, set_wallet
from payments.treasury.house.addresses import add_address
from payments.treasury.house.withdrawals import propose_withdrawal
from settlements.debts.ending import propose_end, propose_taking_back
from settlements.models import Debt, DebtDecision, DebtEnding
from settlements.models import Settlement as SettlementRow
from settlements.services import declare_wallet_lost
from tests.accounts.pages import ShownWorld
from tests.accounts.world import NETWORKS, POTS, SANDBOX, Difference, set_price

PRICES = ("0.98", "0.995", "1", "1.0007", "1.03")


class Policies(ShownWorld):
    """What is decided about money, beside payments, refunds and settlements themselves."""

    def move_rate(self) -> None:
        """A DAI is worth something else from now on."""
        price = self.chance.choice(PRICES)
        set_price("DAI", price)
        self.market.dollars["DAI"] = Fraction(price)

    def back_to_par(self) -> None:
        set_price("DAI", "1")
        self.market.dollars.clear()

    def promise_rates(self) -> bool:
        """Whether the settlements that are made now are promised the rates of now."""
        settings.CONVERSION_RATE = self.chance.choice(["when_paid", "when_made"])
        return bool(settings.CONVERSION_RATE == "when_made")

    def change_currency(self) -> None:
        row, merchant = self.chance.choice(self.merchants)
        merchant.currency = self.chance.choice(["USDC", "USDC", "DAI"])
        update_settings(merchant=row, environment=SANDBOX, changes={"settlement_currency": merchant.currency})

    def change_wallet(self) -> None:
        """A merchant is paid at another wallet, for payments that name the old one as well.

        Only where debts stay in their coins: rounding of what repays one elsewhere is by wallet.
        """
        if self.repays_from_other_coins:
            return
        row, merchant = self.chance.choice(self.merchants)
        network = self.chance.choice(NETWORKS)
        if (network, merchant.wallets[network]) in merchant.lost:
            return  # another one is named already
        self.name_wallet(row, merchant, network, self._new_wallet(row, network))

    def lose_wallet(self) -> None:
        """A merchant names another wallet, which is in use after a day, and says that the key of its own is lost.

        What is for it waits until then, with what settlements come back that were not signed yet.
        """
        if self.repays_from_other_coins:
            return
        row, merchant = self.chance.choice(self.merchants)
        network = self.chance.choice(NETWORKS)
        lost = merchant.wallets[network]
        if (network, lost) in merchant.lost:
            return
        own: Any = {"merchant": row, "environment": SANDBOX, "network": network}
        by = self.member_of(row)
        settings.SANDBOX_WALLET_CHANGE_WAIT_HOURS = 24
        try:
            set_wallet(**own, address=self._new_wallet(row, network), label="", by=by)
            done = declare_wallet_lost(network=network, address=lost, environment=SANDBOX, by=by)
        finally:
            settings.SANDBOX_WALLET_CHANGE_WAIT_HOURS = 0
        merchant.lost.add((network, lost))
        pending = SettlementRow.objects.filter(**own, destination=lost, status="pending")
        if [str(each) for each in pending.filter(payout__transfer__isnull=True)]:
            raise Difference(f"settlements to {lost} are not called back, though nothing is signed for them")
        if any(each.payout is not None and each.payout.transfer_id is not None for each in done.back):
            raise Difference(f"settlements to {lost} are called back, though they are signed")
        self.wallets_lost += 1
        self.note_ended()

    def end_wait(self) -> None:
        """A day after a key was lost the other wallet is paid; or the key was found before, and all is as it was."""
        waiting = [(row, merchant, *place) for row, merchant in self.merchants for place in sorted(merchant.lost)]
        if not waiting:
            return
        row, merchant, network, lost = self.chance.choice(waiting)
        changes = MerchantWallet.objects.filter(merchant=row, network=network, status__in=["waiting", "lost"])
        merchant.lost.remove((network, lost))
        if self.chance.random() < 0.3:
            for each in changes:
                cancel_change(each, by=self.member_of(row).user)
            return
        address = changes.get(status="waiting").address
        merchant.wallets[network] = address
        self.wallets[row.pk, network].add(address)
        changes.update(takes_effect_at=timezone.now())
        self.change_wallets()

    def _new_wallet(self, row: MerchantRow, network: str) -> str:
        return address_named(network, f"wallet {len(self.done)} of {row.pk}")

    def end_debt(self) -> None:
        """The operator writes off what a merchant owes, or a part of it, or was paid it elsewhere."""
        owing = [(row, merchant, coin) for row, merchant in self.merchants for coin in merchant.owed]
        if not owing:
            return
        row, merchant, coin = self.chance.choice(owing)
        amount = self.chance.choice([merchant.owed[coin], self.chance.randrange(1, merchant.owed[coin] + 1)])
        ending = self.chance.choice(list(DebtEnding))
        debt = Debt.objects.get(
            owner=str(row.pk), kind=AccountKind.MERCHANT_RECEIVABLE, network=coin.network, asset=coin.code
        )
        propose_end(debt, amount=amount, ending=ending, reason="It is so.", by=self.operator)
        made = DebtDecision.objects.filter(merchant=row).latest("pk")
        if int(made.amount) != amount:
            raise Difference(f"{made} ends {made.amount} instead of {amount}")
        merchant.end_debt(coin, amount, str(ending))
        self.debts_ended.append((made, merchant, coin))

    def owe_again(self) -> None:
        if self.debts_ended:
            made, merchant, coin = self.debts_ended.pop(self.chance.randrange(len(self.debts_ended)))
            propose_taking_back(made, reason="It was not so.", by=self.operator)
            merchant.end_debt(coin, -int(made.amount), made.ending)

    def withdraw(self) -> None:
        """The house takes coins of its own."""
        coin = self.chance.choice(POTS)
        if coin.network not in self.its_addresses:
            address = address_named(coin.network, f"the house of {self.merchants[0][0].pk}")
            self.its_addresses[coin.network], _ = add_address(
                environment=SANDBOX, network=coin.network, address=address, label="Bank", by=self.operator
            )
        amount = self.chance.randrange(1, 5_000) * 10 ** (coin.decimals - 2)
        propose_withdrawal(
            self.its_addresses[coin.network], code=coin.code, amount=amount, reason="rent", by=self.operator
        )
        owed = self.owed_before[coin] + sum(merchant.owed.get(coin, 0) for _, merchant in self.merchants)
        self.house.withdraw(coin, amount, owed=owed)
        self.withdrawals += 1
