from ballast.models import Payment
from django.core.serializers.json import DjangoJSONEncoder
from django.db import models


class Order(models.Model):
    number = models.CharField(max_length=24, primary_key=True)
    cart = models.JSONField()
    cents = models.IntegerField()
    attempts = models.IntegerField(default=1, help_text="How often paying was begun.")
    delivered = models.IntegerField(default=0, help_text="How often goods were handed out: once at most.")


class Attempt(models.Model):
    """A payment of an order, as the API last said it."""

    order = models.ForeignKey(Order, models.CASCADE)
    number = models.IntegerField()
    version = models.IntegerField()
    record = models.JSONField(encoder=DjangoJSONEncoder)

    class Meta:
        constraints = (models.UniqueConstraint(fields=["order", "number"], name="one_payment_of_an_attempt"),)
        ordering = ("number",)

    @property
    def payment(self) -> Payment:
        return Payment.from_json(self.record)
