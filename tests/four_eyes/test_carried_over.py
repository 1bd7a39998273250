"""What one operator had agreed to before there was one rule waits as a proposal, and another agrees to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

import pytest
from django.apps.registry import Apps
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.utils import timezone
from pytest_django.fixtures import Settings

from merchants.four_eyes.models import Proposal, ProposalKind, ProposalStatus
from merchants.four_eyes.services import agree
from merchants.models import User
from payments.deposits.models import PayerReturn
from payments.models import Discrepancy, Payment
from payments.transfers.models import Payout, approval_count
from payments.treasury.losses.models import MissingCoins
from tests.factories import make_user
from tests.four_eyes import test_contract as scenes

pytestmark = pytest.mark.django_db(transaction=True)

BEFORE = [("payments", "0029_settled_ahead"), ("transfers", "0016_end_states"), ("losses", "0001_initial")]


LEFT = {"payments": ("Attribution", "DiscrepancyApproval", "ReturnApproval"), "transfers": ("PayoutApproval",)}


@pytest.fixture
def before(transactional_db: None) -> Iterator[Apps]:
    """The tables as they were; what is left of them for old code is still in the database."""
    apps = MigrationLoader(None).project_state([*BEFORE, ("four_eyes", "0009_kinds")]).apps
    yield apps
    for app, names in LEFT.items():
        for name in names:
            table(apps, app, name).objects.all().delete()


def table(apps: Apps, app: str, name: str) -> Any:
    return apps.get_model(app, name)


def carry_over(module: str, before: Apps) -> None:
    import_module(module).carry_over(before, connection.schema_editor())


def of_discrepancy(model: str, **more: Any) -> Callable[[Apps, User], None]:
    def say(before: Apps, person: User) -> None:
        row = Discrepancy.objects.get()
        said = {"discrepancy_id": row.pk, "operator_id": person.pk, "reason": "I saw it"}
        table(before, "payments", model).objects.create(**said, **more)
        carry_over("payments.migrations.0030_proposals", before)

    return say


def of_attribution(before: Apps, person: User) -> None:
    of_discrepancy("Attribution", payment_id=Payment.objects.get().pk)(before, person)


def of_return(before: Apps, person: User) -> None:
    said = {"payer_return_id": PayerReturn.objects.get().pk, "operator_id": person.pk, "reason": "I saw it"}
    table(before, "payments", "ReturnApproval").objects.create(**said)
    carry_over("payments.migrations.0030_proposals", before)


def of_loss(before: Apps, person: User) -> None:
    said = {"bearer": "house", "reason": "I saw it", "proposed_by": person.email, "proposed_at": timezone.now()}
    table(before, "losses", "MissingCoins").objects.update(**said)
    carry_over("payments.treasury.losses.migrations.0002_proposals", before)
    assert MissingCoins.objects.get().bearer == ""


def of_payout(before: Apps, *people: User) -> None:
    payout = Payout.objects.get()
    said = {"payout_id": payout.pk, "amount": payout.amount, "recipient": payout.recipient}
    for person in people:
        table(before, "transfers", "PayoutApproval").objects.create(**said, operator_id=person.pk)
    carry_over("payments.transfers.migrations.0017_proposals", before)


@pytest.mark.parametrize(
    ("kind", "say"),
    [
        (ProposalKind.ACCEPT, of_discrepancy("DiscrepancyApproval")),
        (ProposalKind.ATTRIBUTE, of_attribution),
        (ProposalKind.RETURN, of_return),
        (ProposalKind.LOSS, of_loss),
        (ProposalKind.PAYOUT, of_payout),
    ],
)
def test_what_one_had_agreed_to_waits_for_another(
    kind: ProposalKind, say: Callable[[Apps, User], None], before: Apps, settings: Settings
) -> None:
    settings.SIMULATED_BLOCK_SECONDS = 0
    scene = scenes.SCENES[kind]()
    state = scene.state()
    ada, ben = (make_user(is_staff=True, is_superuser=True) for _ in range(2))
    say(before, ada)
    proposal = Proposal.objects.get()
    assert (proposal.kind, proposal.status, proposal.proposed_by) == (kind, ProposalStatus.WAITING, ada)
    assert scene.state() == state
    assert agree(proposal, by=ben).status == ProposalStatus.DONE
    assert scene.state() != state


def test_a_payout_that_two_had_approved_is_approved(before: Apps, settings: Settings) -> None:
    settings.SIMULATED_BLOCK_SECONDS = 0
    scenes.paying()
    of_payout(before, *(make_user(is_staff=True, is_superuser=True) for _ in range(2)))
    assert approval_count(Payout.objects.get()) == 2
