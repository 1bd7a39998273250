"""Many payments at once, without the services."""

from __future__ import annotations

import uuid

from django.db import connection

from payments.models import Payment


def copies_of(payment: Payment, number: int) -> None:
    """So many payments more, older than this one and like it but for their keys."""
    columns = [str(field.column) for field in Payment._meta.local_concrete_fields]
    others = ", ".join(column for column in columns if column not in {"id", "sequence", "memo"})
    first = uuid.UUID(int=payment.pk.int - (number << 80))
    with connection.cursor() as cursor:
        cursor.execute(
            f"""INSERT INTO payments_payment (id, sequence, memo, {others})
            SELECT (left(%s, 24) || lpad(to_hex(n), 12, '0'))::uuid, -(sequence * 1000000 + n), n::text, {others}
            FROM payments_payment, generate_series(1, %s) AS n WHERE id = %s""",  # noqa: S608 - columns of our own
            [str(first), number, payment.pk],
        )
