<?php

declare(strict_types=1);

const FOLDERS = [
    'Ballast\\WooCommerce\\Tests\\' => __DIR__ . '/unit/',
    'Ballast\\WooCommerce\\' => __DIR__ . '/../plugin/src/',
    'Ballast\\' => __DIR__ . '/../../php/src/',
];

spl_autoload_register(static function (string $class): void {
    foreach (FOLDERS as $prefix => $folder) {
        if (str_starts_with($class, $prefix)) {
            $file = $folder . strtr(substr($class, strlen($prefix)), '\\', '/') . '.php';
            if (is_file($file)) {
                require $file;
            }
            return;
        }
    }
});

require __DIR__ . '/stubs/wordpress.php';
require __DIR__ . '/stubs/woocommerce.php';
