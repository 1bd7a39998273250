"""Examples of settlements for the API reference."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import OpenApiExample

WALLET = "0x52908400098527886E0F7030069857D2E4169EE7"
HASH = "0x8d2f4a1be7c05d3390a6f1c2b4e8d7a95c3016f2e9b7d4a8c1f05e3d6b9a7248"
RATE = {"rate": "0.999812", "source": "kraken, coinbase, bitstamp", "quotedAt": "2026-01-23T00:00:01.000Z"}

SETTLEMENT: dict[str, Any] = {
    "id": "set_01kfm2g1m0e5x8c3v7b2n9q4rt",
    "object": "settlement",
    "status": "completed",
    "settlementCurrency": "USDC",
    "network": "polygon",
    "destination": WALLET,
    "grossAmount": "1529.560000",
    "feeAmount": "7.647800",
    "refundAmount": "29.580000",
    "debtAmount": "0.000000",
    "amount": "1492.332200",
    "tokenFee": "0.000000",
    "receivedAmount": "1492.332200",
    "paymentCount": 31,
    "exchangeRate": {"USDT": RATE},
    "rateMoment": "when_paid",
    "periodStart": "2026-01-22T00:00:00.000Z",
    "periodEnd": "2026-01-23T00:00:00.000Z",
    "scheduledFor": "2026-01-23T00:00:00.000Z",
    "transactionHash": HASH,
    "claimableBalanceId": None,
    "failureCode": None,
    "failureMessage": None,
    "environment": "production",
    "createdAt": "2026-01-23T00:00:00.512Z",
    "completedAt": "2026-01-23T00:01:14.208Z",
    "version": 2,
}

FAILED: dict[str, Any] = {
    **SETTLEMENT,
    "status": "failed",
    "receivedAmount": None,
    "transactionHash": None,
    "failureCode": "destination_invalid",
    "failureMessage": "The wallet cannot be paid",
    "completedAt": None,
}

PREVIEW: dict[str, Any] = {
    "object": "next_settlements",
    "scheduledFor": "2026-01-24T00:00:00.000Z",
    "periodStart": "2026-01-23T00:00:00.000Z",
    "periodEnd": "2026-01-24T00:00:00.000Z",
    "settlements": [
        {
            "network": "polygon",
            "destination": WALLET,
            "settlementCurrency": "USDC",
            "grossAmount": "412.500000",
            "feeAmount": "2.062500",
            "refundAmount": "0.000000",
            "debtAmount": "0.000000",
            "amount": "410.437500",
            "paymentCount": 9,
            "exchangeRate": {"USDT": RATE},
            "problem": None,
            "problemMessage": None,
        }
    ],
    "carriedOver": [
        {
            "network": "ethereum",
            "destination": WALLET,
            "cryptocurrency": "DAI",
            "amount": "4.200000",
            "reason": "below_minimum",
            "message": "Below the smallest settlement",
        }
    ],
    "debtOffsets": [],
    "rateMoment": "when_paid",
    "environment": "production",
}

_PAYMENT: dict[str, Any] = {
    "type": "payment",
    "time": "2026-01-22T09:53:05.052Z",
    "amount": "29.580000",
    "balance": "33.980000",
    "reference": "pay_01kfjhr3c8e4bs0dz6wd5n5yry",
    "paymentId": "pay_01kfjhr3c8e4bs0dz6wd5n5yry",
    "refundId": None,
    "wallet": WALLET,
    "fiatAmount": 25.5,
    "fiatCurrency": "EUR",
    "conversion": None,
    "transactionHash": None,
    "tokenFee": None,
    "claimableBalanceId": None,
    "debtOffset": None,
    "returnsFee": None,
}
_OF_THE_SETTLEMENT: dict[str, Any] = {
    **_PAYMENT,
    "time": "2026-01-23T00:00:00.512Z",
    "reference": "set_01kfm2g1m0e5x8c3v7b2n9q4rt",
    "paymentId": None,
    "wallet": None,
    "fiatAmount": None,
    "fiatCurrency": None,
}

SETTLEMENT_STATEMENT: dict[str, Any] = {
    "object": "settlement_statement",
    "version": 1,
    "settlement": "set_01kfm2g1m0e5x8c3v7b2n9q4rt",
    "status": "completed",
    "settlementCurrency": "USDC",
    "network": "polygon",
    "destination": WALLET,
    "amount": "33.810100",
    "rateMoment": "when_paid",
    "feeBps": 50,
    "periodStart": "2026-01-22T00:00:00.000Z",
    "periodEnd": "2026-01-23T00:00:00.000Z",
    "environment": "production",
    "coins": [
        {
            "cryptocurrency": "USDC",
            "carriedOver": [
                {
                    **_PAYMENT,
                    "time": "2026-01-21T16:20:41.330Z",
                    "amount": "4.400000",
                    "balance": "4.400000",
                    "reference": "pay_01kfgr0q5te2d8w4k6m1x9z3vb",
                    "paymentId": "pay_01kfgr0q5te2d8w4k6m1x9z3vb",
                    "fiatAmount": 3.8,
                }
            ],
            "openingBalance": "4.400000",
            "entries": [
                _PAYMENT,
                {**_OF_THE_SETTLEMENT, "type": "fee", "amount": "-0.169900", "balance": "33.810100"},
                {
                    **_OF_THE_SETTLEMENT,
                    "type": "settlement",
                    "time": "2026-01-23T00:01:14.208Z",
                    "amount": "-33.810100",
                    "balance": "0.000000",
                    "wallet": WALLET,
                    "transactionHash": HASH,
                },
            ],
            "closingBalance": "0.000000",
        }
    ],
}

RETRIEVE = [
    OpenApiExample("Paid", value=SETTLEMENT, response_only=True),
    OpenApiExample("Failed", value=FAILED, response_only=True),
]
NEXT = [OpenApiExample("Tomorrow", value=PREVIEW, response_only=True)]
STATEMENT = [
    OpenApiExample(
        "Paid",
        value=SETTLEMENT_STATEMENT,
        response_only=True,
        media_type="application/json",
    )
]
