<?php

declare(strict_types=1);

namespace Ballast;

use Ballast\Http\Response;

/**
 * A page of a list. A loop over it goes through all pages, and asks for each when it is reached.
 *
 * @template T of Model
 * @implements \IteratorAggregate<int, T>
 */
final class Page implements \IteratorAggregate
{
    /** @var list<T> the records of this page */
    public readonly array $data;
    public readonly bool $hasMore;
    /** How many records match on all pages. */
    public readonly int $totalCount;

    /**
     * @param class-string<T> $model
     * @param array<string, mixed> $query
     */
    public function __construct(
        private readonly Transport $transport,
        private readonly string $model,
        private readonly string $path,
        private readonly array $query,
        private readonly ?RequestOptions $options,
        private readonly Response $response,
    ) {
        $reply = Transport::decode($response);
        $records = is_array($reply['data'] ?? null) ? array_values($reply['data']) : [];
        $this->data = array_map($this->model::of(...), $records);
        $this->hasMore = (bool) ($reply['hasMore'] ?? false);
        $this->totalCount = (int) ($reply['totalCount'] ?? count($records));
    }

    /**
     * @param class-string<T> $model
     * @param array<string, mixed> $query
     * @return self<T>
     */
    public static function fetch(
        Transport $transport,
        string $model,
        string $path,
        array $query,
        ?RequestOptions $options,
    ): self {
        $response = $transport->send('GET', $path, $query, options: $options);
        return new self($transport, $model, $path, $query, $options, $response);
    }

    /** @return self<T>|null null after the last page */
    public function nextPage(): ?self
    {
        // A list that ends before a record goes on to newer ones, from its first record.
        $name = isset($this->query['ending_before']) ? 'ending_before' : 'starting_after';
        $edge = $name === 'ending_before' ? 0 : count($this->data) - 1;
        $record = $this->data === [] ? [] : $this->data[$edge]->raw;
        $cursor = $record['id'] ?? $record['month'] ?? null;
        if (!$this->hasMore || !is_string($cursor)) {
            return null;
        }
        $query = [$name => $cursor] + $this->query;
        return self::fetch($this->transport, $this->model, $this->path, $query, $this->options);
    }

    /** @return \Generator<int, T> every record from this page on */
    public function getIterator(): \Generator
    {
        for ($page = $this; $page !== null; $page = $page->nextPage()) {
            foreach ($page->data as $record) {
                yield $record;
            }
        }
    }

    /** The raw reply of this page. */
    public function response(): Response
    {
        return $this->response;
    }
}
