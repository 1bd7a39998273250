"""What operators and merchants decide about money: rates, currencies, wallets, debts, and what the house takes."""

from __future__ import annotations

from fractions import Fraction

from django.conf import settings

from merchants.ledger.chart import AccountKind
from merchants.services import update_settings
from payments.chains.simulated.networks import address_named
from payments.treasury.house.addresses import add_address
from payments.treasury.house.withdrawals import propose_withdrawal
from settlements.debts.ending import propose_end, propose_taking_back
from settlements.models import Debt, DebtDecision, DebtEnding
from tests.accounts.comparing import ComparedWorld
from tests.accounts.world import NETWORKS, POTS, SANDBOX, Difference, set_price

PRICES = ("0.98", "0.995", "1", "1.0007", "1.03")


class Policies(ComparedWorld):
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
        address = address_named(network, f"wallet {len(self.done)} of {row.pk}")
        self.name_wallet(row, merchant, network, address)

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
