"""Money of no payment goes back to whoever sent it: proven by the sender's key, agreed to by two, paid once."""

from __future__ import annotations

import base64
import re
from typing import Literal

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone, translation
from pytest_django.fixtures import Settings
from stellar_sdk import Keypair

from config.errors import DomainError, InvalidParameter
from merchants.four_eyes.models import ProposalStatus
from merchants.ledger.balances import balance
from merchants.ledger.chart import AccountKind
from merchants.ledger.posting import AccountRef
from merchants.models import User
from payments.chains import registry
from payments.chains.evm.keys.accounts import Account
from payments.chains.simulated import control
from payments.deposits.models import PayerReturn
from payments.models import Deposit, Discrepancy, Payment
from payments.states import DepositStatus
from payments.suspense import sender_returns
from payments.suspense.acceptance import DiscrepancyResolved, take_discrepancy
from payments.suspense.attribution import propose_attribution
from payments.suspense.destinations import Destination
from payments.suspense.payer_proofs import NotReturnable, ProofExpired, new_challenge, prove_sender, return_link
from payments.transfers.models import Payout
from payments.transfers.owners import follow_payouts
from tests.evm.personal_signatures import personal_signature
from tests.factories import make_user
from tests.house.scenes import unit
from tests.networks import ETHEREUM, POLYGON, STELLAR
from tests.payments.scenes import (
    BLOCKS_UNTIL_FINAL,
    SANDBOX,
    assert_all_is_well,
    make_payment,
    mine_and_watch,
    watch,
)
from tests.payments.test_unasked_money import last_number, reconcile
from tests.stopping import lift_halt
from tests.transfers.scenes import finish, hot, on_chain, somebody, stock, wait_no_longer

pytestmark = pytest.mark.django_db(transaction=True)

EVM_KEY, STELLAR_KEY = "0x" + "11" * 32, Keypair.from_raw_ed25519_seed(b"\x11" * 32)
COINS = 100


def amount_on(network: str) -> int:
    return COINS * unit(network)


def sender_on(network: str) -> str:
    return STELLAR_KEY.public_key if network == STELLAR else str(Account.from_key(EVM_KEY).address)


def come(network: str) -> Deposit:
    """The sender pays the account of all without a memo, or an address that no payment has yet; it is final."""
    payment = make_payment(network)
    chain = registry.chain(SANDBOX, network)
    at = payment.deposit_address if network == STELLAR else chain.deposit_address(last_number() + 1).address
    part = control.Part(registry.asset(SANDBOX, network, "USDC").contract, amount_on(network), at)
    named = control.pay_together(network, [part], sender=sender_on(network))
    mine_and_watch(network, BLOCKS_UNTIL_FINAL[network] or 1)
    watch()
    return Deposit.objects.get(transaction_hash=named)


def signature_of(network: str, text: str, key: Keypair = STELLAR_KEY) -> str:
    if network == STELLAR:
        return base64.b64encode(key.sign_message(text)).decode()
    return personal_signature(EVM_KEY, text.encode())


def prove(deposit: Deposit, to: str = "") -> PayerReturn:
    where = Destination(to or somebody(deposit.network, "the sender's other wallet"))
    challenge = new_challenge(deposit, where, now=timezone.now())
    return prove_sender(deposit, token=challenge.token, signature=signature_of(deposit.network, challenge.text))


def agree(returned: PayerReturn, operator: User) -> bool:
    said = sender_returns.propose_return(returned, by=operator, reason="no payment lacks it")
    return said.status == ProposalStatus.DONE


@pytest.fixture
def people() -> tuple[User, User]:
    return make_user(is_staff=True, is_superuser=True), make_user(is_staff=True, is_superuser=True)


def leave(network: str) -> None:
    for _ in range(2):
        wait_no_longer()
        finish(network, rounds=1)
    follow_payouts()


def lost(network: str) -> int:
    return balance(AccountRef(network, "USDC", AccountKind.LOSS), environment=SANDBOX)


def held(deposit: Deposit) -> list[tuple[str, str]]:
    return list(deposit.discrepancies.order_by("pk").values_list("kind", "status"))


KINDS = {STELLAR: "no_memo", ETHEREUM: "unasked", POLYGON: "unasked"}


def test_what_its_network_has_just_undone_goes_neither_back_nor_to_a_payment(people: tuple[User, User]) -> None:
    deposit = come(STELLAR)
    returned = prove(deposit)
    Deposit.objects.update(status=DepositStatus.ORPHANED)  # and nothing is booked yet
    with pytest.raises(DiscrepancyResolved):
        agree(returned, people[0])
    with pytest.raises(InvalidParameter, match="just undone"):
        propose_attribution(
            deposit.discrepancies.get(), payment_id=Payment.objects.get().public_id, reason="theirs", by=people[0]
        )


@pytest.mark.parametrize("network", [STELLAR, ETHEREUM, POLYGON])
def test_its_sender_gets_it_back_once_two_have_agreed(network: str, people: tuple[User, User]) -> None:
    if network != STELLAR:
        stock(network, amount_on(network))
    deposit = come(network)
    returned = prove(deposit)
    ada, ben = people
    assert not agree(returned, ada)
    assert not agree(returned, ada)
    assert (Payout.objects.count(), held(deposit)) == (0, [(KINDS[network], "open")])
    assert agree(returned, ben)
    assert held(deposit) == [(KINDS[network], "refunded")]
    assert_all_is_well()
    for again in (lambda: agree(returned, ada), lambda: prove(deposit), lambda: take_again(deposit)):
        with pytest.raises(DomainError):
            again()
    leave(network)
    returned.refresh_from_db()
    assert (returned.status, on_chain(network, returned.recipient)) == ("completed", amount_on(network))
    assert returned.transaction_hash
    with pytest.raises(NotReturnable):
        prove(deposit)
    follow_payouts()
    assert (Payout.objects.count(), on_chain(network, returned.recipient)) == (1, amount_on(network))
    assert_all_is_well()


def take_again(deposit: Deposit) -> None:
    """The other ways out: to a payment, and to the operator."""
    waiting = deposit.discrepancies.get()
    payment = make_payment(deposit.network)
    with pytest.raises(DiscrepancyResolved):
        propose_attribution(waiting, payment_id=payment.public_id, by=make_user(is_staff=True), reason="mine")
    take_discrepancy(waiting, resolved_by="Ada")


def test_reconcile_is_clean_after_it(people: tuple[User, User]) -> None:
    deposit = come(STELLAR)
    returned = prove(deposit)
    [agree(returned, each) for each in people]
    leave(STELLAR)
    watch()
    assert hot(STELLAR) == 0
    code, said = reconcile()
    assert code == 0, said


def test_only_the_key_of_the_sender_proves_it_and_only_what_it_has_signed_is_paid(people: tuple[User, User]) -> None:
    deposit = come(STELLAR)
    mine = Destination(somebody(STELLAR, "the sender"))
    challenge = new_challenge(deposit, mine, now=timezone.now())
    for bad, error in (
        (signature_of(STELLAR, challenge.text, Keypair.random()), "Another account has signed"),
        (signature_of(STELLAR, challenge.text + "!"), "Another account has signed"),
        ("c2hvcnQ=", "88 characters"),
        ("", "Paste the signature"),
    ):
        with pytest.raises(InvalidParameter, match=error):
            prove_sender(deposit, token=challenge.token, signature=bad)
    other = come(STELLAR)
    with pytest.raises(ProofExpired):
        prove_sender(other, token=challenge.token, signature=signature_of(STELLAR, challenge.text))
    with pytest.raises(ProofExpired):
        prove_sender(deposit, token=challenge.token[:-1], signature=signature_of(STELLAR, challenge.text))
    assert not PayerReturn.objects.exists()

    returned = prove(deposit)
    PayerReturn.objects.filter(pk=returned.pk).update(recipient=somebody(STELLAR, "a thief"))
    with pytest.raises(InvalidParameter, match="not what the sender has signed"):
        agree(returned, people[0])
    PayerReturn.objects.filter(pk=returned.pk).update(signed_text=returned.signed_text.replace("100", "101"))
    with pytest.raises(InvalidParameter, match="Another account has signed"):
        agree(returned, people[0])
    assert not Payout.objects.exists()


def test_what_was_signed_for_other_money_lets_nothing_out(people: tuple[User, User]) -> None:
    """Who can write rows has old signatures of the same sender, and no new ones."""
    deposit, other = come(STELLAR), come(STELLAR)
    returned, signed_for_other = prove(deposit), prove(other)
    mine = PayerReturn.objects.filter(pk=returned.pk)
    stolen = {name: getattr(signed_for_other, name) for name in ("recipient", "signed_text", "signature")}
    for change in (stolen, {"amount": 2 * deposit.amount}, {"asset": "USDT"}):
        before = mine.values(*change).get()
        mine.update(**change)
        with pytest.raises(InvalidParameter, match="not what the sender has signed"):
            agree(returned, people[0])
        mine.update(**before)
    with translation.override("de"):  # what an operator reads is in another language than what was signed
        assert [agree(returned, each) for each in people] == [False, True]


def test_a_message_names_who_asks_and_is_good_once(people: tuple[User, User], settings: Settings) -> None:
    deposit = come(STELLAR)
    challenge = new_challenge(deposit, Destination(somebody(STELLAR, "a wallet")), now=timezone.now())
    assert f"\nAsked at: {settings.PUBLIC_URL.removeprefix('http://')}\n" in challenge.text
    signature = signature_of(STELLAR, challenge.text)
    first = prove_sender(deposit, token=challenge.token, signature=signature)
    assert prove_sender(deposit, token=challenge.token, signature=signature) == first
    prove(deposit)
    with pytest.raises(ProofExpired):  # it would take the place of the newer one
        prove_sender(deposit, token=challenge.token, signature=signature)
    second = PayerReturn.objects.get(status="proven")
    [agree(second, each) for each in people]
    sender_returns.call_back(second, by=people[0])
    with pytest.raises(ProofExpired):
        prove_sender(deposit, token=challenge.token, signature=signature)


def test_a_sender_who_names_another_address_has_to_be_agreed_to_anew(people: tuple[User, User]) -> None:
    deposit = come(STELLAR)
    first = prove(deposit)
    ada, ben = people
    assert not agree(first, ada)
    second = prove(deposit, somebody(STELLAR, "a third wallet"))
    with pytest.raises(sender_returns.ReturnDecided):
        agree(first, ben)
    assert (agree(second, ada), agree(second, ben)) == (False, True)
    leave(STELLAR)
    assert on_chain(STELLAR, second.recipient) == amount_on(STELLAR)
    assert on_chain(STELLAR, first.recipient) == 0
    assert_all_is_well()


def test_what_could_not_be_paid_back_can_be_asked_for_again_and_is_paid_once(people: tuple[User, User]) -> None:
    deposit = come(STELLAR)
    first = prove(deposit)
    [agree(first, each) for each in people]
    sender_returns.call_back(first, by=people[0])
    first.refresh_from_db()
    assert (first.status, held(deposit)) == ("failed", [("no_memo", "open")])
    assert_all_is_well()
    second = prove(deposit)
    [agree(second, each) for each in people]
    leave(STELLAR)
    assert on_chain(STELLAR, second.recipient) == amount_on(STELLAR)
    assert PayerReturn.objects.filter(status="completed").count() == 1
    assert_all_is_well()


def undo(network: str, outcome: Literal["dropped", "moved"]) -> None:
    """Its network breaks its word about what is final; an operator has looked."""
    control.reorg(network, 1, outcome, force=True)
    watch()
    lift_halt(network)
    watch()
    watch()


def test_the_house_bears_what_a_network_undoes_after_it_has_left_and_is_paid_nothing_twice(
    people: tuple[User, User],
) -> None:
    deposit = come(STELLAR)
    returned = prove(deposit)
    [agree(returned, each) for each in people]
    undo(STELLAR, "dropped")
    assert (lost(STELLAR), held(deposit)) == (amount_on(STELLAR), [("no_memo", "void")])
    assert_all_is_well(without={"I14"})  # which asks the house for the coins
    sender_returns.call_back(returned, by=people[0])
    assert (lost(STELLAR), Payout.objects.get().status) == (0, "cancelled")
    with pytest.raises(NotReturnable):
        prove(deposit)
    assert_all_is_well()


def test_what_is_there_again_after_it_went_back_is_the_houses(people: tuple[User, User]) -> None:
    deposit = come(STELLAR)
    returned = prove(deposit)
    [agree(returned, each) for each in people]
    undo(STELLAR, "moved")
    mine_and_watch(STELLAR, 2)
    watch()
    assert (lost(STELLAR), held(deposit)) == (0, [("no_memo", "void"), ("no_memo", "refunded")])
    with pytest.raises(NotReturnable):
        prove(deposit)
    assert_all_is_well()
    leave(STELLAR)
    assert on_chain(STELLAR, returned.recipient) == amount_on(STELLAR)
    assert (hot(STELLAR), Payout.objects.count()) == (0, 1)
    assert_all_is_well()


def test_the_sender_asks_on_a_page_and_operators_agree_in_the_admin(people: tuple[User, User]) -> None:
    deposit = come(STELLAR)
    operator = Client()
    operator.force_login(people[0])
    waiting = Discrepancy.objects.get()
    link = return_link(deposit)
    listed = operator.get(reverse("admin:payments_discrepancy_change", args=[waiting.pk])).content.decode()
    assert "/return/" in listed
    path = "/return/" + link.rpartition("/")[2]
    payer = Client()
    assert payer.get("/return/nonsense").status_code == 404
    assert STELLAR_KEY.public_key[:4] in payer.get(path).content.decode()
    wrong = payer.post(path, {"destination": "GABC"}).content.decode()
    assert "field__error" in wrong or "is no" in wrong
    where = somebody(STELLAR, "the sender's other wallet")
    asked = payer.post(path, {"destination": where}).content.decode()
    assert f"To be paid to: {where}" in asked
    [token] = re.findall(r'name="token" value="([^"]+)"', asked)
    refused = payer.post(path, {"token": token, "signature": "nonsense"}).content.decode()
    assert "This is no signature" in refused
    assert f"To be paid to: {where}" in refused
    [text] = re.findall(r'data-text="([^"]+)"', refused)
    done = payer.post(path, {"token": token, "signature": signature_of(STELLAR, text)}, follow=True)
    assert "Two people check it" in done.content.decode()
    returned = PayerReturn.objects.get()
    for person in people:
        client = Client()
        client.force_login(person)
        chosen = {"action": "give_back", "_selected_action": [str(returned.pk)]}
        address = reverse("admin:payments_payerreturn_changelist")
        assert STELLAR_KEY.public_key in client.post(address, chosen, follow=True).content.decode()
        client.post(address, {**chosen, "confirmed": "yes", "note": "nobody lacks it"}, follow=True)
    assert "Your money is on its way" in payer.get(path).content.decode()
    leave(STELLAR)
    assert PayerReturn.objects.get().transaction_hash in payer.get(path).content.decode()
