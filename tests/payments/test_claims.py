"""What is said of an on-chain transaction that somebody names: every answer, reached as it would be."""

from __future__ import annotations

import pytest

from payments.chains import registry
from payments.chains.errors import NetworkUnavailable
from payments.chains.simulated import control
from payments.chains.simulated.blocks import NATIVE
from payments.chains.simulated.models import SimulatedTransaction
from payments.chains.simulated.networks import address_named
from payments.claims.claims import MOST_TRANSFERS_SHOWN, explain_claim
from payments.deposits.models import ReadingRequest
from payments.services import cancel_payment
from payments.suspense.acceptance import accept_discrepancy
from tests.networks import look_alike
from tests.payments.claiming import UNKNOWN, claim, message, said
from tests.payments.scenes import (
    ETHEREUM,
    POLYGON,
    SANDBOX,
    STELLAR,
    confirm,
    deposit_of,
    discrepancy,
    end_window,
    make_payment,
    mine,
    mine_and_watch,
    part_of,
    pay,
    pay_without_memo,
    reorganise,
    watch,
)
from tests.stopping import is_halted

pytestmark = pytest.mark.django_db

# The whole transaction.


def test_a_hash_nobody_knows_is_said_to_be_known_nowhere() -> None:
    payment = make_payment(ETHEREUM)
    assert claim(payment, UNKNOWN) == {
        "object": "claim",
        "payment": payment.public_id,
        "transactionHash": UNKNOWN,
        "network": None,
        "status": "not_found",
        "message": (
            "No transaction with this hash is known on Ethereum (simulated) or Polygon (simulated). The hash may be "
            "wrong, the transaction may not have been sent yet or have been dropped, or it is on another network."
        ),
        "block": None,
        "confirmations": None,
        "requiredConfirmations": 3,
        "transferCount": 0,
        "transfers": [],
    }


def test_what_waits_for_a_block_is_pending() -> None:
    payment = make_payment(POLYGON)
    record = claim(payment, pay(payment))
    assert (record["status"], record["network"], record["block"]) == ("pending", "polygon", None)
    assert record["message"] == (
        "Polygon (simulated) knows the transaction, but it is in no block yet. Nothing has moved until it is in one."
    )


def test_what_the_payer_signed_finds_the_deposit_whose_fee_somebody_raised() -> None:
    payment = make_payment(STELLAR)
    in_the_block, signed = pay(payment), "ab" * 32
    SimulatedTransaction.objects.filter(transaction_hash=in_the_block).update(inner_hash=signed)
    mine_and_watch(STELLAR)
    assert said(payment, in_the_block) == said(payment, signed) == ("credited", [("credited", True)])


def test_a_failed_transaction_moved_nothing() -> None:
    payment = make_payment(ETHEREUM)
    forbidden = address_named(ETHEREUM, "somebody the coin refuses")
    control.describe_account(ETHEREUM, forbidden, refuses="destination_refused")
    refused = control.Part(part_of(payment, "1").contract, 1, forbidden)
    transaction_hash = control.pay_together(ETHEREUM, [part_of(payment, "100"), refused])
    mine_and_watch(ETHEREUM)
    record = claim(payment, transaction_hash)
    assert (record["status"], record["network"], record["transfers"]) == ("failed", "ethereum", [])
    assert record["block"] == registry.chain(SANDBOX, ETHEREUM).reading.head().height


def test_what_a_reorganisation_undid_for_good_never_left_the_payer() -> None:
    payment = make_payment(ETHEREUM)
    transaction_hash = pay(payment)
    mine_and_watch(ETHEREUM)
    assert said(payment, transaction_hash) == ("confirming", [("confirming", True)])
    reorganise(payment, 1, "dropped")
    assert said(payment, transaction_hash) == ("undone", [])


def test_what_a_reorganisation_put_back_into_the_pool_is_pending_again() -> None:
    payment = make_payment(ETHEREUM)
    transaction_hash = pay(payment)
    mine_and_watch(ETHEREUM)
    reorganise(payment, 1, "moved")
    assert said(payment, transaction_hash) == ("pending", [])
    mine_and_watch(ETHEREUM)
    assert said(payment, transaction_hash) == ("confirming", [("confirming", True)])


def test_a_network_that_does_not_answer_says_nothing_about_a_hash() -> None:
    payment = make_payment(ETHEREUM)
    control.outage(POLYGON, 60)
    with pytest.raises(NetworkUnavailable) as refused:
        explain_claim(payment, UNKNOWN)
    assert refused.value.retry_after_seconds == 15
    assert refused.value.message == "Polygon (simulated) cannot be asked right now. Try again in 15 seconds."


def test_one_network_that_knows_the_transaction_is_enough() -> None:
    payment = make_payment(ETHEREUM)
    transaction_hash = pay(payment)
    mine_and_watch(ETHEREUM)
    control.outage(POLYGON, 60)
    assert said(payment, transaction_hash) == ("confirming", [("confirming", True)])


# Money that matches.


def test_a_block_that_is_still_to_be_read_is_said_to_be_so() -> None:
    payment = make_payment(ETHEREUM)
    watch()
    transaction_hash = pay(payment)
    mine(ETHEREUM)
    record = claim(payment, transaction_hash)
    assert record["transfers"][0]["code"] == "not_read_yet"
    assert record["message"] == (
        f"It is in block {record['block']:,} of Ethereum (simulated), which is still being read. It shows up by itself "
        "in a moment."
    )
    assert not ReadingRequest.objects.exists()


def test_confirmations_are_counted_as_the_payment_counts_them() -> None:
    payment = make_payment(ETHEREUM)
    transaction_hash = pay(payment)
    for expected in (1, 2):
        mine_and_watch(ETHEREUM)
        record = claim(payment, transaction_hash)
        assert (record["status"], record["confirmations"], record["requiredConfirmations"]) == (
            "confirming",
            expected,
            3,
        )
        assert record["message"] == f"It matches, and has {expected} of 3 confirmations."
    mine_and_watch(ETHEREUM)
    assert message(payment, transaction_hash) == "It matches and is credited to this payment."


def test_finality_is_waited_for_where_the_amount_asks_for_it() -> None:
    payment = make_payment(ETHEREUM, amount="5000")
    transaction_hash = pay(payment)
    mine_and_watch(ETHEREUM, 2)
    assert said(payment, transaction_hash) == ("awaiting_finality", [("awaiting_finality", True)])
    assert message(payment, transaction_hash) == (
        "It matches and has the confirmations it needs. It counts once Ethereum (simulated) calls its block final."
    )


def test_a_credited_transfer_is_shown_with_all_its_facts() -> None:
    payment = make_payment(ETHEREUM)
    transaction_hash = pay(payment)
    confirm(payment)
    record, deposit = claim(payment, transaction_hash), deposit_of(transaction_hash)
    assert (record["status"], record["network"], record["block"]) == ("credited", "ethereum", deposit.height)
    assert record["transfers"] == [
        {
            "network": "ethereum",
            "cryptocurrency": "USDC",
            "tokenContract": deposit.contract,
            "amount": "100.000000",
            "from": deposit.sender,
            "to": payment.deposit_address,
            "memo": None,
            "payment": payment.public_id,
            "matched": True,
            "code": "credited",
            "message": "It matches and is credited to this payment.",
        }
    ]


def test_short_money_says_what_is_missing() -> None:
    payment = make_payment(ETHEREUM)
    transaction_hash = pay(payment, "40")
    confirm(payment)
    assert said(payment, transaction_hash) == ("underpaid", [("underpaid", True)])
    assert (
        message(payment, transaction_hash)
        == "It matches and is counted, but 60.00 USDC of what is due has not arrived."
    )


def test_too_much_money_says_how_much_too_much() -> None:
    payment = make_payment(ETHEREUM)
    transaction_hash = pay(payment, "130")
    confirm(payment)
    assert said(payment, transaction_hash) == ("overpaid", [("overpaid", True)])
    assert message(payment, transaction_hash) == (
        "It matches and is credited. In all, 30.00 USDC more than was due arrived; about that somebody decides apart."
    )


def test_late_money_waits_for_a_decision_and_then_counts() -> None:
    payment = end_window(make_payment(ETHEREUM))
    transaction_hash = pay(payment)
    confirm(payment)
    assert said(payment, transaction_hash) == ("late", [("late", True)])
    assert message(payment, transaction_hash) == (
        "It matches, but it was sent after the payment's time was over. It is kept until somebody decides to accept it "
        "or to give it back."
    )
    accept_discrepancy(discrepancy(payment), resolved_by="Ada")
    assert said(payment, transaction_hash) == ("credited", [("credited", True)])


def test_money_for_a_cancelled_payment_is_late_from_the_first_block_on() -> None:
    payment = make_payment(ETHEREUM)
    cancel_payment(payment)
    transaction_hash = pay(payment)
    mine_and_watch(ETHEREUM)
    assert message(payment, transaction_hash) == (
        "It matches, but it was sent after the payment's time was over. Once it is confirmed it is kept for a decision."
    )
    confirm(payment)
    assert said(payment, transaction_hash) == ("late", [("late", True)])


def test_on_a_halted_network_nothing_counts_until_a_person_has_looked() -> None:
    mine(ETHEREUM, 10)
    payment = make_payment(ETHEREUM)
    transaction_hash = pay(payment)
    mine_and_watch(ETHEREUM)
    control.reorg(ETHEREUM, control.deepest_reorg(ETHEREUM) + 1, "kept", force=True)
    watch()
    assert is_halted(ETHEREUM)
    assert said(payment, transaction_hash) == ("network_halted", [("network_halted", True)])
    unseen = pay(payment)
    mine(ETHEREUM)
    assert said(payment, unseen) == ("network_halted", [("network_halted", True)])
    assert not ReadingRequest.objects.exists()


# Money astray.


def test_another_coin_is_kept_for_a_decision() -> None:
    payment = make_payment(ETHEREUM)
    transaction_hash = pay(payment, "100", coin="DAI")
    mine_and_watch(ETHEREUM)
    assert message(payment, transaction_hash) == (
        "It came to this payment's address, but as 100.00 DAI; the payment asked for USDC on Ethereum (simulated). "
        "Once it is confirmed it is kept for a decision."
    )
    confirm(payment)
    assert said(payment, transaction_hash) == ("wrong_token", [("wrong_token", False)])
    accept_discrepancy(discrepancy(payment), resolved_by="Ada")
    assert message(payment, transaction_hash).endswith("Ethereum (simulated). It has been accepted.")


def test_the_right_coin_on_the_other_network_is_found_there() -> None:
    payment = make_payment(ETHEREUM)
    transaction_hash = pay(payment, "100", network=POLYGON)
    confirm(payment, on=POLYGON)
    record = claim(payment, transaction_hash)
    assert (record["status"], record["network"], record["transfers"][0]["matched"]) == (
        "wrong_network",
        "polygon",
        False,
    )
    assert record["message"] == (
        "It came to this payment's address, but as 100.00 USDC on Polygon (simulated); the payment asked for USDC on "
        "Ethereum (simulated). It is kept until somebody decides to accept it or to give it back."
    )


def test_a_token_nobody_registered_counts_for_nothing_whatever_it_calls_itself() -> None:
    payment = make_payment(ETHEREUM)
    part = control.Part(look_alike(ETHEREUM), 100_000_000, payment.deposit_address)
    transaction_hash = control.pay_together(ETHEREUM, [part])
    confirm(payment)
    [transfer] = claim(payment, transaction_hash)["transfers"]
    assert (transfer["code"], transfer["matched"]) == ("unknown_token", False)
    assert (transfer["cryptocurrency"], transfer["amount"]) == (None, None)
    assert transfer["tokenContract"] == look_alike(ETHEREUM)
    assert transfer["message"] == (
        f"It came to this payment's address, but the token {look_alike(ETHEREUM)} is not accepted, whatever it calls "
        "itself; the payment asked for USDC on Ethereum (simulated)."
    )


def test_the_networks_own_coin_counts_for_nothing() -> None:
    payment = make_payment(ETHEREUM)
    part = control.Part(NATIVE, 5 * 10**17, payment.deposit_address)
    transaction_hash = control.pay_together(ETHEREUM, [part])
    confirm(payment)
    [transfer] = claim(payment, transaction_hash)["transfers"]
    assert (transfer["code"], transfer["matched"]) == ("native_coin", False)
    assert (transfer["cryptocurrency"], transfer["tokenContract"], transfer["amount"]) == ("ETH", None, "0.500000")
    assert payment.native_coins.get().held == 5 * 10**17, "operators know of it now"


def test_a_transfer_of_nothing_pays_nothing() -> None:
    payment = make_payment(ETHEREUM)
    transaction_hash = pay(payment, "0")
    confirm(payment)
    assert said(payment, transaction_hash) == ("zero_amount", [("zero_amount", False)])


def test_a_transfer_to_somebody_else_is_none_of_this_payments() -> None:
    payment = make_payment(ETHEREUM)
    foreign = make_payment(ETHEREUM)
    transaction_hash = pay(foreign)
    confirm(foreign)
    record = claim(payment, transaction_hash)
    assert record["status"] == "other_address"
    assert record["message"] == "It went to an address that is not this payment's."
    assert (record["confirmations"], record["transfers"][0]["payment"]) == (None, None)


def test_another_payment_of_the_same_merchant_is_named() -> None:
    payment = make_payment(ETHEREUM)
    other = make_payment(POLYGON, merchant=payment.merchant)
    transaction_hash = pay(other)
    confirm(other)
    record = claim(payment, transaction_hash)
    assert record["status"] == "other_payment"
    assert record["message"] == f"It was sent for another payment of yours, {other.public_id}."
    assert record["transfers"][0]["payment"] == other.public_id


def test_the_most_telling_of_several_transfers_answers_for_the_whole() -> None:
    payment = make_payment(ETHEREUM)
    other = make_payment(ETHEREUM, merchant=payment.merchant)
    parts = [part_of(other, "5"), part_of(payment, "7", coin="DAI"), part_of(payment, "100")]
    transaction_hash = control.pay_together(ETHEREUM, parts)
    confirm(payment)
    assert said(payment, transaction_hash) == (
        "credited",
        [("wrong_token", False), ("credited", True), ("other_payment", False)],
    )


def test_what_is_not_shown_of_a_long_list_went_to_strangers() -> None:
    payment = make_payment(ETHEREUM)
    stranger = control.Part(part_of(payment, "1").contract, 1, address_named(ETHEREUM, "a stranger"))
    parts = [stranger] * MOST_TRANSFERS_SHOWN + [part_of(payment, "100")]
    transaction_hash = control.pay_together(ETHEREUM, parts)
    confirm(payment)
    record = claim(payment, transaction_hash)
    assert (record["transferCount"], len(record["transfers"])) == (MOST_TRANSFERS_SHOWN + 1, MOST_TRANSFERS_SHOWN)
    assert record["transfers"][0]["code"] == record["status"] == "credited"


# Networks whose payers share an address.


def test_money_without_its_memo_is_found_at_the_shared_address() -> None:
    payment = make_payment(STELLAR)
    transaction_hash = pay_without_memo(payment, "100")
    confirm(payment)
    assert said(payment, transaction_hash) == ("no_memo", [("no_memo", False)])
    assert message(payment, transaction_hash) == (
        "It came to the right address as 100.00 USDC, but without the memo that says whose it is. It is kept until "
        "somebody decides to accept it or to give it back."
    )


def test_another_memo_is_somebody_elses_money() -> None:
    payment, foreign = make_payment(STELLAR), make_payment(STELLAR)
    transaction_hash = pay(foreign)
    confirm(foreign)
    assert said(payment, transaction_hash) == ("other_memo", [("other_memo", False)])
    own = make_payment(STELLAR, merchant=payment.merchant)
    transaction_hash = pay(own)
    confirm(own)
    assert said(payment, transaction_hash) == ("other_payment", [("other_payment", False)])


def test_a_memo_that_fits_is_credited() -> None:
    payment = make_payment(STELLAR)
    transaction_hash = pay(payment)
    confirm(payment)
    assert said(payment, transaction_hash) == ("credited", [("credited", True)])
