/** One call: until when it may go on, by which clock, and how it waits. What tests replace is in `Environment`. */

/** A clock of one caller, which also waits. */
export interface Clock {
  /** Return the time in seconds. Only differences mean something. */
  now(): number;
  /** Wait for some seconds. Rejects with the signal's reason once it is aborted. */
  sleep(seconds: number, signal: AbortSignal | undefined): Promise<void>;
  /** Wait for a promise up to so many seconds. Return whether it came in time. */
  within(promise: Promise<unknown>, seconds: number, signal: AbortSignal | undefined): Promise<boolean>;
}

/** What is sent. */
export interface Sent {
  readonly url: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** What has arrived. `phrase` is the status in words. */
export interface Received {
  readonly status: number;
  readonly phrase: string;
  readonly headers: Headers;
  readonly body: string;
}

/** Sends one request, and reads the whole response. The signal is given up on once the attempt's time is over. */
export type Exchange = (sent: Sent, seconds: number, clock: Clock, signal: AbortSignal) => Promise<Received>;

/** What a client needs of the world. */
export interface Environment {
  /** Return the clock of a call that begins now. */
  clock(inBackground: boolean): Clock;
  /** Return a number between these, by chance. */
  spread(low: number, high: number): number;
  /** How requests are sent; undefined: by `fetch`. */
  readonly exchange: Exchange | undefined;
  /** Whether calls wait for what they start in the background. */
  readonly inOrder: boolean;
}

/** A call, with one deadline for all of its attempts. */
export class Call {
  /** When it ends, by its clock. */
  readonly ends: number;
  /** The seconds that it has in all. */
  readonly timeout: number;
  /** The seconds of one attempt. */
  readonly attempt: number;
  readonly clock: Clock;
  readonly signal: AbortSignal | undefined;

  constructor(clock: Clock, timeout: number, attempt: number, signal?: AbortSignal) {
    signal?.throwIfAborted();
    this.clock = clock;
    this.timeout = timeout;
    this.attempt = attempt;
    this.ends = clock.now() + timeout;
    this.signal = signal;
  }

  now(): number {
    return this.clock.now();
  }

  sleep(seconds: number): Promise<void> {
    return this.clock.sleep(seconds, this.signal);
  }

  /** Wait for a promise as long as the call lasts, or for fewer seconds. Return whether it came in time. */
  within(promise: Promise<unknown>, seconds = Infinity): Promise<boolean> {
    return this.clock.within(promise, Math.min(seconds, Math.max(this.ends - this.now(), 0)), this.signal);
  }
}

/** Time as it passes. */
const REAL_CLOCK: Clock = {
  now: () => performance.now() / 1000,
  async sleep(seconds, signal) {
    await this.within(new Promise(() => undefined), seconds, signal);
  },
  within(promise, seconds, signal) {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => end(() => resolve(false)), seconds * 1000);
      const abort = (): void => end(() => reject(signal?.reason));
      const end = (finish: () => void): void => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", abort);
        finish();
      };
      signal?.addEventListener("abort", abort);
      if (signal?.aborted) abort();
      promise.then(
        () => end(() => resolve(true)),
        (error: unknown) => end(() => reject(error)),
      );
    });
  },
};

/** The world as it is. */
export const REAL: Environment = {
  clock: () => REAL_CLOCK,
  spread: (low, high) => low + (high - low) * Math.random(),
  exchange: undefined,
  inOrder: false,
};
