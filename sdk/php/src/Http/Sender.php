<?php

declare(strict_types=1);

namespace Ballast\Http;

use Ballast\Error\ApiConnectionError;

/** Sends one request. Give the client one of your own where requests must take another way than curl. */
interface Sender
{
    /**
     * Returns the reply whatever its status. Redirects are not followed.
     *
     * @throws ApiConnectionError when none came
     */
    public function send(Request $request): Response;
}
