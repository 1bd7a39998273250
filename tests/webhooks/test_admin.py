"""The operators' pages about webhooks: everything can be looked up, nothing edited, and no secret is shown."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import Permission
from django.test import Client

from tests.factories import make_user
from tests.webhooks.scenes import answering, current, make_delivery, make_endpoint, now, send_due
from webhooks.models import Attempt, Delivery, Endpoint, Event
from webhooks.services import disable_endpoint, rotate_secret
from webhooks.states import DisabledReason

pytestmark = pytest.mark.django_db


def operator(*permissions: str, is_superuser: bool = False) -> Client:
    user = make_user(is_staff=True, is_superuser=is_superuser)
    user.user_permissions.set(Permission.objects.filter(codename__in=permissions))
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def superuser() -> Client:
    return operator(is_superuser=True)


def test_every_page_opens_and_shows_no_secret(superuser: Client) -> None:
    endpoint, secret = rotate_secret(endpoint=make_endpoint())
    delivery = make_delivery(endpoint)
    send_due(answering(500, b"<script>alert(1)</script>"))
    pages = {
        "endpoint": [f"?q={endpoint.public_id}", "?q=shop.example", f"{endpoint.pk}/change/"],
        "event": [f"?q={delivery.event.public_id}", f"?q={delivery.event.object_id}", f"{delivery.event.pk}/change/"],
        "delivery": [f"?q={delivery.public_id}", "?q=shop.example", f"{delivery.pk}/change/"],
    }
    for model, places in pages.items():
        for place in ["", *places]:
            reply = superuser.get(f"/admin/webhooks/{model}/{place}")
            assert reply.status_code == 200, place
            text = reply.content.decode()
            assert "whsec_" not in text
            assert secret.removeprefix("whsec_") not in text
            assert "secret_encrypted" not in text
            assert "<script>alert" not in text
            if place.startswith("?q="):
                assert "1 result" in text or f"1 {model}" in text
    assert "&lt;script&gt;alert(1)" in superuser.get(f"/admin/webhooks/delivery/{delivery.pk}/change/").content.decode()


def test_nothing_can_be_added_changed_or_deleted(superuser: Client) -> None:
    endpoint = make_endpoint()
    make_delivery(endpoint)
    send_due()
    before = [list(model.objects.values()) for model in (Endpoint, Event, Delivery, Attempt)]
    for model, row in [("endpoint", endpoint), ("event", Event.objects.get()), ("delivery", Delivery.objects.get())]:
        for path in ("add/", f"{row.pk}/delete/"):
            assert superuser.get(f"/admin/webhooks/{model}/{path}").status_code == 403
        assert superuser.post(
            f"/admin/webhooks/{model}/{row.pk}/change/", {"url": "https://x.example"}
        ).status_code in (
            302,
            403,
        )
    assert [list(model.objects.values()) for model in (Endpoint, Event, Delivery, Attempt)] == before
    assert superuser.get("/admin/webhooks/signingsecret/").status_code == 404


def act(client: Client, model: str, action: str, key: object) -> str:
    reply = client.post(f"/admin/webhooks/{model}/", {"action": action, "_selected_action": str(key)}, follow=True)
    return reply.content.decode()


def test_an_operator_enables_an_endpoint_and_sends_again(superuser: Client) -> None:
    endpoint = make_endpoint()
    delivery = make_delivery(endpoint)
    disable_endpoint(endpoint=endpoint, reason=DisabledReason.GONE)
    assert "This webhook is disabled. Enable it first." in act(superuser, "delivery", "redeliver", delivery.pk)
    assert "is enabled." in act(superuser, "endpoint", "enable", endpoint.pk)
    assert current(endpoint).status == "enabled"
    assert "will be sent again." in act(superuser, "delivery", "redeliver", delivery.pk)
    assert now(delivery).status == "pending"


def test_who_may_only_look_changes_nothing() -> None:
    endpoint = disable_endpoint(endpoint=make_endpoint(), reason=DisabledReason.GONE)
    act(operator("view_endpoint"), "endpoint", "enable", endpoint.pk)
    assert current(endpoint).status == "disabled"
    act(operator("view_endpoint", "change_endpoint"), "endpoint", "enable", endpoint.pk)
    assert current(endpoint).status == "enabled"
