"""Deposit addresses: nobody guesses them, and no change of settings gives one away or loses one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from pytest_django.fixtures import Settings

from payments.chains.errors import NetworkUnavailable
from payments.chains.evm.addresses import parse
from payments.chains.evm.deposit_addresses import deployment
from payments.chains.evm.deposit_addresses.derivation import Derivation, derivations
from payments.deposits.address_derivations import ROOM, last_number
from payments.deposits.models import AddressDerivation, ScanCursor
from payments.models import Deposit, Payment
from payments.treasury.models import Sweep
from tests.evm.derivations import ADDRESS_KEY
from tests.evm.network import devnet
from tests.evm.street import Street, open_street, reconcile
from tests.networks import POLYGON, with_set

FACTORY, WALLET, OWNER = devnet.DEPLOYMENT.factory, devnet.HOT_WALLET, devnet.OWNER
KEY = bytes.fromhex(ADDRESS_KEY)


def set_network(settings: Settings, **fields: object) -> None:
    settings.NETWORK_SETTINGS = with_set(POLYGON, **fields)


def change_addresses(**options: object) -> str:
    said = StringIO()
    call_command("change_addresses", stdout=said, **options)
    return said.getvalue()


class TestDerivation:
    def test_a_salt_is_computed_from_the_key_and_the_number_alone(self) -> None:
        salt = Derivation(FACTORY, KEY).salt(7)
        assert hex(salt) == "0x6fe733b69a7b72822bb37e9d1787eef165bbcea886c1d018fcb2bd64f6b335f8"
        assert salt == Derivation(OWNER, KEY).salt(7) != Derivation(FACTORY, bytes(32)).salt(7)
        assert Derivation(FACTORY, None).salt(7) == 7

    def test_each_number_keeps_where_it_came_from(self) -> None:
        found = derivations(factory=OWNER, key=KEY, former={"10": f"plain:{FACTORY}", "20": f"keyed:{FACTORY}"})
        assert [found.of(number) for number in (0, 10, 11, 20, 21)] == [
            *[Derivation(FACTORY, None)] * 2,
            *[Derivation(FACTORY, KEY)] * 2,
            Derivation(OWNER, KEY),
        ]
        assert found.address(10) == deployment.deposit_address(FACTORY, 10)
        assert list(found.by_first_number()) == [0, 11, 21]
        assert found.factories == (OWNER, FACTORY)
        assert found.together((15, 30, 5)) == (15, 5)

    def test_the_name_tells_keys_apart_and_gives_none_away(self) -> None:
        names = {Derivation(FACTORY, key).name for key in (None, KEY, bytes(32))}
        assert len(names) == 3
        assert not any(ADDRESS_KEY[:8] in name for name in names)

    @pytest.mark.parametrize(
        ("key", "former", "said"),
        [
            (KEY, {"x": f"plain:{FACTORY}"}, "is not like"),
            (KEY, {"20": f"plain:{FACTORY}", "10": f"plain:{FACTORY}"}, "10 does not come after 20"),
            (None, {"20": f"keyed:{FACTORY}"}, "needs the key"),
        ],
    )
    def test_what_cannot_be_is_refused(self, key: bytes | None, former: dict[str, str], said: str) -> None:
        with pytest.raises(ValueError, match=said):
            derivations(factory=OWNER, key=key, former=former)


@pytest.mark.django_db(transaction=True)
def test_a_stranger_who_knows_the_factory_hits_none_of_the_next_thousand_addresses(street: Street) -> None:
    paid = street.paid()
    guessed = [deployment.deposit_address(FACTORY, paid.sequence + ahead) for ahead in range(1, 1001)]
    street.mainnet.pay([("USDC", address, 1) for address in guessed])
    street.let_blocks_pass()
    payments = [street.open() for _ in range(20)]
    assert not {payment.deposit_address for payment in payments} & set(guessed)
    street.mainnet.pay([("USDC", payment.deposit_address, int(payment.due)) for payment in payments])
    street.let_blocks_pass()
    assert Deposit.objects.count() == 21, "none of the stranger's"
    street.sweep()
    [sweep] = Sweep.objects.all()
    assert sweep.expected == sweep.moved == 21 * 40 * 10**6
    assert reconcile() == 0


@pytest.fixture
def plain_street(settings: Settings) -> Iterator[Street]:
    """A shop that began without a key, and has two payments that wait to be swept."""
    with open_street(settings) as street:
        set_network(settings, address_key="")
        AddressDerivation.objects.all().delete()
        for _ in range(2):
            street.paid()
        yield street


@pytest.mark.django_db(transaction=True)
class TestChanging:
    def test_new_payments_get_addresses_by_the_key_and_old_ones_are_swept_with_them(
        self, plain_street: Street, settings: Settings
    ) -> None:
        set_network(settings, address_key=ADDRESS_KEY)
        with pytest.raises(CommandError) as refused:
            change_addresses()
        last = last_number() + ROOM
        assert f"EVM_FORMER_ADDRESSES={last}=plain:{FACTORY}" in str(refused.value)
        set_network(settings, former_addresses={str(last): f"plain:{FACTORY}"})
        plain_street.let_blocks_pass()
        assert plain_street.open().sequence < last, "the old numbers go on until it is begun"
        with pytest.raises(CommandError, match="not been noted"):
            change_addresses(begin=True)
        assert f"from number {last + 1} on" in change_addresses()
        assert f"number {last + 1}" in change_addresses(begin=True)
        keyed = plain_street.paid()
        assert keyed.deposit_address == keyed_address(keyed)
        plain_street.sweep()
        [sweep] = Sweep.objects.all()
        assert sweep.moved == 3 * 40 * 10**6
        assert reconcile() == 0
        assert "nothing changes" in change_addresses()
        assert [row.noted_by != "" for row in AddressDerivation.objects.order_by("first_number")] == [False, True]

    def test_a_process_with_the_old_settings_gives_no_new_number_away(
        self, plain_street: Street, settings: Settings
    ) -> None:
        last = last_number() + ROOM
        old = settings.NETWORK_SETTINGS
        set_network(settings, address_key=ADDRESS_KEY, former_addresses={str(last): f"plain:{FACTORY}"})
        change_addresses()
        settings.NETWORK_SETTINGS = old
        plain_street.open()  # of the old numbers
        settings.NETWORK_SETTINGS = with_set(
            POLYGON, address_key=ADDRESS_KEY, former_addresses={str(last): f"plain:{FACTORY}"}
        )
        change_addresses(begin=True)
        settings.NETWORK_SETTINGS = old
        with pytest.raises(NetworkUnavailable):
            plain_street.open()
        plain_street.let_blocks_pass()
        assert "manage.py change_addresses" in ScanCursor.objects.get(network=POLYGON).fault

    def test_the_addresses_of_another_factory_are_swept_by_that_one(
        self, plain_street: Street, settings: Settings
    ) -> None:
        node, last = plain_street.node, last_number() + ROOM
        second = parse(node.deploy(deployment.with_owner(OWNER).creation))
        node.succeed(OWNER, second, deployment.appointment(WALLET, WALLET))
        set_network(settings, factory=second, former_addresses={str(last): f"plain:{FACTORY}"})
        change_addresses()
        change_addresses(begin=True)
        new = plain_street.paid()
        assert new.deposit_address == deployment.deposit_address(second, new.sequence)
        plain_street.sweep()
        plain_street.sweep()
        assert set(Sweep.objects.values_list("moved", flat=True)) == {40 * 10**6, 80 * 10**6}
        assert reconcile() == 0

    @pytest.mark.parametrize(
        "wrong",
        [
            lambda _: {"factory": devnet.PAYER},
            lambda _: {"address_key": ADDRESS_KEY},
            lambda last: {"former_addresses": {str(last): f"plain:{devnet.PAYER}"}},
        ],
    )
    def test_settings_that_lose_an_address_sweep_nothing_and_take_no_payment(
        self, plain_street: Street, settings: Settings, wrong: Callable[[int], dict[str, object]]
    ) -> None:
        set_network(settings, **wrong(last_number() + ROOM))
        with pytest.raises(CommandError):
            change_addresses()
        plain_street.let_blocks_pass()
        assert ScanCursor.objects.get(network=POLYGON).fault
        with pytest.raises(NetworkUnavailable):
            plain_street.open()
        plain_street.sweep()
        assert not Sweep.objects.exists()
        assert AddressDerivation.objects.get().name == f"plain:{FACTORY}"


def keyed_address(payment: Payment) -> str:
    return deployment.deposit_address(FACTORY, Derivation(FACTORY, KEY).salt(payment.sequence))
