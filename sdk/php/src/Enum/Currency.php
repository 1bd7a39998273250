<?php

// Generated from docs/openapi.json by sdk/generator.

declare(strict_types=1);

namespace Ballast\Enum;

/** Values as the API writes them. There may be others: this version knows these. */
final class Currency
{
    public const USD = 'USD';
    public const EUR = 'EUR';
    public const GBP = 'GBP';
    public const CHF = 'CHF';
    public const CZK = 'CZK';
    public const DKK = 'DKK';
    public const HUF = 'HUF';
    public const NOK = 'NOK';
    public const PLN = 'PLN';
    public const RON = 'RON';
    public const SEK = 'SEK';
    public const TRY = 'TRY';
    public const AUD = 'AUD';
    public const BRL = 'BRL';
    public const CAD = 'CAD';
    public const CNY = 'CNY';
    public const HKD = 'HKD';
    public const IDR = 'IDR';
    public const ILS = 'ILS';
    public const INR = 'INR';
    public const MXN = 'MXN';
    public const MYR = 'MYR';
    public const NZD = 'NZD';
    public const PHP = 'PHP';
    public const SGD = 'SGD';
    public const THB = 'THB';
    public const ZAR = 'ZAR';
    public const AED = 'AED';
    public const SAR = 'SAR';
    public const QAR = 'QAR';
    public const JPY = 'JPY';
    public const KRW = 'KRW';
    public const ISK = 'ISK';
    public const BHD = 'BHD';
    public const OMR = 'OMR';
}
