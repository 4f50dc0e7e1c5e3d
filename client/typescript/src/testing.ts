/**
 * A stack in memory, for the tests of applications: no server, no network, no waiting.
 *
 *     const stack = new Stack();
 *     const integers = stack.integers();
 *     await integers.next(); // 1
 *     stack.regions[0].fail();
 *     await integers.next(); // 2
 *
 * The clients are the real ones, with their failover, leases and errors. Only the regions, the transport and the clock
 * are replaced. The project's tests compare it with a deployment, so that an application finds here what it would find
 * there. It has no domain, nobody has to sign, no caller is limited to some counters, and the regions stay the same.
 */

import { BLOCK, checkedCounter, PROBLEM, shown } from "./api.ts";
import type { Clock, Received, Sent } from "./calls.ts";
import { Integers } from "./integers.ts";
import type { Options, Urls } from "./options.ts";
import { TimedOut } from "./transport.ts";

const FAULTS = [
  ...(["refused", "timeout", "response lost", "throttled", "forbidden"] as const),
  ...(["error", "unavailable", "left", "used up"] as const),
];

/**
 * How a region fails.
 *
 * - refused: no connection.
 * - timeout: no response, until the client's `attemptTimeout` has passed by the stack's clock.
 * - response lost: it mints, but the connection breaks before the response. Other requests than POST and PUT succeed.
 * - throttled: 429 from Lambda, as of a paused region.
 * - forbidden: 403 from Lambda, as of a request that isn't signed.
 * - error: 500. unavailable: 503.
 * - left: 410, but to a repeated key, as of a region that has left. The others go on in the layout of before.
 * - used up: 503, but to a repeated key, as of a region that has used up its integers and can't get more.
 */
export type Fault = (typeof FAULTS)[number];

/** How long a region keeps an Idempotency-Key, in seconds: the default of the setting `idempotencyHours`. */
const KEY_SECONDS = 24 * 3600;

/** Names that no new counter may have (docs/api.md). */
const RESERVED = ["counter", "ping", "sping"];

/** The form of the names of AWS's regions. Which there are, only a deployment knows. */
const AWS_REGION =
  /^(af|ap|ca|cn|eu|eusc|il|me|mx|sa|us)(-(de|gov|iso[a-z]?))?-(central|east|west|(north|south)(east|west)?)-[1-9]$/;

/** As the setting `window`, but larger than its default: nobody here could grant a region more. */
const WINDOW = 1_000_000;

const CLOSED =
  "counters can't be created or listed here; an operator can add one to the setting counters and deploy, invoke the " +
  "coordinator, or turn on openCounters";

/** Time that stands still, except where a caller waits. Each call has a time of its own, which begins at the latest. */
class StoppedClock implements Clock {
  readonly #stack: Shared;
  readonly #inBackground: boolean;
  #ticks: number;
  #time: number;

  /** What is done in the background takes no time of others. */
  constructor(stack: Shared, inBackground: boolean) {
    [this.#stack, this.#inBackground, this.#ticks, this.#time] = [stack, inBackground, stack.ticks, stack.latest];
  }

  now(): number {
    return this.#ticks === this.#stack.ticks ? this.#time : this.#stack.latest;
  }

  wait(seconds: number): void {
    this.#time = this.now() + seconds;
    this.#ticks = this.#stack.ticks;
    if (!this.#inBackground) this.#stack.latest = Math.max(this.#stack.latest, this.#time);
  }

  async sleep(seconds: number, signal: AbortSignal | undefined): Promise<void> {
    signal?.throwIfAborted();
    this.wait(seconds);
  }

  async within(promise: Promise<unknown>): Promise<boolean> {
    await promise; // nothing here takes real time
    return true;
  }
}

/** What the regions of a stack share: the layout, the counters' names and epochs, and the time. */
interface Shared {
  readonly regions: Region[];
  readonly stride: number;
  readonly counters: string[];
  /** 0: callers may create none. */
  readonly maxCounters: number;
  /** Of the counters that are in a later one than the first. */
  readonly epochs: Map<string, number>;
  latest: number;
  ticks: number;
}

/** A region of a stack in memory. */
export class Region {
  /** Such as eu-west-1. */
  readonly name: string;
  /** That of its requests. It leads nowhere: only the stack's own clients know the region. */
  readonly url: string;
  /** Its number in the layout, from 1 on: the first integer that it mints of every counter. */
  readonly offset: number;
  #fault: Fault | undefined;
  readonly #stack: Shared;
  /** Counter and epoch → how many integers were minted. */
  readonly #minted = new Map<string, number>();
  /** Counter and key → the block that was minted with it, and until when it is kept. */
  readonly #receipts = new Map<string, { first: number; count: number; expires: number }>();

  /** @internal */
  constructor(name: string, offset: number, stack: Shared) {
    [this.name, this.offset, this.#stack] = [name, offset, stack];
    this.url = `https://${name}.integers.test/`; // RFC 6761: no such name ever exists
  }

  /** How it fails now. */
  get fault(): Fault | undefined {
    return this.#fault;
  }

  /** Fail from now on. */
  fail(fault: Fault = "refused"): void {
    if (!FAULTS.includes(fault)) {
      throw new TypeError(`fault ${shown(fault)} is none of ${FAULTS.map(shown).join(", ")}`);
    }
    this.#fault = fault;
  }

  /** No longer fail. Clients notice it once they ask again: let time pass with `Stack.tick`. */
  recover(): void {
    this.#fault = undefined;
  }

  /** @internal Return the response to a request, or throw if there is none. */
  answer(sent: Sent, seconds: number, clock: StoppedClock): Received {
    clock.wait(this.offset / 100); // so the regions are near in their order
    switch (this.#fault) {
      case "refused":
        throw new TypeError("fetch failed", { cause: { code: "ECONNREFUSED" } });
      case "timeout":
        clock.wait(seconds);
        throw new TimedOut();
      case "throttled":
        return respond(429, { Reason: "ReservedFunctionConcurrentInvocationLimitExceeded" });
      case "forbidden":
        return respond(403, { Message: "Forbidden" });
      case "error":
        return this.#problem(500, "unexpected error; the log has request 7d4b1f6e");
      case "unavailable":
        return this.#problem(503, "the table is unavailable; try again", { "retry-after": "1" });
    }
    const response = this.#answer(sent, clock.now());
    if (this.#fault === "response lost" && sent.method !== "GET") {
      throw new TypeError("fetch failed", { cause: new Error("Server disconnected without sending a response.") });
    }
    return response;
  }

  #answer({ url, method, headers }: Sent, now: number): Received {
    const { pathname, searchParams } = new URL(url);
    const [first = "", second] = pathname.slice(1).split("/");
    const usual = this.#stack.counters[0] ?? "";
    if (first === "-" && second === "health") {
      if (this.#fault === "left") return this.#gone(usual);
      if (this.#fault === "used up") return this.#usedUp(usual, 1);
      return respond(200, { status: "ok", region: this.name });
    }
    if (first === "-") return respond(200, { region: this.name, counter: searchParams.get("counter") ?? usual });
    if (second !== undefined) return this.#owner(first, Number(second));
    if (method === "PUT") return this.#create(first);
    return this.#mint(first || usual, Number(searchParams.get("count") ?? 1), headers["idempotency-key"], now);
  }

  #mint(counter: string, count: number, key: string | undefined, now: number): Received {
    const kept = `${counter} ${key}`;
    const receipt = key === undefined ? undefined : this.#receipts.get(kept);
    let [first, replayed] = [receipt?.first ?? 0, true];
    if (!receipt || receipt.expires <= now) {
      if (!this.#exists(counter)) return this.#noCounter(counter);
      if (this.#fault === "left") return this.#gone(counter);
      const minted = this.#mintedOf(counter, epochOf(this.#stack, counter));
      if (this.#fault === "used up" || minted + count > WINDOW) return this.#usedUp(counter, count);
      first = this.#last(counter) + this.#stack.stride;
      replayed = false;
      this.#minted.set(`${counter} ${epochOf(this.#stack, counter)}`, minted + count);
      if (key !== undefined) this.#receipts.set(kept, { first, count, expires: now + KEY_SECONDS });
    } else if (receipt.count !== count) {
      return this.#problem(422, "this Idempotency-Key was used for another count; use a new one");
    }
    const { stride } = this.#stack;
    const block = { counter, region: this.name, first, last: first + (count - 1) * stride, stride, count };
    return respond(200, block, { "content-type": BLOCK, ...(replayed ? { "idempotency-replayed": "true" } : {}) });
  }

  #owner(counter: string, integer: number): Received {
    if (!this.#exists(counter)) return this.#noCounter(counter);
    const granted = this.#granted(counter);
    if (this.#fault === "left" && integer > granted) return this.#gone(counter);
    if (integer > granted) {
      const why =
        `no region is known to mint ${integer} yet: the home region grants integers step by step, and this region ` +
        `has been granted those up to ${granted}`;
      return this.#problem(503, why, { "retry-after": "5" }, { granted });
    }
    const { stride, regions } = this.#stack;
    const epoch = 1 + Math.floor((integer - 1) / (WINDOW * stride));
    const owner = regions[(integer - 1) % stride] ?? this;
    const minted = owner === this ? integer <= this.#last(counter, epoch) : null;
    const ask = owner !== this && owner.fault !== "left" ? { ask: owner.name } : {};
    const { offset, name: region } = owner;
    return respond(200, { integer, counter, offset, stride, region, epoch, minted, ...ask });
  }

  #create(counter: string): Received {
    const { counters, maxCounters } = this.#stack;
    if (maxCounters === 0) return this.#problem(403, CLOSED);
    if (RESERVED.includes(counter)) return this.#problem(400, reserved(counter));
    const isNew = !this.#exists(counter);
    if (isNew && counters.length >= maxCounters) {
      const many = maxCounters.toLocaleString("en");
      const why =
        `${counter}: callers may create counters only while there are fewer than ${many} (the setting maxCounters). ` +
        "An operator can delete some, create this one, or raise maxCounters.";
      return this.#problem(403, why);
    }
    if (isNew) counters.push(counter);
    return respond(isNew ? 201 : 200, { counter, epoch: epochOf(this.#stack, counter) });
  }

  #exists(counter: string): boolean {
    return this.#stack.counters.includes(counter);
  }

  #mintedOf(counter: string, epoch: number): number {
    return this.#minted.get(`${counter} ${epoch}`) ?? 0;
  }

  /** Return the last integer of an epoch that was minted here, or what is one stride below the first one. */
  #last(counter: string, epoch = epochOf(this.#stack, counter)): number {
    return this.#at(epoch, this.#mintedOf(counter, epoch));
  }

  /** Return the nth integer of an epoch, from 1 on. */
  #at(epoch: number, nth: number): number {
    return this.offset + ((epoch - 1) * WINDOW + nth - 1) * this.#stack.stride;
  }

  /** Return the last integer that may be minted here. */
  #granted(counter: string): number {
    const isOver = this.#fault === "left" || this.#fault === "used up";
    return isOver ? this.#last(counter) : this.#at(epochOf(this.#stack, counter), WINDOW);
  }

  #noCounter(counter: string): Received {
    if (this.#fault === "left") return this.#gone(counter);
    return this.#problem(404, `there is no counter '${counter}' in this region`);
  }

  #usedUp(counter: string, count: number): Received {
    const left = WINDOW - this.#mintedOf(counter, epochOf(this.#stack, counter));
    const available = this.#fault === "used up" || !left ? {} : { available: left };
    const has = count > 1 ? `has fewer than ${count} integers left` : "has no integer left";
    const why = `counter '${counter}' ${has} in this region until the home region grants it more; try again later`;
    return this.#problem(503, why, { "retry-after": "5" }, available);
  }

  #gone(counter: string): Received {
    const regions = this.#stack.regions.filter(({ fault }) => fault !== "left").map(({ name }) => name);
    const why = `this region has left, and no longer mints '${counter}'; use one of the other regions`;
    return this.#problem(410, why, {}, { regions });
  }

  #problem(status: number, detail: string, headers: Record<string, string> = {}, members: object = {}): Received {
    return respond(status, { status, detail, region: this.name, ...members }, { "content-type": PROBLEM, ...headers });
  }
}

/**
 * Regions in memory, and clients of them. No integer of a counter is ever minted twice.
 *
 * Its clock stands still: only callers' waits and `tick` let time pass, at once. So every run of a test is the same.
 * Only leases, their sizes and `leaseSeconds`, go by the clock of the machine.
 */
export class Stack {
  /** In the order of the layout. The first one is the nearest. */
  readonly regions: readonly Region[];
  readonly #shared: Shared;

  /**
   * Begin with nothing minted.
   *
   * @param regions their AWS names, 1 to 64. Only their form is checked.
   * @param options `counters`: their names; the first one is the default counter. `maxCounters`: callers may create
   *   counters while there are fewer; 0: they may not (`openCounters` is off).
   * @throws TypeError: one of these is wrong.
   */
  constructor(
    regions: readonly string[] = ["us-east-1", "eu-west-1", "ap-southeast-2"],
    { counters = ["integers", "orders"], maxCounters = 0 }: { counters?: readonly string[]; maxCounters?: number } = {},
  ) {
    if (!isList(regions) || regions.length > 64) {
      throw new TypeError(`regions ${shown(regions)} is not a list of 1 to 64 different regions`);
    }
    const wrong = regions.filter((region) => !AWS_REGION.test(region));
    if (wrong.length) throw new TypeError(`${shown(wrong[0])} is not the name of an AWS region, such as eu-west-1`);
    if (!isList(counters)) {
      throw new TypeError(`counters ${shown(counters)} is not a list of different counters; there must be one`);
    }
    for (const counter of counters) {
      if (RESERVED.includes(checkedCounter(counter))) {
        throw new TypeError(`counters: ${reserved(counter)}; take it out of the list`);
      }
    }
    if (!Number.isInteger(maxCounters) || maxCounters < 0) {
      throw new TypeError(`maxCounters ${shown(maxCounters)} is not an integer from 0 on`);
    }
    const state = { stride: regions.length, counters: [...counters], maxCounters, latest: 0, ticks: 0 };
    this.#shared = { ...state, regions: [], epochs: new Map() };
    this.regions = this.#shared.regions;
    this.#shared.regions.push(...regions.map((name, index) => new Region(name, index + 1, this.#shared)));
  }

  /** The regions' URLs by name. */
  get urls(): Urls {
    return Object.fromEntries(this.regions.map(({ name, url }) => [name, url]));
  }

  /**
   * Return a client. The options are those of `Integers`; `fetch` can't be given.
   *
   * @throws TypeError: an option is wrong.
   */
  integers(options: Options = {}): Integers {
    if (options.fetch !== undefined) {
      throw new TypeError("fetch can't be given: the stack's clients have one that reaches its regions only");
    }
    const byHost = new Map(this.regions.map((region) => [new URL(region.url).hostname, region]));
    return new Integers(this.urls, options, {
      clock: (inBackground) => new StoppedClock(this.#shared, inBackground),
      spread: Math.max, // no jitter: the order of regions that failed is always the same
      inOrder: true,
      exchange: async (sent, seconds, clock) => {
        const region = byHost.get(new URL(sent.url).hostname);
        return (region ?? this.regions[0]!).answer(sent, seconds, clock as StoppedClock);
      },
    });
  }

  /** Let so many seconds pass, 0 or more: pauses end, health is checked again, keys expire as by default. */
  tick(seconds: number): void {
    if (!(seconds >= 0 && Number.isFinite(seconds))) {
      throw new TypeError(`seconds ${seconds} is not a finite number from 0 on`);
    }
    this.#shared.latest += seconds;
    this.#shared.ticks++;
  }

  /**
   * Leave a gap in every counter, as a change of regions may: all that is minted next lies above the windows.
   *
   * Each region has a million integers of an epoch, so three regions go on with 3,000,001, 3,000,002 and 3,000,003.
   * What clients have leased is still handed out.
   */
  jump(): void {
    for (const counter of this.#shared.counters) beginEpoch(this.#shared, counter);
  }

  /**
   * Delete a counter. Its requests get 404, but those with a repeated key.
   *
   * If it is created again, it goes on above all that may have been minted of it, as after a `jump`.
   *
   * @throws TypeError: there is no such counter, or it is the default counter.
   */
  delete(counter: string): void {
    const { counters } = this.#shared;
    if (!counters.includes(counter)) throw new TypeError(`there is no counter ${shown(counter)}`);
    if (counter === counters[0]) {
      throw new TypeError(`${shown(counter)} is the default counter, which can't be deleted`);
    }
    counters.splice(counters.indexOf(counter), 1);
    beginEpoch(this.#shared, counter);
  }
}

function isList(names: unknown): boolean {
  return Array.isArray(names) && names.length > 0 && new Set(names).size === names.length;
}

/** Return a counter's present epoch, from 1 on. */
function epochOf({ epochs }: Shared, counter: string): number {
  return epochs.get(counter) ?? 1;
}

function beginEpoch(shared: Shared, counter: string): void {
  shared.epochs.set(counter, epochOf(shared, counter) + 1);
}

/** Return why no new counter can have a name of `RESERVED`. */
function reserved(counter: string): string {
  return `'${counter}' can't be a new counter's name: API Gateway has another use for the path /${counter}`;
}

function respond(status: number, document: object, headers: Record<string, string> = {}): Received {
  const sent = new Headers({ "content-type": "application/json", ...headers });
  return { status, phrase: "", headers: sent, body: JSON.stringify(document) };
}
