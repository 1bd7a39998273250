<?php

// Generated from docs/openapi.json by sdk/generator.

declare(strict_types=1);

namespace Ballast\Resource;

use Ballast\Transport;

/** The resources of the client. */
trait HasResources
{
    public readonly Payments $payments;
    public readonly Discrepancies $discrepancies;
    public readonly Quote $quote;
    public readonly PaymentLinks $paymentLinks;
    public readonly Refunds $refunds;
    public readonly Settlements $settlements;
    public readonly Statements $statements;
    public readonly Invoices $invoices;
    public readonly Webhooks $webhooks;
    public readonly Events $events;
    public readonly Deliveries $deliveries;
    public readonly Requests $requests;
    public readonly Merchant $merchant;
    public readonly Balance $balance;

    private function setResources(Transport $transport): void
    {
        $this->payments = new Payments($transport);
        $this->discrepancies = new Discrepancies($transport);
        $this->quote = new Quote($transport);
        $this->paymentLinks = new PaymentLinks($transport);
        $this->refunds = new Refunds($transport);
        $this->settlements = new Settlements($transport);
        $this->statements = new Statements($transport);
        $this->invoices = new Invoices($transport);
        $this->webhooks = new Webhooks($transport);
        $this->events = new Events($transport);
        $this->deliveries = new Deliveries($transport);
        $this->requests = new Requests($transport);
        $this->merchant = new Merchant($transport);
        $this->balance = new Balance($transport);
    }
}
