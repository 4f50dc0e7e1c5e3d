/** The client: unique integers from the nearest healthy region. */

import * as api from "./api.ts";
import type { Owner } from "./api.ts";
import { REAL } from "./calls.ts";
import type { Call, Environment } from "./calls.ts";
import { Client } from "./client.ts";
import { DeadlineExceeded } from "./errors.ts";
import type { Health } from "./failover.ts";
import { LeaseBuffer, Turn } from "./lease.ts";
import { urlsOf } from "./options.ts";
import type { AbortOptions, CallOptions, Options, Urls } from "./options.ts";

/** The largest number of counters that a client keeps, each with its lease. */
const MAX_COUNTERS = 1000;

/** Integers of a counter: `await` them as an array, or iterate over them with `for await`. */
export class Taken implements PromiseLike<number[]>, AsyncIterable<number> {
  readonly #all: () => Promise<number[]>;
  readonly #each: () => AsyncGenerator<number, void, undefined>;

  /** @internal */
  constructor(all: () => Promise<number[]>, each: () => AsyncGenerator<number, void, undefined>) {
    [this.#all, this.#each] = [all, each];
  }

  /** Mint all of them, within one deadline. Each `await` mints others. */
  then<A = number[], B = never>(
    resolved?: ((integers: number[]) => A | PromiseLike<A>) | null,
    rejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    return this.#all().then(resolved, rejected);
  }

  /** Mint block by block, each when it is needed and within a deadline of its own. */
  [Symbol.asyncIterator](): AsyncGenerator<number, void, undefined> {
    return this.#each();
  }
}

/** A counter. Iteration over it never ends. */
export class Counter implements AsyncIterable<number> {
  readonly #client: Client;
  readonly #name: string;
  readonly #buffer: LeaseBuffer;

  /** @internal */
  constructor(client: Client, name: string) {
    this.#client = client;
    this.#name = name;
    this.#buffer = new LeaseBuffer(client.options.lease, client.options.leaseSeconds);
  }

  /**
   * Return the next integer: from a lease, or minted by the nearest healthy region.
   *
   * What is leased is handed out for up to `leaseSeconds`, also if a floor, the regions or the counter itself were
   * changed or deleted meanwhile.
   *
   * @throws UnknownCounter: no region has the counter.
   * @throws Refused: the request isn't allowed, or the key was used for another request.
   * @throws Unavailable: all regions failed, or the key's region did.
   * @throws TypeError: the key is not 1 to 255 visible ASCII characters, or `keyFailover` is given without one.
   */
  next(options?: CallOptions): Promise<number> {
    if (options === undefined) {
      const integer = this.#buffer.first();
      if (integer) return Promise.resolve(integer);
    }
    return this.#next(options ?? {});
  }

  /**
   * Return `count` integers, in as few requests as possible: `await` gives an array, `for await` one after the other.
   *
   * Each request's integers are one stride apart. If a request fails, the integers of those before it are lost.
   *
   * @param count 0 or more; with a key, 1 to 100,000
   * @throws UnknownCounter, Refused, Unavailable, TypeError: as with `next`
   */
  take(count: number, options: CallOptions = {}): Taken {
    const all = async (): Promise<number[]> => {
      const call = this.#client.call(options);
      const taken: number[] = [];
      for await (const integer of this.#each(count, options, () => call)) taken.push(integer);
      return taken;
    };
    return new Taken(all, () => this.#each(count, options, () => this.#client.call(options)));
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<number, void, undefined> {
    for (;;) yield await this.next();
  }

  /** @internal Drop what is leased: a gap. */
  drop(): void {
    this.#buffer.drop();
  }

  async #next(options: CallOptions): Promise<number> {
    const call = this.#client.call(options);
    if (options.key !== undefined || this.#client.options.lease === 1) {
      return (await this.#client.mint(this.#name, 1, call, options)).first;
    }
    for (;;) {
      const integer = await this.#leased(call);
      if (integer) return integer;
    }
  }

  async *#each(count: number, options: CallOptions, call: () => Call): AsyncGenerator<number, void, undefined> {
    if (!Number.isInteger(count) || count < 0) throw new TypeError(`${api.shown(count)} is not an integer from 0 on`);
    let left = count;
    if (options.key === undefined) {
      const leased = this.#buffer.takeMany(count);
      yield* leased;
      left -= leased.length;
    }
    while (left > 0 || options.key !== undefined) {
      const most = options.key === undefined ? Math.min(left, api.MAX_BLOCK) : left;
      const block = await this.#client.mint(this.#name, most, call(), options);
      for (let nth = 0; nth < block.count; nth++) yield block.first + nth * block.stride;
      left -= block.count;
      if (options.key !== undefined) return;
    }
  }

  /** Take the next integer that is leased, or fetch a block, or wait for one; 0: try again. */
  async #leased(call: Call): Promise<number> {
    const turn = new Turn();
    try {
      this.#buffer.begin(turn);
      if (turn.size) {
        await this.#fetch(turn, call);
      } else if (turn.integer) {
        if (this.#buffer.isLow) await this.#client.start((own) => this.#fetchAhead(own));
      } else if (!(await call.within(turn.woken))) {
        const message = `${api.subjectOf(this.#name)}: no block was fetched within ${call.timeout} s:`;
        throw new DeadlineExceeded(message, this.#client.regions.reasons());
      }
    } finally {
      this.#buffer.end(turn);
    }
    return turn.integer;
  }

  /** Fetch the next block while the present one is in use. */
  async #fetchAhead(call: Call): Promise<void> {
    const turn = new Turn();
    try {
      this.#buffer.beginAhead(turn);
      if (turn.size) await this.#fetch(turn, call);
    } finally {
      this.#buffer.end(turn);
    }
  }

  async #fetch(turn: Turn, call: Call): Promise<void> {
    const block = await this.#client.mint(this.#name, turn.size, call);
    this.#buffer.limit(this.#client.regions.maxBlock(call.now()));
    this.#buffer.add(block, turn);
    this.#client.tell({ type: "leased", counter: this.#name, region: block.region, size: block.count });
  }
}

/**
 * Unique integers from the nearest healthy region. The object is itself the default counter.
 *
 * Use one object for a whole process or page. A region that fails is left alone for a while, and the next nearest one
 * is asked, within the call's deadline.
 *
 * The key decides which region a request with a key goes to, in the same way in every process: only that region can
 * return the integer again. So the request doesn't fail over, unless `keyFailover` accepts another integer.
 */
export class Integers extends Counter {
  readonly #client: Client;
  /** By name, the oldest first. */
  readonly #counters = new Map<string, Counter>();
  /** Also those that are only kept by a caller, or by a call that goes on. */
  readonly #inUse = new Map<string, WeakRef<Counter>>();
  readonly #forgotten = new FinalizationRegistry<string>((name) => {
    if (!this.#inUse.get(name)?.deref()) this.#inUse.delete(name);
  });

  /**
   * Prepare. No region is asked yet.
   *
   * @param urls each region's URL by the region's AWS name (stack output `urls`); or the domain's URL, such as
   *   https://integers.example.com/ (stack output `domainUrl`), which the first call asks for its regions
   * @throws TypeError: one of these is wrong, or there is no such option.
   * @throws CannotSign: `sign` is true, and `credentials` is missing, or the URL is a domain's.
   */
  constructor(urls: Urls | string, options: Options = {}, environment: Environment = REAL) {
    const client = new Client(urls, options, environment);
    super(client, options.counter ?? "");
    this.#client = client;
  }

  /**
   * Return a client for a stack's outputs: an object with `urls` or `domainUrl`, or with URLs by region.
   *
   * @throws TypeError, CannotSign: as the constructor.
   */
  static fromOutputs(outputs: unknown, options: Options = {}): Integers {
    return new Integers(urlsOf(outputs, options.credentials !== undefined && options.sign !== false), options);
  }

  /**
   * Return a counter. It is always the same object as long as you keep it, so its lease is shared.
   *
   * The client itself keeps the newest 1,000. What an older one has leased is a gap, unless you keep the counter.
   *
   * @throws TypeError: no counter can have this name.
   */
  counter(name: string): Counter {
    const found = this.#counters.get(name);
    if (found) return found;
    const counter = this.#inUse.get(name)?.deref() ?? new Counter(this.#client, api.checkedCounter(name));
    this.#counters.set(name, counter);
    this.#inUse.set(name, new WeakRef(counter));
    this.#forgotten.register(counter, name);
    const [oldest] = this.#counters.keys();
    if (this.#counters.size >= MAX_COUNTERS && oldest !== undefined) this.#counters.delete(oldest);
    return counter;
  }

  /**
   * Create a counter in every region, within `timeout` seconds. Return whether it is new.
   *
   * @throws Refused: the stack doesn't allow it (`openCounters`).
   * @throws Unavailable: all regions failed.
   * @throws TypeError: no counter can have this name.
   */
  async create(counter: string, options: AbortOptions & { timeout?: number } = {}): Promise<boolean> {
    const { timeout = 60, ...rest } = options;
    return this.#client.answer(api.create(counter), this.#client.call(rest, timeout));
  }

  /**
   * Return the region that mints an integer of a counter, by default of this object's counter.
   *
   * @throws UnknownOwner: no region knows the owner (yet), or the counter.
   * @throws Refused: the request isn't allowed.
   * @throws Unavailable: all regions failed. If only the owner does, `minted` is undefined.
   * @throws TypeError: no counter can have this name, or the integer is not within 1 to 2^53 − 1.
   */
  async owner(integer: number, counter?: string, options: AbortOptions = {}): Promise<Owner> {
    return this.#client.owner(integer, counter, this.#client.call(options));
  }

  /** Return whether each region can mint now. All are asked at the same time, for at most `timeout` seconds. */
  async health(options: AbortOptions = {}): Promise<Record<string, Health>> {
    return this.#client.health(options);
  }

  /** End what goes on in the background. What is leased is dropped: a gap. The client may be used again. */
  close(): void {
    this.#client.close();
    this.drop();
    for (const counter of this.#inUse.values()) counter.deref()?.drop();
  }
}
