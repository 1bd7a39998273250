"""Examples of payments for the API reference."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import OpenApiExample

NEW_PAYMENT: dict[str, Any] = {
    "amount": 25.5,
    "currency": "EUR",
    "cryptocurrency": "USDC",
    "network": "polygon",
    "merchantWallet": "0x52908400098527886E0F7030069857D2E4169EE7",
    "redirectUrl": "https://shop.example.com/thanks",
    "webhookUrl": "https://shop.example.com/hooks/ballast",
    "expiresIn": 1800,
    "metadata": {"order": "1007"},
    "description": "Order 1007",
    "items": [
        {"name": "Espresso cup", "quantity": 2, "amount": 21},
        {"name": "Shipping", "amount": 4.5},
    ],
}

OPEN_PAYMENT: dict[str, Any] = {
    "amount": 25.5,
    "currency": "EUR",
    "merchantWallets": {
        "polygon": "0x52908400098527886E0F7030069857D2E4169EE7",
        "ethereum": "0x52908400098527886E0F7030069857D2E4169EE7",
    },
    "cryptocurrencies": ["USDC", "USDT"],
}

PAYMENT: dict[str, Any] = {
    "id": "pay_01kfjhr3c8e4bs0dz6wd5n5yry",
    "object": "payment",
    "status": "created",
    "amount": 25.5,
    "currency": "EUR",
    "cryptoAmount": "29.580000",
    "cryptocurrency": "USDC",
    "network": "polygon",
    "url": "https://pay.example.com/pay/pay_01kfjhr3c8e4bs0dz6wd5n5yry",
    "qrCode": "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAA…",
    "expiresAt": "2026-01-22T10:19:39.592Z",
    "createdAt": "2026-01-22T09:49:39.592Z",
    "amountDue": "29.580000",
    "amountReceived": "0.000000",
    "amountRefunded": "0.000000",
    "exchangeRate": {
        "rate": "0.862068965517241379",
        "source": "ecb, kraken, coinbase, bitstamp",
        "quotedAt": "2026-01-22T09:49:20.000Z",
    },
    "depositAddress": "0xc6656a986Aecf7982D36bB1fB5F286411028fE2a",
    "memo": None,
    "muxedAddress": None,
    "paymentUri": (
        "ethereum:0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359@137/transfer"
        "?address=0xc6656a986Aecf7982D36bB1fB5F286411028fE2a&uint256=29580000"
    ),
    "confirmations": 0,
    "requiredConfirmations": 8,
    "statusReasons": [],
    "transfers": [],
    "transferCount": 0,
    "merchantWallet": "0x52908400098527886E0F7030069857D2E4169EE7",
    "redirectUrl": "https://shop.example.com/thanks",
    "cancelUrl": None,
    "webhookUrl": "https://shop.example.com/hooks/ballast",
    "expiresIn": 1800,
    "metadata": {"order": "1007"},
    "description": "Order 1007",
    "items": [
        {"name": "Espresso cup", "quantity": 2, "amount": 21},
        {"name": "Shipping", "quantity": 1, "amount": 4.5},
    ],
    "note": None,
    "paymentLink": None,
    "choices": [],
    "chosenAt": None,
    "environment": "production",
    "completedAt": None,
    "cancelledAt": None,
    "closedAt": None,
    "version": 1,
}

COMPLETED: dict[str, Any] = {
    **PAYMENT,
    "status": "completed",
    "amountDue": "0.000000",
    "amountReceived": "29.580000",
    "confirmations": 8,
    "transfers": [
        {
            "id": "trf_01kfjhs6nre3sr2p8h5v4c7k1m",
            "object": "transfer",
            "hash": "0x1b6c9fbb0bb52b4ee6b1c7e7f0a3d1c05d8f8be8b7ad5b3a70b4d0f5f3a9c2d4",
            "amount": "29.580000",
            "cryptocurrency": "USDC",
            "network": "polygon",
            "status": "credited",
            "block": 81734417,
            "missing": None,
            "conflictingMemo": None,
            "seenAt": "2026-01-22T09:52:46.712Z",
        }
    ],
    "transferCount": 1,
    "completedAt": "2026-01-22T09:53:05.052Z",
    "version": 3,
}

CREATE = [
    OpenApiExample("In euro, paid in USDC on polygon", value=NEW_PAYMENT, request_only=True),
    OpenApiExample("The payer chooses coin and network", value=OPEN_PAYMENT, request_only=True),
    OpenApiExample("Awaiting payment", value=PAYMENT, response_only=True),
]
RETRIEVE = [OpenApiExample("Paid", value=COMPLETED, response_only=True)]
UPDATE = [
    OpenApiExample(
        "After the parcel has left",
        value={"note": "Sent with the second parcel.", "metadata": {"tracking": "RR123", "cart": None}},
        request_only=True,
    ),
    OpenApiExample(
        "Updated",
        value={
            **COMPLETED,
            "note": "Sent with the second parcel.",
            "metadata": {"order": "1007", "tracking": "RR123"},
            "version": 4,
        },
        response_only=True,
    ),
]
QUOTE = [
    OpenApiExample(
        "25.50 EUR",
        value={
            "object": "quote",
            "amount": 25.5,
            "currency": "EUR",
            "options": [
                {
                    "cryptocurrency": "USDC",
                    "network": "stellar",
                    "cryptoAmount": "29.580000",
                    "exchangeRate": PAYMENT["exchangeRate"],
                    "networkFee": 0.000003,
                    "seconds": 6,
                },
                {
                    "cryptocurrency": "USDC",
                    "network": "ethereum",
                    "cryptoAmount": "29.580000",
                    "exchangeRate": PAYMENT["exchangeRate"],
                    "networkFee": 0.12,
                    "seconds": 780,
                },
            ],
            "environment": "production",
        },
        response_only=True,
    )
]
CANCEL = [
    OpenApiExample(
        "Cancelled",
        value={
            **PAYMENT,
            "status": "cancelled",
            "amountDue": "0.000000",
            "cancelledAt": "2026-01-22T09:58:41.902Z",
            "version": 2,
        },
        response_only=True,
    )
]
CLOSE = [
    OpenApiExample(
        "Closed",
        value={
            **PAYMENT,
            "status": "underpaid",
            "statusReasons": ["underpaid"],
            "amountReceived": "24.000000",
            "amountDue": "0.000000",
            "expiresAt": "2026-01-22T10:02:11.000Z",
            "version": 4,
        },
        response_only=True,
    )
]

CLAIM = [
    OpenApiExample(
        "A transaction the payer names",
        value={"transactionHash": COMPLETED["transfers"][0]["hash"]},
        request_only=True,
    ),
    OpenApiExample(
        "Matched, and confirming",
        value={
            "object": "claim",
            "payment": PAYMENT["id"],
            "transactionHash": COMPLETED["transfers"][0]["hash"],
            "network": "polygon",
            "status": "confirming",
            "message": "It matches, and has 3 of 8 confirmations.",
            "block": 81734417,
            "confirmations": 3,
            "requiredConfirmations": 8,
            "transferCount": 1,
            "transfers": [
                {
                    "network": "polygon",
                    "cryptocurrency": "USDC",
                    "tokenContract": "0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359",
                    "amount": "29.580000",
                    "from": "0xFB6916095ca1df60bB79Ce92cE3Ea74c37c5d359",
                    "to": PAYMENT["depositAddress"],
                    "memo": None,
                    "payment": PAYMENT["id"],
                    "matched": True,
                    "code": "confirming",
                    "message": "It matches, and has 3 of 8 confirmations.",
                }
            ],
        },
        response_only=True,
    ),
]

SURPLUS: dict[str, Any] = {
    "id": "dis_01kfjhz0b2f7h9m4wq0c5v8d3x",
    "object": "discrepancy",
    "paymentId": PAYMENT["id"],
    "kind": "overpaid",
    "status": "open",
    "amount": "0.420000",
    "cryptocurrency": "USDC",
    "network": "polygon",
    "note": None,
    "createdAt": "2026-01-22T09:53:05.052Z",
    "resolvedAt": None,
}
ACCEPT = [
    OpenApiExample("With a reason", value={"note": "They asked us to keep the change."}, request_only=True),
    OpenApiExample(
        "Accepted",
        value={
            **SURPLUS,
            "status": "accepted",
            "note": "They asked us to keep the change.",
            "resolvedAt": "2026-01-22T11:02:17.310Z",
        },
        response_only=True,
    ),
]

NEW_LINK: dict[str, Any] = {
    "description": "Harbour tour, one seat",
    "amount": 25.5,
    "currency": "EUR",
    "merchantWallets": {
        "ethereum": "0x52908400098527886E0F7030069857D2E4169EE7",
        "polygon": "0x52908400098527886E0F7030069857D2E4169EE7",
    },
    "maxUses": 40,
    "expiresAt": "2036-06-30",
    "metadata": {"tour": "sunset"},
}
LINK: dict[str, Any] = {
    "id": "plk_01kfjhr3c8e4bs0dz6wd5n5yry",
    "object": "payment_link",
    "url": "https://pay.example.com/link/k3q9xtm2ab",
    "qrCode": "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAA…",
    "status": "active",
    "enabled": True,
    "description": "Harbour tour, one seat",
    "note": None,
    "amount": 25.5,
    "minAmount": None,
    "maxAmount": None,
    "currency": "EUR",
    "cryptocurrencies": None,
    "merchantWallets": NEW_LINK["merchantWallets"],
    "maxUses": 40,
    "usesTaken": 0,
    "expiresAt": "2036-06-30T23:59:59.999Z",
    "expiresIn": 1800,
    "redirectUrl": None,
    "metadata": {"tour": "sunset"},
    "environment": "production",
    "createdAt": "2026-01-22T09:49:39.592Z",
}
CREATE_LINK = [
    OpenApiExample("Forty seats; the payer chooses coin and network", value=NEW_LINK, request_only=True),
    OpenApiExample(
        "One payment whose amount, coin and network the payer chooses",
        value={
            "description": "A donation",
            "currency": "EUR",
            "minAmount": 5,
            "maxAmount": 500,
            "merchantWallets": NEW_LINK["merchantWallets"],
            "maxUses": 1,
        },
        request_only=True,
    ),
    OpenApiExample("Active", value=LINK, response_only=True),
]
RETRIEVE_LINK = [OpenApiExample("Three seats taken", value={**LINK, "usesTaken": 3}, response_only=True)]
UPDATE_LINK = [
    OpenApiExample("Take it out of use", value={"enabled": False}, request_only=True),
    OpenApiExample(
        "Disabled", value={**LINK, "status": "disabled", "enabled": False, "usesTaken": 3}, response_only=True
    ),
]
SIMULATE = [OpenApiExample("Paid exactly", value={"scenario": "exact"}, request_only=True)]
