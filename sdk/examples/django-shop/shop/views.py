"""The shop's addresses."""

import logging
import secrets

from ballast import ApiConnectionError, ApiStatusError, Webhook, WebhookVerificationError
from django.conf import settings
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from shop import orders
from shop.models import Order
from shop.products import PRODUCTS, lines, price, total

logger = logging.getLogger(__name__)
webhook = Webhook(settings.BALLAST_WEBHOOK_SECRET)
AWAY = (ApiConnectionError, ApiStatusError)


def policy(get_response):
    """Middleware for what pages may load: of others, only the dialog of Ballast."""

    def respond(request):
        response = get_response(request)
        url = settings.BALLAST_URL
        response["Content-Security-Policy"] = (
            f"default-src 'self'; script-src 'self' {url}; frame-src {url}; form-action 'self' {url}"
        )
        response["Cache-Control"] = "no-store"
        return response

    return respond


def shelf(request):
    return render(request, "shelf.html", {"products": [(id, *line[1:]) for id in PRODUCTS for line in lines({id: 1})]})


def cart(request):
    held = request.session.setdefault("cart", {})
    if request.method == "POST":
        product = request.POST.get("product")
        if product in PRODUCTS:
            request.session["cart"] = held | {product: min(99, held.get(product, 0) + 1)}
        return redirect("cart")
    # Nobody guesses the number: whoever knows the address of an order may see it.
    number = secrets.token_hex(12)
    return render(request, "cart.html", {"lines": lines(held), "total": price(total(held)), "number": number})


@require_POST
def place(request):
    number, held = request.POST.get("number", ""), request.session.get("cart") or {}
    if len(number) != 24 or set(number) - set("0123456789abcdef"):
        return redirect("cart")
    if not held and not Order.objects.filter(pk=number).exists():
        return redirect("cart")
    try:
        placed = orders.place(number, held)
    except AWAY as error:
        return away(request, error)
    request.session["cart"] = {}
    return redirect("order", number) if request.POST.get("how") == "dialog" else to_payment(placed)


def order(request, number):
    found = get_object_or_404(Order, pk=number)
    try:
        orders.refresh(found)
    except AWAY:  # the page shows what was known last
        logger.exception("%s: Ballast is away", number)
    last = found.attempt_set.last()
    shown = {
        "order": found,
        "lines": lines(found.cart),
        "total": price(found.cents),
        "payment": last and last.payment,
        "verdict": orders.verdict(found),
        "ballast": settings.BALLAST_URL,
    }
    return render(request, "order.html", shown)


@require_POST
def pay_again(request, number):
    try:
        return to_payment(orders.pay_again(get_object_or_404(Order, pk=number)))
    except AWAY as error:
        return away(request, error)


def to_payment(placed):
    return redirect(placed.attempt_set.last().payment.url)


def away(request, error):
    logger.warning("Ballast is away: %s", error)
    return render(request, "away.html", status=503)


@csrf_exempt  # Ballast has no form of ours; its signature says who it is
@require_POST
def receive(request):
    """A webhook is a reason to look. What cannot be read from the API now fails, and Ballast sends the event again."""
    try:
        event = webhook.verify(request.body, request.headers)
    except WebhookVerificationError:
        return HttpResponse(status=400)
    about = event.raw["data"]["object"].get("metadata") or {}
    if found := Order.objects.filter(pk=about.get("order", "")).first():
        orders.refresh(found)
    return HttpResponse(status=204)
