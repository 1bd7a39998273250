<?php

/**
 * Plugin Name:          Ballast for WooCommerce
 * Description:          Take USDC, USDT and DAI by your own Ballast installation. No account with anybody else.
 * Version:              0.1.0
 * Requires at least:    6.1
 * Requires PHP:         8.1
 * Requires Plugins:     woocommerce
 * WC requires at least: 7.1
 * Author:               The Ballast maintainers
 * License:              Apache-2.0
 * Text Domain:          ballast-for-woocommerce
 * Domain Path:          /languages
 */

declare(strict_types=1);

defined('ABSPATH') || exit;

// The classes of the plugin are below src/, those of the client for PHP below lib/, where the build puts them.
spl_autoload_register(static function (string $class): void {
    foreach (['Ballast\\WooCommerce\\' => __DIR__ . '/src/', 'Ballast\\' => __DIR__ . '/lib/'] as $prefix => $folder) {
        if (str_starts_with($class, $prefix)) {
            $file = $folder . strtr(substr($class, strlen($prefix)), '\\', '/') . '.php';
            if (is_file($file)) {
                require $file;
            }
            return;
        }
    }
});

Ballast\WooCommerce\Plugin::start(__FILE__);
