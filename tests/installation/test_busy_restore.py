"""A backup of a busy shop is brought back on the simulated networks, which go on from where they are."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from io import StringIO
from itertools import count
from pathlib import Path

import pytest
from django.apps import apps
from django.core.management import call_command
from django.db import connection
from django.test import override_settings
from pytest_django.fixtures import Settings
from pytest_django.plugin import DjangoDbBlocker

from config.embedded.postgres import DATABASE, SUPERUSER, EmbeddedPostgres
from config.installation import services as standing
from payments.chains import registry
from payments.chains.simulated import actions, control
from payments.chains.simulated.blocks import next_sequences
from payments.chains.simulated.clock import locked
from payments.chains.simulated.models import SimulatedTransfer
from payments.chains.simulated.networks import address_named, hot_wallet
from payments.models import Payment
from payments.restore.adoption import Adoption
from tests.installation.busy_shop import NETWORKS, SANDBOX, BusyShop
from tests.installation.servers import Servers, working_on
from tests.long_form import IS_LONG

pytestmark = [pytest.mark.slow, pytest.mark.long]

LOOK_AHEAD = 2_000
CHAIN = "simulated_chain_*"


class Simulated:
    """The networks of the sandbox: blocks appear when time passes."""

    environment = SANDBOX

    def somebody(self, network: str, name: str) -> str:
        return address_named(network, name)

    def pay(self, network: str, payments: Sequence[Payment]) -> None:
        for each in payments:
            contract = registry.asset(SANDBOX, network, each.cryptocurrency).contract
            to = each.muxed_address or each.deposit_address
            control.pay_together(network, [control.Part(contract, int(each.due), to)])

    def put_in(self, network: str, code: str, units: int, memo: str) -> None:
        profile, to = registry.profile(SANDBOX, network), hot_wallet(network)
        if code == profile.native.code:
            control.fund_native(network, address=to, amount=units)
        else:
            control.pay_together(network, [control.Part(profile.assets[code].contract, units, to, memo or None)])

    def keepers_send(self, network: str, code: str, units: int) -> None:
        chain, contract = registry.chain(SANDBOX, network), registry.asset(SANDBOX, network, code).contract
        with locked(network) as row:
            moved = actions.movement(network, contract=contract, amount=units, recipient=chain.payout_address())
            sequence = next_sequences(network, [chain.cold_wallet()], pending=True)[chain.cold_wallet()]
            actions.submit(row, sender=chain.cold_wallet(), sequence=sequence, movements=[moved])

    def set_up(self, network: str) -> None:
        hot = hot_wallet(network)
        with locked(network) as row:
            actions.submit(
                row, sender=hot, sequence=registry.chain(SANDBOX, network).hot_wallet.next_sequence(hot), movements=[]
            )

    def pass_time(self) -> None:
        for network in NETWORKS:
            control.mine(network, control.deepest_reorg(network) + 1)

    def held(self, network: str, code: str, address: str) -> int:
        return registry.chain(SANDBOX, network).reading.balance(address, registry.asset(SANDBOX, network, code))

    def left(self, network: str) -> Counter[tuple[str, str, int]]:
        codes = {asset.contract: code for code, asset in registry.profile(SANDBOX, network).assets.items()}
        moves = SimulatedTransfer.objects.filter(
            transaction__network=network, source=hot_wallet(network), transaction__height__isnull=False
        )
        found = moves.filter(contract__in=codes).values_list("contract", "recipient", "amount")
        return Counter((codes[contract], recipient, int(amount)) for contract, recipient, amount in found)


@pytest.fixture(scope="module")
def made(django_db_blocker: DjangoDbBlocker) -> Iterator[tuple[Servers, EmbeddedPostgres, Path, BusyShop]]:
    """A server, the dump of a busy shop at noon, and the shop."""
    servers = Servers()
    standing.forget()
    with django_db_blocker.unblock(), override_settings(SIMULATED_BLOCK_SECONDS=0, SWEEP_THRESHOLD=10**6):
        try:
            server = servers.new("busy", is_migrated=True)
            with working_on(server):
                shop = BusyShop(Simulated())
                shop.until_the_backup()
                assert shop.troubles(are_payouts_on_their_way=True) == {}
            yield servers, server, servers.dump(server), shop
        finally:
            standing.forget()
            servers.close()


def put_back(servers: Servers, server: EmbeddedPostgres, dump: Path, *, are_networks_kept: bool = False) -> None:
    """The database as it was; the networks, which are in the same database here, too, or as they are."""
    place = ("-h", str(server.socket_folder), "-U", SUPERUSER, "-d", DATABASE)
    chain = dump.with_name("chain")
    if are_networks_kept:
        chain.unlink(missing_ok=True)
        server._run("pg_dump", "-Fc", "--data-only", "-t", CHAIN, *place, "-f", str(chain))
    with server.connect("postgres") as admin:
        admin.execute(f"DROP DATABASE {DATABASE} WITH (FORCE)".encode())
        admin.execute(f"CREATE DATABASE {DATABASE}".encode())
    servers.restore(server, dump)
    standing.forget()
    if not are_networks_kept:
        return
    with working_on(server), connection.cursor() as cursor:
        tables = [each._meta.db_table for each in apps.get_app_config("simulated_chain").get_models()]
        cursor.execute(f"TRUNCATE {', '.join(tables)}")
    server._run("pg_restore", "--data-only", "--disable-triggers", *place, str(chain))


class Killed(BaseException):
    """The process is gone in the middle of what it does."""


def resume(*, after: int | None = None) -> str:
    """What it says; or it is killed after so many on-chain transactions that it has adopted."""
    said, adopted = StringIO(), count(1)

    def progress(adoption: Adoption) -> None:
        if after is not None and next(adopted) > after:
            raise Killed

    with pytest.MonkeyPatch.context() as patch:
        if after is not None:
            patch.setattr(Adoption, "_progress", progress)
        with pytest.raises(Killed) if after is not None else nullcontext():
            call_command("resume_after_restore", by="Ada", look_ahead=LOOK_AHEAD, stdout=said)
    return said.getvalue()


UNDISTURBED = [*([each] for each in BusyShop.AFTER_THE_BACKUP), [*BusyShop.AFTER_THE_BACKUP]]
"""What happens before a resume that nothing kills, which the gauntlet's `restore` shows as well."""


@pytest.mark.parametrize(
    ("kinds", "killed_after"),
    [
        *(pytest.param(each, (), id=" and ".join(each)) for each in UNDISTURBED if IS_LONG),
        pytest.param([*BusyShop.AFTER_THE_BACKUP], (0, 1, 3, 7), id="all, and the resume is killed four times"),
    ],
)
def test_what_happened_after_the_backup_is_found_again(
    kinds: list[str],
    killed_after: Sequence[int],
    made: tuple[Servers, EmbeddedPostgres, Path, BusyShop],
    settings: Settings,
) -> None:
    settings.SIMULATED_BLOCK_SECONDS, settings.SWEEP_THRESHOLD = 0, 10**6
    servers, server, noon, shop = made[0], made[1], made[2], copy.copy(made[3])
    shop.asked, shop.put_in, shop.lost, shop.memos = Counter(shop.asked), Counter(), [], set()
    shop.refunded = copy.deepcopy(shop.refunded)
    put_back(servers, server, noon)
    with working_on(server):
        call_command("resume_after_restore", "--not-restored", by="Ada", reason="The networks are as old.")
    dump = servers.dump(server)
    with working_on(server):
        for kind in kinds:
            shop.AFTER_THE_BACKUP[kind](shop)
        shop.work(2)
        assert shop.troubles() == {}
    put_back(servers, server, dump, are_networks_kept=True)
    with working_on(server):
        shop.work()
        for after in killed_after:
            resume(after=after)
            shop.work()
        said = resume()
        shop.work(2)
        shop.decide()
        shop.work(2)
        shop.say_again()
        assert shop.troubles() == {}, said
        assert shop.reconcile() == 0
        shop.settle()
        shop.work(3)
        assert shop.troubles() == {}
