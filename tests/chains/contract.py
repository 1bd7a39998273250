"""The contract of every chain adapter: what it reads. What it sends is in sending.py.

An adapter passes by subclassing with a `harness` fixture; nothing here knows which network it talks to.
"""

from __future__ import annotations

import pytest

from payments.chains.errors import ChainUnavailable, FinalityViolation, InvalidAddress, NotSetUp
from payments.chains.protocol.chain import Chain
from payments.chains.protocol.transfers import FoundTransaction
from tests.chains.harness import Harness, Outcome, Reader, Watched

ONE = 1_000_000


class Scene:
    """A harness with one payment's address on it."""

    def __init__(self, harness: Harness, sequence: int = 7) -> None:
        self.harness = harness
        self.chain: Chain = harness.chain
        self.to = self.chain.deposit_address(sequence)
        self.usdc = self.chain.profile.assets["USDC"]
        self.reader = Reader(self.chain, self.to.address)
        self.reader.read()

    def part(self, amount: int = ONE, contract: str | None = None) -> tuple[str, int, str, str | None]:
        return (contract or self.usdc.contract, amount, self.to.address, self.to.memo)

    def pay(self, amount: int = ONE) -> str:
        return self.harness.pay(self.part(amount))

    def require_transfers_of_nothing(self) -> None:
        if not self.harness.has_transfers_of_nothing:
            pytest.skip(f"{self.chain.profile.network} takes no transfer of nothing")

    def require_reorgs(self, depth: int = 1) -> None:
        if self.harness.deepest_reorg < depth:
            pytest.skip(f"{self.chain.profile.network} never undoes {depth} blocks")


@pytest.fixture
def scene(harness: Harness) -> Scene:
    return Scene(harness)


class AddressContract:
    def test_the_same_number_always_gives_the_same_address(self, harness: Harness) -> None:
        assert harness.chain.deposit_address(41) == harness.chain.deposit_address(41)

    def test_different_numbers_never_share_address_and_memo(self, harness: Harness) -> None:
        places = {harness.chain.deposit_address(sequence) for sequence in range(500)}
        assert len({(place.address, place.memo) for place in places}) == 500

    def test_its_own_addresses_are_spelled_canonically(self, harness: Harness) -> None:
        place = harness.chain.deposit_address(7)
        assert harness.chain.parse_address(place.address) == place.address
        if place.muxed is not None:
            assert harness.chain.parse_address(place.muxed) == place.muxed
        payer = harness.chain.payout_address()
        assert harness.chain.parse_address(payer) == payer

    def test_what_is_no_address_is_refused(self, harness: Harness) -> None:
        for text in ("", "0x", "not an address", "0" * 42, "G" * 56):
            with pytest.raises(InvalidAddress):
                harness.chain.parse_address(text)

    def test_a_link_names_address_token_and_memo(self, harness: Harness) -> None:
        place, asset = harness.chain.deposit_address(7), harness.chain.profile.assets["DAI"]
        link = harness.chain.payment_uri(to=place, asset=asset, amount=ONE, message="Order 17")
        assert place.address in link
        assert all(part in link for part in asset.contract.split(":"))
        assert place.memo is None or f"memo={place.memo}&memo_type=MEMO_ID" in link

    def test_a_code_is_never_an_evm_token_link(self, harness: Harness) -> None:
        place, asset = harness.chain.deposit_address(7), harness.chain.profile.assets["USDC"]
        link = harness.chain.payment_uri(to=place, asset=asset, amount=ONE)
        text = harness.chain.qr_text(to=place, payment_uri=link)
        assert text == (link if harness.chain.profile.qr_has_amount else place.address)


class ReadingContract:
    def test_a_transfer_arrives_once_with_all_its_facts(self, scene: Scene) -> None:
        transaction_hash = scene.pay(12_500_000)
        scene.harness.mine()
        head = scene.chain.reading.head()
        (transfer,) = scene.reader.read().transfers
        assert transfer.transaction_hash == transaction_hash
        assert (transfer.ordinal, transfer.amount, transfer.asset) == (0, 12_500_000, scene.usdc)
        assert (transfer.height, transfer.block_hash, transfer.block_time) == (
            head.height,
            head.block_hash,
            head.closed_at,
        )
        assert (transfer.recipient, transfer.memo) == (scene.to.address, scene.to.memo)
        assert transfer.contract == scene.usdc.contract
        assert scene.chain.parse_address(transfer.sender) == transfer.sender

    def test_every_accepted_coin_arrives_as_itself(self, scene: Scene) -> None:
        coins = scene.chain.profile.assets
        for number, asset in enumerate(coins.values(), 1):
            scene.harness.pay(scene.part(number * 10**asset.decimals, asset.contract))
        scene.harness.mine()
        scene.reader.read()
        arrived = {transfer.asset: transfer.amount for transfer in scene.reader.known.values()}
        assert arrived == {asset: number * 10**asset.decimals for number, asset in enumerate(coins.values(), 1)}

    def test_what_is_in_no_block_is_not_seen(self, scene: Scene) -> None:
        scene.pay()
        assert scene.reader.read().transfers == ()

    def test_a_cursor_resumes_without_gap_or_double(self, scene: Scene) -> None:
        sent = []
        for _ in range(10):
            sent.append(scene.pay())
            scene.harness.mine()
            scene.reader.read()
        scene.harness.mine(scene.harness.deepest_reorg + 1)
        scene.reader.read()
        assert scene.reader.hashes() == sent
        assert scene.reader.arrivals == [(transaction_hash, 0) for transaction_hash in sent]

    def test_a_scan_that_was_not_recorded_is_repeated_exactly(self, scene: Scene) -> None:
        scene.pay()
        scene.harness.mine()
        before = scene.reader.cursor
        first = scene.chain.reading.scan(before, scene.reader.watch)
        assert scene.chain.reading.scan(before, scene.reader.watch) == first

    def test_strangers_are_not_reported(self, scene: Scene) -> None:
        scene.harness.pay((scene.usdc.contract, ONE, scene.harness.stranger(1), None))
        scene.harness.mine()
        assert scene.reader.read().transfers == ()

    def test_an_empty_watch_list_still_moves_the_cursor(self, scene: Scene) -> None:
        scene.pay()
        scene.harness.mine()
        scan = scene.chain.reading.scan(scene.reader.cursor, Watched())
        assert (scan.transfers, scan.caught_up, scan.last_height) == ((), True, scene.chain.reading.head().height)

    def test_small_pages_lose_and_repeat_nothing(self, scene: Scene) -> None:
        sent = []
        for _ in range(12):
            sent.append(scene.pay())
            scene.harness.mine()
        reader = Reader(scene.harness.impatient(3), scene.to.address)
        reader.cursor = scene.reader.cursor
        scans = [reader.read_once()]
        while not scans[-1].caught_up:
            scans.append(reader.read_once())
        assert len(scans) >= 4
        assert reader.hashes() == sent
        assert reader.arrivals == [(transaction_hash, 0) for transaction_hash in sent]
        heights = [scan.last_height for scan in scans]
        assert heights == sorted(set(heights))
        assert heights[-1] == scene.chain.reading.head().height

    def test_a_block_larger_than_a_page_stays_whole(self, scene: Scene) -> None:
        sent = [scene.pay() for _ in range(8)]
        scene.harness.mine()
        later = scene.pay()
        scene.harness.mine()
        reader = Reader(scene.harness.impatient(3), scene.to.address)
        reader.cursor = scene.reader.cursor
        reader.read()
        assert sorted(reader.hashes()) == sorted([*sent, later])
        assert len(reader.arrivals) == 9

    def test_read_until_never_goes_back_and_reaches_the_head(self, scene: Scene) -> None:
        times = []
        for _ in range(4):
            scene.harness.mine()
            times.append(scene.reader.read().last_block_time)
        assert times == sorted(times)
        assert times[-1] == scene.chain.reading.head().closed_at

    def test_a_look_alike_token_has_no_asset(self, scene: Scene) -> None:
        scene.harness.pay(scene.part(contract=scene.harness.foreign_contract))
        scene.harness.mine()
        (transfer,) = scene.reader.read().transfers
        assert transfer.asset is None
        assert transfer.contract == scene.harness.foreign_contract

    def test_transfers_of_nothing_are_not_reported(self, scene: Scene) -> None:
        scene.require_transfers_of_nothing()
        transaction_hash = scene.harness.pay(scene.part(0), scene.part(5))
        scene.harness.mine()
        assert [transfer.amount for transfer in scene.reader.read().transfers] == [5]
        assert [transfer.amount for transfer in scene.chain.reading.find_transfers(transaction_hash)] == [5]

    def test_memo_and_muxed_address_are_one_reference(self, scene: Scene) -> None:
        if scene.to.muxed is None:
            pytest.skip("deposits on this network have an address each")
        assert scene.to.memo is not None
        wrong = scene.chain.deposit_address(8)
        ways: list[tuple[str, str | None]] = [
            (scene.to.address, scene.to.memo),
            (scene.to.address, f" {scene.to.memo} "),
            (scene.to.muxed, None),
            (scene.to.muxed, wrong.memo),
        ]
        for recipient, memo in ways:
            scene.harness.pay((scene.usdc.contract, ONE, recipient, memo))
        scene.harness.pay((scene.usdc.contract, ONE, scene.to.address, None))
        scene.harness.pay((scene.usdc.contract, ONE, scene.to.address, "order 17"))
        scene.harness.mine()
        found = scene.reader.read().transfers
        assert [transfer.memo for transfer in found] == [scene.to.memo] * 4 + [None, "order 17"]
        assert {transfer.recipient for transfer in found} == {scene.to.address}

    def test_one_transaction_is_found_with_every_transfer_in_it(self, scene: Scene) -> None:
        stranger = scene.harness.stranger(1)
        transaction_hash = scene.harness.pay(scene.part(3), (scene.usdc.contract, 4, stranger, None), scene.part(5))
        assert scene.chain.reading.find_transfers(transaction_hash) == ()
        scene.harness.mine()
        found = scene.chain.reading.find_transfers(transaction_hash)
        assert [(transfer.ordinal, transfer.amount, transfer.recipient) for transfer in found] == [
            (0, 3, scene.to.address),
            (1, 4, stranger),
            (2, 5, scene.to.address),
        ]
        assert scene.reader.read().transfers == (found[0], found[2])

    def test_an_unknown_hash_finds_nothing(self, scene: Scene) -> None:
        for text in ("0x" + "ab" * 32, "ab" * 32, "", "nonsense"):
            assert scene.chain.reading.find_transfers(text) == ()
            assert scene.chain.reading.find_transaction(text) is None

    def test_a_transaction_is_known_from_the_moment_it_waits(self, scene: Scene) -> None:
        transaction_hash = scene.pay()
        waiting = FoundTransaction(transaction_hash, "pending") if scene.harness.shows_waiting else None
        assert scene.chain.reading.find_transaction(transaction_hash) == waiting
        scene.harness.mine()
        found = scene.chain.reading.find_transaction(transaction_hash.upper().replace("0X", "0x"))
        transfers = scene.chain.reading.find_transfers(transaction_hash)
        assert found == FoundTransaction(transaction_hash, "included", transfers[0].height, transfers)

    def test_a_failed_transaction_is_known_and_moved_nothing(self, scene: Scene) -> None:
        forbidden = scene.harness.stranger(2)
        assert scene.harness.refuse(forbidden, "destination_refused")
        scene.harness.mine()
        transaction_hash = scene.harness.pay(scene.part(), (scene.usdc.contract, ONE, forbidden, None))
        scene.harness.mine()
        assert scene.chain.reading.find_transaction(transaction_hash) == FoundTransaction(
            transaction_hash, "failed", scene.chain.reading.head().height
        )
        assert scene.chain.reading.find_transfers(transaction_hash) == ()

    def test_the_networks_own_coin_is_found_as_no_deposit(self, scene: Scene) -> None:
        transaction_hash = scene.harness.pay_native(scene.to.address, 12)
        scene.harness.mine()
        found = scene.chain.reading.find_transaction(transaction_hash)
        assert found is not None
        assert (found.state, found.transfers) == ("included", ())
        assert [(each.contract, each.amount, each.recipient) for each in found.idle] == [("", 12, scene.to.address)]

    def test_a_transfer_of_nothing_is_found_as_no_deposit(self, scene: Scene) -> None:
        scene.require_transfers_of_nothing()
        transaction_hash = scene.harness.pay(scene.part(0), scene.part(5))
        scene.harness.mine()
        found = scene.chain.reading.find_transaction(transaction_hash)
        assert found is not None
        assert [transfer.amount for transfer in found.transfers] == [5]
        assert [(each.contract, each.amount, each.recipient, each.memo) for each in found.idle] == [
            (scene.usdc.contract, 0, scene.to.address, scene.to.memo)
        ]

    def test_an_outage_is_said_aloud_and_loses_nothing(self, scene: Scene) -> None:
        before = scene.reader.cursor
        scene.harness.break_down()
        transaction_hash = scene.pay()
        scene.harness.mine()
        for question in (
            scene.chain.reading.head,
            scene.reader.read,
            lambda: scene.chain.reading.find_transfers(transaction_hash),
            lambda: scene.chain.reading.find_transaction(transaction_hash),
        ):
            with pytest.raises(ChainUnavailable):
                question()
        assert scene.reader.cursor == before
        scene.harness.recover()
        scene.reader.read()
        assert scene.reader.hashes() == [transaction_hash]


class CursorContract:
    def test_a_cursor_at_a_height_reads_only_what_came_after(self, scene: Scene) -> None:
        sent = []
        for _ in range(4):
            sent.append(scene.pay())
            scene.harness.mine()
        height = scene.chain.reading.head().height
        reader = Reader(scene.chain, scene.to.address)
        reader.cursor = scene.chain.reading.cursor_at(height - 2)
        scan = reader.read()
        assert (scan.first_height, scan.last_height) == (height - 1, height)
        assert reader.hashes() == sent[2:]
        reader = Reader(scene.chain, scene.to.address)
        reader.cursor = scene.chain.reading.cursor_at(0)
        reader.read()
        assert reader.hashes() == sent

    def test_a_cursor_of_another_kind_of_network_says_in_one_line_what_to_do(self, scene: Scene) -> None:
        kinds = [
            {"final": 3, "final_hash": "0x3", "read_to": 3},
            {"final": 3, "final_hash": "0x3", "done": 3, "read_to": [], "found": []},
            {"paging_token": "3", "height": 3, "hash": "3", "read_to": 3, "read_hash": "3"},
        ]
        own = {*scene.reader.read().cursor}
        assert own in [{*kind} for kind in kinds]
        for kind in kinds:
            if {*kind} != own:
                with pytest.raises(NotSetUp, match="SANDBOX_CHAIN to what it was"):
                    scene.chain.reading.scan(kind, scene.reader.watch)

    def test_a_cursor_at_the_head_waits_for_the_next_block(self, scene: Scene) -> None:
        scene.pay()
        scene.harness.mine()
        reader = Reader(scene.chain, scene.to.address)
        reader.cursor = scene.chain.reading.cursor_at(scene.chain.reading.head().height)
        assert reader.read().transfers == ()
        later = scene.pay()
        scene.harness.mine()
        reader.read()
        assert reader.hashes() == [later]

    def test_there_is_no_cursor_for_a_block_to_come(self, scene: Scene) -> None:
        with pytest.raises(ChainUnavailable):
            scene.chain.reading.cursor_at(scene.chain.reading.head().height + 1)


class ReorgContract:
    def test_the_finalised_height_follows_the_head(self, scene: Scene) -> None:
        scene.harness.mine(20)
        head = scene.chain.reading.head()
        assert head.height - head.finalized_height == scene.harness.deepest_reorg

    @pytest.mark.parametrize("read_between", [False, True])
    def test_a_moved_transfer_keeps_its_identity(self, scene: Scene, read_between: bool) -> None:
        scene.require_reorgs()
        transaction_hash = scene.harness.pay(scene.part(3), scene.part(4))
        scene.harness.mine()
        scene.reader.read()
        before = dict(scene.reader.known)
        scene.harness.reorg(1, "moved")
        if read_between:
            scene.reader.read()
            assert scene.reader.known == {}
            assert scene.chain.reading.find_transfers(transaction_hash) == ()
        scene.harness.mine()
        scene.reader.read()
        after = scene.reader.known
        assert before.keys() == after.keys() == {(transaction_hash, 0), (transaction_hash, 1)}
        assert {ordinal: transfer.amount for (_, ordinal), transfer in after.items()} == {0: 3, 1: 4}
        assert all(after[identity].block_hash != before[identity].block_hash for identity in after)
        assert all(after[identity].height == before[identity].height + 1 for identity in after)

    def test_a_kept_transfer_stands_under_another_hash(self, scene: Scene) -> None:
        scene.require_reorgs()
        transaction_hash = scene.pay()
        scene.harness.mine()
        scene.reader.read()
        before = scene.reader.known[transaction_hash, 0]
        scene.harness.reorg(1, "kept")
        scene.reader.read()
        after = scene.reader.known[transaction_hash, 0]
        assert (after.height, after.amount) == (before.height, before.amount)
        assert after.block_hash != before.block_hash

    @pytest.mark.parametrize("outcome", ["dropped", "replaced"])
    def test_an_undone_transfer_is_gone(self, scene: Scene, outcome: Outcome) -> None:
        scene.require_reorgs()
        kept = scene.pay(1)
        scene.harness.mine()
        lost = scene.pay(2)
        scene.harness.mine()
        scene.reader.read()
        scene.harness.reorg(1, outcome)
        scene.harness.mine(3)
        scene.reader.read()
        assert scene.reader.hashes() == [kept]
        assert scene.chain.reading.find_transfers(lost) == ()
        assert scene.chain.reading.balance(scene.to.address, scene.usdc) == 1

    def test_the_deepest_reorg_is_seen_and_blocks_below_keep_their_hashes(self, scene: Scene) -> None:
        scene.require_reorgs()
        depth = scene.harness.deepest_reorg
        sent = []
        for _ in range(depth + 3):
            sent.append(scene.pay())
            scene.harness.mine()
        scene.reader.read()
        before = dict(scene.reader.known)
        scene.harness.reorg(depth, "kept")
        scene.reader.read()
        changed = [
            transaction_hash
            for transaction_hash in sent
            if scene.reader.known[transaction_hash, 0].block_hash != before[transaction_hash, 0].block_hash
        ]
        assert changed == sent[-depth:]
        assert len(scene.reader.arrivals) == len(sent)

    def test_a_reorg_between_two_reorgs_is_not_missed(self, scene: Scene) -> None:
        scene.require_reorgs(2)
        transaction_hash = scene.pay()
        scene.harness.mine(2)
        scene.reader.read()
        hashes = {scene.reader.known[transaction_hash, 0].block_hash}
        for depth in (1, 2):
            scene.harness.reorg(depth, "kept")
            scene.reader.read()
            hashes.add(scene.reader.known[transaction_hash, 0].block_hash)
        assert len(hashes) == 2  # the first reorg did not reach it

    def test_a_changed_final_block_stops_everything(self, scene: Scene) -> None:
        scene.pay()
        scene.harness.mine(10)
        scene.reader.read()
        scene.harness.rewrite_finality()
        for _ in range(2):
            with pytest.raises(FinalityViolation):
                scene.reader.read()
            scene.harness.mine()
