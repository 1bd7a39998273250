<?php

declare(strict_types=1);

namespace Ballast\WooCommerce;

use Automattic\WooCommerce\Blocks\Payments\Integrations\AbstractPaymentMethodType;

/** The way of paying in the checkout of blocks. */
final class BlockMethod extends AbstractPaymentMethodType
{
    protected $name = Plugin::ID;

    public function initialize(): void
    {
    }

    public function is_active(): bool
    {
        return (new Gateway())->is_available();
    }

    /** @return list<string> */
    public function get_payment_method_script_handles(): array
    {
        wp_register_script(
            'ballast-blocks',
            Plugin::url('assets/blocks.js'),
            ['wc-blocks-registry', 'wc-settings', 'wp-element', 'wp-html-entities'],
            Plugin::VERSION,
            true
        );
        return ['ballast-blocks'];
    }

    /** @return array<string, mixed> */
    public function get_payment_method_data(): array
    {
        $gateway = new Gateway();
        return [
            'title' => $gateway->title,
            'description' => $gateway->description,
            'supports' => $gateway->supports,
        ];
    }
}
