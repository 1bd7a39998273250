"""Examples of refunds for the API reference."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import OpenApiExample

PAYER = "0x8Ba1f109551bD432803012645Ac136ddd64DBA72"

NEW_REFUND: dict[str, Any] = {
    "paymentId": "pay_01kfjhr3c8e4bs0dz6wd5n5yry",
    "amount": 10.0,
    "reason": "One of two bags was out of stock",
    "metadata": {"order": "1007"},
}

REFUND: dict[str, Any] = {
    "id": "ref_01kfjm2w7q5v8n3m2c9q7r4zkp",
    "object": "refund",
    "paymentId": "pay_01kfjhr3c8e4bs0dz6wd5n5yry",
    "discrepancyId": None,
    "amount": 10.0,
    "currency": "EUR",
    "cryptoAmount": "11.600000",
    "tokenFee": "0.000000",
    "receivedAmount": None,
    "returnsFee": False,
    "cryptocurrency": "USDC",
    "network": "polygon",
    "destination": None,
    "memo": None,
    "memoType": None,
    "status": "pending",
    "claimUrl": None,
    "reason": "One of two bags was out of stock",
    "transactionHash": None,
    "claimableBalanceId": None,
    "holdReason": None,
    "failureCode": None,
    "failureMessage": None,
    "metadata": {"order": "1007"},
    "environment": "production",
    "createdAt": "2026-01-22T10:30:02.423Z",
    "completedAt": None,
    "version": 1,
}

REQUIRES_ACTION: dict[str, Any] = {
    **REFUND,
    "status": "requires_action",
    "claimUrl": "https://pay.example.com/refund/WyJyZWZfMDFrZmptMnc3cTV2OG4zbTJjOXE3cjR6a3AiLDFd:1vit8M:4qLk9Xv0",
}

COMPLETED: dict[str, Any] = {
    **REFUND,
    "destination": PAYER,
    "status": "completed",
    "receivedAmount": "11.600000",
    "transactionHash": "0x8f0e2a77c1d4b6a95be7c80f3d21a4965ecb7d80a1f2c3b4d5e6f70819a2b3c4",
    "completedAt": "2026-01-22T10:30:41.118Z",
    "version": 4,
}

CREATE = [
    OpenApiExample("A part, back to the sender", value=NEW_REFUND, request_only=True),
    OpenApiExample(
        "All that is left, to another address",
        value={"paymentId": NEW_REFUND["paymentId"], "destination": PAYER},
        request_only=True,
    ),
    OpenApiExample("Waiting to be sent", value=REFUND, response_only=True),
    OpenApiExample("Needs an address", value=REQUIRES_ACTION, response_only=True),
]
RETRIEVE = [OpenApiExample("Final on its network", value=COMPLETED, response_only=True)]
CANCEL = [OpenApiExample("Cancelled", value={**REFUND, "status": "cancelled", "version": 2}, response_only=True)]
GIVE_DESTINATION = [
    OpenApiExample("An ordinary address", value={"destination": PAYER}, request_only=True),
    OpenApiExample("Waiting to be sent", value={**REFUND, "destination": PAYER, "version": 2}, response_only=True),
]
