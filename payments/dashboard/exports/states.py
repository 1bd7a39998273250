"""Statuses of an export, and the moves between them. Pure."""

from __future__ import annotations

from django.db import models

from config.states import Transitions


class ExportStatus(models.TextChoices):
    WAITING = "waiting", "Waiting"
    WRITING = "writing", "Being written"
    READY = "ready", "Ready"
    FAILED = "failed", "Failed"


EXPORT_MOVES = Transitions(
    {
        ExportStatus.WAITING: [ExportStatus.WRITING, ExportStatus.FAILED],
        ExportStatus.WRITING: [ExportStatus.READY, ExportStatus.FAILED],
        ExportStatus.READY: [],
        ExportStatus.FAILED: [],
    }
)
