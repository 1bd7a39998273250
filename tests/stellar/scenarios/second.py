"""The second recorded scenario: path payments, claimable balances, a merge, channel accounts, effects."""

from __future__ import annotations

from stellar_sdk import Asset, Claimant, ClaimPredicate, TextMemo
from stellar_sdk.operation import (
    AccountMerge,
    ChangeTrust,
    ClaimClaimableBalance,
    CreateAccount,
    CreateClaimableBalance,
    ManageSellOffer,
    PathPaymentStrictReceive,
    PathPaymentStrictSend,
)

from tests.stellar.scenarios.running import Scenario

NAMES = ("issuer", "recv", "alice", "bob", "carol", "ch1", "ch2", "dave")
TRUSTED = (("USDC", "recv"), ("EURC", "alice"), ("USDC", "bob"), ("EURC", "bob"), ("FAKE", "alice"), ("USDC", "alice"))


def run(scenario: Scenario) -> None:
    make_accounts(scenario)
    pay_by_paths(scenario)
    set_aside(scenario)
    use_channels(scenario)
    bump = scenario.bumped("bob", 300, scenario.built("alice", scenario.pay("recv", "0.9"), memo=TextMemo("FB")))
    scenario.submit("fee_bump", bump)
    server, receiver = scenario.server, scenario.address("recv")
    inner = bump.transaction.inner_transaction_envelope.hash_hex()
    scenario.note("fb_inner_lookup", server.transactions().transaction(inner).call)
    everything = server.payments().for_account(receiver).join("transactions").include_failed(True)
    scenario.note("payments", everything.limit(200).call)
    scenario.note("effects", server.effects().for_account(receiver).limit(200).call)
    scenario.note("ops_cb", server.operations().for_account(receiver).limit(200).call)


def make_accounts(scenario: Scenario) -> None:
    submit, built, usdc, euro = scenario.submit, scenario.built, scenario.usdc, euro_of(scenario)
    assets = {"USDC": usdc, "EURC": euro, "FAKE": Asset("USDC", scenario.address("dave"))}
    submit("create", built("root", *(CreateAccount(scenario.address(name), "50") for name in NAMES)))
    trusted = [ChangeTrust(assets[code], source=scenario.address(name)) for code, name in TRUSTED]
    submit("trust", built("recv", *trusted, signers=["recv", "alice", "bob"]))
    issued = (scenario.pay("alice", "500", euro), scenario.pay("bob", "500"), scenario.pay("alice", "500"))
    submit("issue", built("issuer", *issued))


def pay_by_paths(scenario: Scenario) -> None:
    submit, built, receiver, euro = scenario.submit, scenario.built, scenario.address("recv"), euro_of(scenario)
    usdc, fake = scenario.usdc, Asset("USDC", scenario.address("dave"))
    submit("offer", built("bob", ManageSellOffer(usdc, euro, "200", "0.9")))
    received = PathPaymentStrictReceive(receiver, euro, "20", usdc, "10", [])
    submit("path_recv", built("alice", received, memo=TextMemo("PP1")))
    submit("path_send", built("alice", PathPaymentStrictSend(receiver, euro, "9", usdc, "1", []), memo=TextMemo("PP2")))
    muxed = PathPaymentStrictSend(scenario.muxed("recv", 5), euro, "9", usdc, "1", [])
    submit("path_send_mux", built("alice", muxed))
    submit("mux_source", built("alice", scenario.pay("recv", "1", source=scenario.muxed("alice", 9))))
    submit("fake_usdc_notrust", built("dave", scenario.pay("recv", "100", fake), memo=TextMemo("FAKE")))


def set_aside(scenario: Scenario) -> None:
    receiver, submit, built = scenario.address("recv"), scenario.submit, scenario.built
    later = ClaimPredicate.predicate_not(ClaimPredicate.predicate_before_relative_time(86400))
    claimants = [Claimant(receiver), Claimant(scenario.address("alice"), later)]
    created = CreateClaimableBalance(scenario.usdc, "3", claimants)
    submit("cb_create", built("alice", created, memo=TextMemo("CB1")))
    submit("merge", built("carol", AccountMerge(receiver)))
    scenario.note("claimable", scenario.server.claimable_balances().for_claimant(receiver).call)
    (found,) = scenario.answers["claimable"]["body"]["_embedded"]["records"]
    submit("cb_claim", built("recv", ClaimClaimableBalance(found["id"])))


def use_channels(scenario: Scenario) -> None:
    """Recorded were two transactions in one ledger, then three of one account in another, then one sent five times."""
    network, bob = scenario.horizon.network, scenario.address("bob")
    envelopes = [
        scenario.built(
            channel, *(scenario.pay("alice", amount, source=bob) for _ in range(50)), signers=[channel, "bob"]
        )
        for channel, amount in (("ch1", "0.1"), ("ch2", "0.2"))
    ]
    network.close_with(*reversed(envelopes))  # core orders a ledger by hashes; this is the order it had
    found = [scenario.server.transactions().transaction(each.hash_hex()).call() for each in envelopes]
    scenario.answers["channels"] = found
    sequence = int(scenario.server.load_account(scenario.address("alice")).sequence)
    chain = [scenario.built("alice", scenario.pay("recv", "0.5"), sequence=sequence + place) for place in range(3)]
    closed = network.close_with(*chain)
    scenario.answers["chain"] = [[place, closed[place].ledger] for place in (1, 0, 2)]  # as they were answered
    same = scenario.built("alice", scenario.pay("recv", "0.7"))
    scenario.answers["same5"] = [scenario.server.submit_transaction(same)["ledger"] for _ in range(5)]


def euro_of(scenario: Scenario) -> Asset:
    return Asset("EURC", scenario.address("issuer"))
