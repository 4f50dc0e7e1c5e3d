/**
 * What a client has leased of one counter, how much it leases next, and who waits for it. No I/O.
 *
 * Blocks are handed out integer by integer. The next block is fetched once a tenth of the present one is used (the
 * double buffer of Meituan's Leaf), so the caller doesn't wait at its end. The size of a block follows demand: it lasts
 * two seconds at the present rate, and is at most four times the block before. So an idle client fetches single
 * integers, and little is left over when it is closed.
 *
 * A caller that finds nothing waits for a block that is being fetched. If more callers wait than a block may have
 * integers, several are fetched at the same time: so leases are never slower than requests for single integers.
 */

import type { MintedBlock } from "./api.ts";

/** Seconds for which a block should last. */
const LASTS = 2;

/** The largest size of a block, as a multiple of the block before. */
const GROWTH = 4;

/** A block of at least so many integers is split after a tenth. When the rest comes into use, the next is fetched. */
const SPLIT = 10;

/** Integers that are one stride apart, and the clock times between which they may be handed out. */
interface Part {
  next: number;
  left: number;
  readonly stride: number;
  readonly begins: number;
  readonly ends: number;
}

/** A call's turn to get the next integer: it gets one at once, fetches a block, or waits for one. */
export class Turn {
  /** What it got; 0: nothing. */
  integer = 0;
  /** Of the block that it must fetch; 0: none. */
  size = 0;
  /** How many integers of a block it wants for itself: 1, or 0 if it fetches ahead. */
  own = 1;
  /** Given once it has an integer, or must try again. */
  readonly woken: Promise<void>;
  wake: () => void = () => undefined;

  constructor() {
    this.woken = new Promise((resolve) => (this.wake = resolve));
  }
}

/** The leased blocks of one counter, the oldest first. */
export class LeaseBuffer {
  readonly #largest: number;
  readonly #lifetime: number;
  /** The first part is in use. */
  #parts: Part[] = [];
  #most: number;
  readonly #waiting = new Set<Turn>();
  readonly #fetching = new Set<Turn>();
  /** How many have just been woken to try again. */
  #crowd = 0;
  #size = 0;
  #leftThen = 0;
  #fetched = 0;

  /** Start with nothing. The largest block is of `most`. What is left of one is dropped after `lifetime` seconds. */
  constructor(most: number, lifetime: number) {
    [this.#largest, this.#most, this.#lifetime] = [most, most, lifetime];
  }

  /** Fetch no larger blocks than `most`, which is what a request may ask for now. */
  limit(most: number): void {
    this.#most = Math.min(this.#largest, most);
  }

  /** Return the next integer of the part in use; 0: there is none, and a turn must begin. */
  first(): number {
    const part = this.#parts[0];
    if (part === undefined || part.left === 0) return 0;
    const now = Date.now() / 1000; // it goes on while the machine sleeps; if it is set back, blocks may be dropped
    if (now < part.begins || now >= part.ends) return 0;
    const integer = part.next;
    part.next += part.stride;
    part.left--;
    return integer;
  }

  /** Give a turn an integer, or a block to fetch (`size`), or let it wait. `end` must be called afterwards. */
  begin(turn: Turn): void {
    turn.integer = this.#take();
    if (turn.integer) return;
    if (this.#mustFetch()) this.#fetch(turn);
    else this.#waiting.add(turn);
  }

  /** Give a turn a block to fetch for others, if one is needed soon. `end` must be called afterwards. */
  beginAhead(turn: Turn): void {
    turn.own = 0;
    if (this.isLow) this.#fetch(turn);
  }

  /** Share out the block that a turn has fetched: one to it, one each to the longest-waiting, the rest to everyone. */
  add({ first, stride, count }: MintedBlock, turn: Turn): void {
    const now = Date.now() / 1000;
    let [next, left] = [first, count];
    const take = (other: Turn): void => {
      [other.integer, next, left] = [next, next + stride, left - 1];
    };
    if (turn.own) take(turn);
    for (const other of this.#waiting) {
      if (!left) break;
      take(other);
      this.#waiting.delete(other);
      other.wake();
    }
    const handedOut = count - left;
    const beginning = count >= SPLIT ? Math.floor(left / SPLIT) : 0;
    for (const size of [beginning, left - beginning]) {
      if (size) this.#parts.push({ next, left: size, stride, begins: now, ends: now + this.#lifetime });
      next += size * stride;
    }
    [this.#size, this.#fetched, this.#leftThen] = [count, now, this.#left() + handedOut];
    this.end(turn);
  }

  /** Let a turn no longer wait or fetch, whatever has become of it. */
  end(turn: Turn): void {
    this.#waiting.delete(turn);
    if (!this.#fetching.delete(turn)) return;
    if (this.#fetching.size && this.#nextSize() !== this.#most) return;
    this.#crowd = Math.max(this.#waiting.size - this.#coming(), 0);
    let woken = 0;
    for (const other of this.#waiting) {
      if (woken++ === this.#crowd) break;
      this.#waiting.delete(other); // no block that comes has an integer for it
      other.wake();
    }
  }

  /** Return up to `count` integers. */
  takeMany(count: number): number[] {
    const taken: number[] = [];
    for (let integer; taken.length < count && (integer = this.#take()); ) taken.push(integer);
    return taken;
  }

  /** Whether to fetch the next block in the background: the rest of the last one is in use. */
  get isLow(): boolean {
    return this.#parts.length <= 1 && this.#size >= SPLIT && !this.#coming();
  }

  /** Forget everything. */
  drop(): void {
    [this.#parts, this.#size] = [[], 0];
  }

  #take(): number {
    for (;;) {
      const integer = this.first();
      if (integer || this.#parts.length <= 1) return integer;
      this.#parts.shift();
    }
  }

  /** Return whether a turn fetches a block of its own instead of waiting. */
  #mustFetch(): boolean {
    if (this.#coming() > this.#waiting.size) return false;
    return !this.#fetching.size || this.#nextSize() === this.#most; // else the next block may be large enough
  }

  #fetch(turn: Turn): void {
    turn.size = this.#nextSize();
    this.#crowd = 0;
    this.#fetching.add(turn);
  }

  /** Return how many integers are being fetched, without those for who fetches them. */
  #coming(): number {
    let coming = 0;
    for (const { size, own } of this.#fetching) coming += size - own;
    return coming;
  }

  #left(): number {
    return this.#parts.reduce((sum, { left }) => sum + left, 0);
  }

  #nextSize(): number {
    if (!this.#size) return Math.max(1, Math.min(this.#crowd, this.#most));
    const seconds = Math.max(Date.now() / 1000 - this.#fetched, 0.001);
    const wanted = Math.floor(((this.#leftThen - this.#left()) / seconds) * LASTS);
    return Math.max(1, Math.min(Math.max(Math.min(wanted, GROWTH * this.#size), this.#crowd), this.#most));
  }
}
