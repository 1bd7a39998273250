<?php

declare(strict_types=1);

spl_autoload_register(static function (string $class): void {
    foreach (['Ballast\\Tests\\' => __DIR__ . '/', 'Ballast\\' => __DIR__ . '/../src/'] as $prefix => $folder) {
        if (str_starts_with($class, $prefix)) {
            $file = $folder . strtr(substr($class, strlen($prefix)), '\\', '/') . '.php';
            if (is_file($file)) {
                require $file;
            }
            return;
        }
    }
});
