"""Filters that every template has without loading them."""

from __future__ import annotations

from django import template

from config.pages import wording

register = template.Library()


@register.filter
def whole(number: int | str) -> str:
    """A count as the reader writes numbers; empty where there is no number."""
    return wording.whole(number) if isinstance(number, int) else ""
