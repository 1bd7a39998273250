"""Halts of this installation after a restore, and its backups."""

from __future__ import annotations

from django.contrib import admin

from config.admin.base import LongList, ReadOnly
from config.admin.columns import RecordPage
from config.installation.models import BackupRun, Standstill


@admin.register(Standstill)
class StandstillAdmin(ReadOnly, RecordPage[Standstill]):
    list_display = ("__str__", "began_at", "ended_at", "ended_by", "was_restored")
    list_filter = (("ended_at", admin.EmptyFieldListFilter), "sign")


@admin.register(BackupRun)
class BackupRunAdmin(LongList, ReadOnly, RecordPage[BackupRun]):
    list_display = ("__str__", "name", "taken_at", "size", "fault")
    list_filter = ("kind",)
