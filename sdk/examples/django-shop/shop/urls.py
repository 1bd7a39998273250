from django.urls import path, register_converter
from django.urls.converters import StringConverter
from django.views.generic import TemplateView

from shop import views


class Number(StringConverter):
    regex = "[0-9a-f]{24}"


register_converter(Number, "number")

urlpatterns = [
    path("", views.shelf),
    path("cart", views.cart, name="cart"),
    path("orders", views.place, name="place"),
    path("orders/<number:number>", views.order, name="order"),
    path("orders/<number:number>/pay", views.pay_again, name="pay_again"),
    path("webhooks/ballast", views.receive),
    path("shop.css", TemplateView.as_view(template_name="shop.css", content_type="text/css")),
    path("shop.js", TemplateView.as_view(template_name="shop.js", content_type="text/javascript")),
]
