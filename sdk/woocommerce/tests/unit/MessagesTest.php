<?php

declare(strict_types=1);

namespace Ballast\WooCommerce\Tests;

use PHPUnit\Framework\TestCase;

final class MessagesTest extends TestCase
{
    /** @testWith ["de_DE"]
     *            ["es_ES"]
     */
    public function testEveryTextIsTranslatedWithItsPlaceholders(string $language): void
    {
        $folder = dirname(__DIR__, 2) . '/plugin';
        $source = implode('', array_map(file_get_contents(...), glob("$folder/src/*.php") ?: []));
        preg_match_all("/__\(\s*'((?:[^'\\\\]|\\\\.)*)',\s*'ballast-for-woocommerce'/", $source, $found);
        $catalogue = (string) file_get_contents("$folder/languages/ballast-for-woocommerce-$language.po");
        preg_match_all('/^msgid "(.+)"\nmsgstr "(.*)"$/m', $catalogue, $pairs);
        $translated = array_combine($pairs[1], $pairs[2]);
        $texts = array_values(array_unique($found[1]));
        self::assertSame(substr_count($source, '__('), count($found[1]), 'a text that this test does not read');
        self::assertSame([], array_diff($texts, $pairs[1]), 'texts that are not in the catalogue');
        self::assertSame([], array_diff($pairs[1], $texts), 'texts that are no longer in the source');
        foreach ($translated as $text => $translation) {
            self::assertNotSame('', $translation, $text);
            self::assertSame(self::placeholders($text), self::placeholders($translation), $text);
        }
    }

    /** @return list<string> */
    private static function placeholders(string $text): array
    {
        preg_match_all('/%(\d\$)?s|https:\S+|_…/', $text, $found);
        sort($found[0]);
        return $found[0];
    }
}
