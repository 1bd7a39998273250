"""Forms that can be sent only once: nothing is made, and no secret shown, a second time."""

from __future__ import annotations

import secrets

from django.http import HttpRequest

_OPEN_FORMS = "open_forms"
_MOST_OPEN_FORMS = 10


def open_form(request: HttpRequest) -> str:
    """The id of a new form, for its hidden field `form_id`."""
    form_id = secrets.token_urlsafe(12)
    still_open = [*request.session.get(_OPEN_FORMS, []), form_id]
    request.session[_OPEN_FORMS] = still_open[-_MOST_OPEN_FORMS:]
    return form_id


def close_form(request: HttpRequest) -> bool:
    """Close the form that was sent; False if it was not open any more."""
    still_open = list(request.session.get(_OPEN_FORMS, []))
    form_id = request.POST.get("form_id", "")
    if form_id not in still_open:
        return False
    still_open.remove(form_id)
    request.session[_OPEN_FORMS] = still_open
    return True
