<?php

// Generated from docs/openapi.json by sdk/generator.

declare(strict_types=1);

namespace Ballast\Resource;

use Ballast\Model;
use Ballast\Omitted;
use Ballast\RequestOptions;

/**
 * The account and its settings.
 */
final class Merchant extends Resource
{
    /**
     * Get the merchant.
     *
     * The account that the keys belong to, and its settings.
     *
     * Scope: `merchant:read`.
     */
    public function get(?RequestOptions $options = null): Model\Merchant
    {
        return Model\Merchant::ofResponse($this->transport->send('GET', '/v1/merchant', options: $options));
    }

    /**
     * Update settings.
     *
     * Changes what is given, and leaves the rest.
     *
     * Scope: `merchant:write`.
     *
     * @param string|null|Omitted $settlementCurrency The coin that settlements are paid in.
     * @param array<string, mixed>|null|Omitted $settlementSchedule When settlements are made.
     * @param int|float|string|null|Omitted $paymentTolerance How far short a payment may fall and still complete, in
     *     percent: from 0 to 0.5.
     * @param string|null|Omitted $latePayments `hold` late money for a decision, or `accept` it within 24 hours when
     *     the amount is complete.
     * @param string|null|Omitted $surplus What happens to a surplus: `ask` holds it for a decision, `give_back` refunds
     *     it to its sender, `keep` credits it up to `surplusKept`.
     * @param int|float|string|null|Omitted $surplusKept Up to how much of the price a surplus is kept, in percent:
     *     above 0 and at most 1 with `keep`, else 0.
     * @param list<string>|null|Omitted $walletAllowList Wallets that payments may name as merchantWallet; an empty list
     *     allows any.
     */
    public function updateSettings(
        string|null|Omitted $settlementCurrency = Omitted::Value,
        array|null|Omitted $settlementSchedule = Omitted::Value,
        int|float|string|null|Omitted $paymentTolerance = Omitted::Value,
        string|null|Omitted $latePayments = Omitted::Value,
        string|null|Omitted $surplus = Omitted::Value,
        int|float|string|null|Omitted $surplusKept = Omitted::Value,
        array|null|Omitted $walletAllowList = Omitted::Value,
        ?RequestOptions $options = null,
    ): Model\Merchant {
        return Model\Merchant::ofResponse($this->transport->send(
            'PATCH',
            '/v1/merchant/settings',
            body: self::changes([
                'settlementCurrency' => $settlementCurrency,
                'settlementSchedule' => self::object($settlementSchedule),
                'paymentTolerance' => $paymentTolerance,
                'latePayments' => $latePayments,
                'surplus' => $surplus,
                'surplusKept' => $surplusKept,
                'walletAllowList' => $walletAllowList,
            ]),
            options: $options,
        ));
    }
}
