/** What a method of the client returns: a promise of the record, and ways to the reply behind it. */

/** A reply of the API, with what stands around its data. */
export interface Reply<T> {
  readonly data: T;
  readonly status: number;
  readonly headers: Headers;
  readonly requestId: string | null;
  /** True if the API sent the stored reply of an earlier request with the same key. */
  readonly replayed: boolean;
}

/** A request that was sent: await it for its record, or call `withResponse()` for the reply around it. */
export class Call<T> implements Promise<T> {
  readonly [Symbol.toStringTag] = "Call";
  readonly #reply: Promise<Reply<T>>;

  constructor(reply: Promise<Reply<T>>) {
    this.#reply = reply;
  }

  /** The record together with status, headers and the request's id. */
  withResponse(): Promise<Reply<T>> {
    return this.#reply;
  }

  then<A = T, B = never>(
    fulfilled?: ((value: T) => A | PromiseLike<A>) | null,
    rejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    return this.#reply.then((reply) => reply.data).then(fulfilled, rejected);
  }

  catch<B = never>(rejected?: ((reason: unknown) => B | PromiseLike<B>) | null): Promise<T | B> {
    return this.then(undefined, rejected);
  }

  finally(done?: (() => void) | null): Promise<T> {
    return this.then().finally(done);
  }
}

/** A list as the API replies with it. */
export interface ListReply<T> {
  readonly data: T[];
  readonly hasMore: boolean;
  readonly totalCount: number;
}

/** One page of a list. Iterating over it goes on to the pages after it. */
export class Page<T> implements AsyncIterable<T> {
  readonly data: T[];
  readonly hasMore: boolean;
  /** How many records match: exact, or exact up to where the reference says it ends. */
  readonly totalCount: number;
  readonly #fetchAfter: (last: T) => Promise<Page<T>>;

  constructor(list: ListReply<T>, fetchAfter: (last: T) => Promise<Page<T>>) {
    this.data = list.data;
    this.hasMore = list.hasMore;
    this.totalCount = list.totalCount;
    this.#fetchAfter = fetchAfter;
  }

  /** The page after this one; null at the end. */
  async nextPage(): Promise<Page<T> | null> {
    const last = this.data.at(-1);
    return this.hasMore && last !== undefined ? await this.#fetchAfter(last) : null;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    for (let page: Page<T> | null = this; page !== null; page = await page.nextPage()) yield* page.data;
  }
}

/** A list that is asked for when it is awaited (its first page) or iterated over (every record, page by page). */
export class ListCall<T> implements PromiseLike<Page<T>>, AsyncIterable<T> {
  readonly #fetch: (largePages: boolean) => Promise<Reply<Page<T>>>;

  constructor(fetch: (largePages: boolean) => Promise<Reply<Page<T>>>) {
    this.#fetch = fetch;
  }

  withResponse(): Promise<Reply<Page<T>>> {
    return this.#fetch(false);
  }

  then<A = Page<T>, B = never>(
    fulfilled?: ((value: Page<T>) => A | PromiseLike<A>) | null,
    rejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    return this.#fetch(false)
      .then((reply) => reply.data)
      .then(fulfilled, rejected);
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    yield* (await this.#fetch(true)).data;
  }
}
