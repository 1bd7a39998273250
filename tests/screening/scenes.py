"""Lists in force and operators' releases, in words that the tests of screening share."""

from __future__ import annotations

from typing import Any

from payments.screening.lists import import_list
from payments.screening.models import SanctionsList
from payments.suspense.review import propose_release
from tests.factories import make_user


def put_in_force(tmp_path: Any, *addresses: str, source: str = "ofac") -> SanctionsList:
    """Import a list that names these addresses, and no others."""
    file = tmp_path / f"{source}.csv"
    file.write_text("address,name,programme\n" + "".join(f"{each},Invented PERSON,CYBER2\n" for each in addresses))
    with file.open("rb") as opened:
        return import_list(opened, name=file.name, source=source)


def release(row: Any, people: int = 2) -> list[str]:
    """Have so many operators release it; returns the statuses of their proposal."""
    operators = [make_user(is_staff=True, is_superuser=True) for _ in range(people)]
    return [propose_release(row, "Compared with the list: somebody else", by).status for by in operators]
