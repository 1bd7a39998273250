<?php

declare(strict_types=1);

namespace Ballast\Tests;

use Ballast\Ballast;
use PHPUnit\Framework\TestCase;

/** What users of the package can rely on is listed in public-api.txt: a change of it is a change of that file. */
final class PublicApiTest extends TestCase
{
    public function testThePublicApiIsAsListed(): void
    {
        $file = dirname(__DIR__) . '/public-api.txt';
        $listed = implode("\n", self::lines()) . "\n";
        if (getenv('WRITE_PUBLIC_API')) {
            file_put_contents($file, $listed);
        }
        self::assertSame((string) file_get_contents($file), $listed, 'WRITE_PUBLIC_API=1 phpunit writes it');
    }

    public function testTheVersionIsThatOfThePackage(): void
    {
        $package = json_decode((string) file_get_contents(dirname(__DIR__) . '/composer.json'), true);
        self::assertSame($package['version'], Ballast::VERSION);
    }

    /** @return list<string> */
    private static function lines(): array
    {
        $source = dirname(__DIR__) . '/src/';
        $lines = [];
        $folder = new \RecursiveDirectoryIterator($source, \FilesystemIterator::SKIP_DOTS);
        foreach (new \RecursiveIteratorIterator($folder) as $file) {
            $name = 'Ballast\\' . strtr(substr((string) $file, strlen($source), -4), '/', '\\');
            $class = new \ReflectionClass($name);
            $lines[] = $name . ($class->getParentClass() ? ' extends ' . $class->getParentClass()->getName() : '');
            foreach ($class->getReflectionConstants(\ReflectionClassConstant::IS_PUBLIC) as $constant) {
                if ($constant->getDeclaringClass()->getName() === $name && $name !== Ballast::class) {
                    $lines[] = "$name::{$constant->getName()}";
                }
            }
            foreach ($class->getProperties(\ReflectionProperty::IS_PUBLIC) as $property) {
                if ($property->getDeclaringClass()->getName() === $name) {
                    $lines[] = rtrim("$name::\${$property->getName()} {$property->getType()}");
                }
            }
            foreach ($class->getMethods(\ReflectionMethod::IS_PUBLIC) as $method) {
                if ($method->getDeclaringClass()->getName() === $name && !$method->isInternal()) {
                    $lines[] = self::signature($name, $method);
                }
            }
        }
        sort($lines);
        return $lines;
    }

    private static function signature(string $class, \ReflectionMethod $method): string
    {
        $parameters = array_map(
            fn(\ReflectionParameter $one): string => trim("{$one->getType()} \${$one->getName()}")
                . ($one->isOptional() ? ' = …' : ''),
            $method->getParameters()
        );
        $result = $method->getReturnType() === null ? '' : ": {$method->getReturnType()}";
        return "$class::{$method->getName()}(" . implode(', ', $parameters) . ")$result";
    }
}
