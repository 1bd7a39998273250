"""The first page of the admin, and acknowledging an alarm on it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils import timezone

from config.environments import Environment
from config.installation.backups import records
from merchants.four_eyes.models import Proposal
from merchants.four_eyes.services import waiting_for
from merchants.ledger.models import Stop, StopKind
from merchants.models import User
from payments.monitoring import work
from payments.monitoring.models import Alarm
from payments.monitoring.reconciling import EXTENTS
from payments.monitoring.services import acknowledge_alarm
from payments.monitoring.today.networks import network_lines
from payments.monitoring.today.waiting import Waiting, what_waits


@admin.site.admin_view
def show_today(request: HttpRequest) -> HttpResponse:
    """The admin's first page: what is wrong, what waits, and how networks and wallets are doing."""
    if request.method == "POST":
        return _acknowledge(request)
    user = cast("User", request.user)
    sees_alarms = user.has_perm("operations.view_alarm")
    alarms = list(Alarm.objects.open().most_urgent_first()) if sees_alarms else []
    shown: dict[str, Any] = {"sees_alarms": sees_alarms, "may_acknowledge": user.has_perm("operations.change_alarm")}
    stops = list(Stop.objects.standing()) if sees_alarms or user.has_perm("ledger.view_stop") else []
    report = None
    if sees_alarms:
        halted = {(stop.environment, stop.network) for stop in stops if stop.kind == StopKind.HALT}
        report = work.report(halted)
        shown |= {"alarms": alarms, "behind": report.behind, "clocks_off": report.clocks_off}
    proposals = waiting_for(user) if user.has_perm("four_eyes.view_proposal") else []
    waiting = what_waits(user.has_perm)
    if user.has_perm("operations.view_networksnapshot"):
        shown["networks"] = network_lines(alarms, stops, shows_coins=user.has_perm("transfers.view_wallet"))
    if report and user.has_perm("ledger.view_reconcilerun"):
        shown["runs"] = [(extent, report.runs.get(extent)) for extent in EXTENTS]
    if user.has_perm("installation.view_backuprun"):
        backups, now = records.current(), timezone.now()
        shown |= {"backups": backups, "backup_faults": [fault for _, fault in backups.faults(now)]}
    ours, sandbox = (
        [each for each in waiting if (each.environment == Environment.SANDBOX) == is_sandbox]
        for is_sandbox in (False, True)
    )
    shown |= {
        "verdict": _verdict(report, alarms, proposals, ours),
        "proposals": proposals,
        "stops": stops if user.has_perm("ledger.view_stop") else [],
        "waiting": [("In production", ours), ("In the sandbox", sandbox)],
    }
    return admin.site.index(request, shown)


def _acknowledge(request: HttpRequest) -> HttpResponse:
    if not request.user.has_perm("operations.change_alarm"):
        raise PermissionDenied
    key = request.POST.get("alarm", "")
    alarm = get_object_or_404(Alarm, pk=int(key) if key.isdecimal() else 0)
    if acknowledge_alarm(alarm, acknowledged_by=request.user.get_username()):
        admin.site.get_model_admin(Alarm).log_change(request, alarm, "Acknowledged.")
        messages.success(request, f"You look after: {alarm}.")
    else:
        messages.warning(request, f"Over, or somebody looks after it already: {alarm}.")
    return HttpResponseRedirect(reverse("admin:index"))


def _verdict(
    report: work.Report | None, alarms: Sequence[Alarm], proposals: Sequence[Proposal], waiting: Sequence[Waiting]
) -> tuple[str, str]:
    """The answer in a sentence, and how it is marked."""
    mine = [alarm for alarm in alarms if alarm.acknowledged_at is None]
    if report and report.behind:
        return "error", "Background work is behind. Begin there: without it no alarm is raised."
    if mine:
        return "error", f"{_number(mine, 'alarm')} that nobody looks after. Begin with: {mine[0]}."
    if alarms:
        return "warning", f"{_number(alarms, 'alarm')}, and somebody looks after each."
    if proposals:
        return "warning", f"No alarm. {_number(proposals, 'proposal')} for you to agree to."
    if waiting:
        return "warning", f"No alarm. The first thing that waits: {waiting[0].title.lower()}."
    return "success", "Everything is well." if report else "Nothing waits for you."


def _number(rows: Sequence[object], name: str) -> str:
    return f"{len(rows)} {name}{'' if len(rows) == 1 else 's'}"
