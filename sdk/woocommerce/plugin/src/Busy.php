<?php

declare(strict_types=1);

namespace Ballast\WooCommerce;

/** Somebody else works on the order. */
final class Busy extends \RuntimeException
{
}
