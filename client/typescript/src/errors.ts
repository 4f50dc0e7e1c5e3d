/** The errors that callers see, each one a `GlobalIntegersError`, and the events that an observer sees. */

/** The call failed. An integer may have been minted and lost: that leaves a gap, never a duplicate. */
export class GlobalIntegersError extends Error {
  override readonly name: string = "GlobalIntegersError";
}

/** The request is wrong or isn't allowed. A retry doesn't help. */
export class Refused extends GlobalIntegersError {
  override readonly name: string = "Refused";
  /** The region that refused. */
  readonly region: string;
  /** The response's HTTP status, 400 to 499. */
  readonly status: number;
  /** The problem document (RFC 9457), or an empty object if the response had none. */
  readonly problem: Readonly<Record<string, unknown>>;
  /** What may help. */
  readonly hints: readonly string[];

  constructor(region: string, status: number, reason: string, problem: Record<string, unknown>, hint = "") {
    const hints = hint ? [hint] : [];
    super([`${region} refuses the request: ${reason}`, ...hints].join("\n"));
    this.region = region;
    this.status = status;
    this.problem = problem;
    this.hints = hints;
  }
}

/** No region answered the request. */
export class FailedEverywhere extends GlobalIntegersError {
  override readonly name: string = "FailedEverywhere";
  /** Why each region that was asked didn't, in the order of the attempts. */
  readonly reasons: Readonly<Record<string, string>>;
  /** What may help. */
  readonly hints: readonly string[];

  constructor(message: string, reasons: ReadonlyMap<string, string>, hints: readonly string[] = []) {
    const different = [...new Set(hints.filter(Boolean))];
    const found = [...reasons].map(([region, reason]) => `${region}: ${reason}`);
    super([[message, ...found].join(found.length < 2 ? " " : "\n  "), ...different].join("\n"));
    this.reasons = Object.fromEntries(reasons);
    this.hints = different;
  }
}

/** Every region that responded says that there is no such counter. */
export class UnknownCounter extends FailedEverywhere {
  override readonly name = "UnknownCounter";
  /** What may help, at the end of the message. */
  static readonly hint =
    ". A counter is created by the stack's setting `counters`, or, with `openCounters`, by `create`";
}

/** Every region that responded says that it knows no owner of this integer (yet), or no such counter. */
export class UnknownOwner extends FailedEverywhere {
  override readonly name = "UnknownOwner";
  /** What may help, at the end of the message. */
  static readonly hint =
    ": there is no such counter, or the integer is older than what is known, or no region has been granted it yet";
}

/** Every region failed, or the one region of the key did. */
export class Unavailable extends FailedEverywhere {
  override readonly name: string = "Unavailable";
}

/** The time was over before every region could be asked. */
export class DeadlineExceeded extends Unavailable {
  override readonly name = "DeadlineExceeded";
}

/** Requests must be signed, but the credentials are missing or can't be had now, or nothing here can sign them. */
export class CannotSign extends TypeError {
  override readonly name = "CannotSign";
}

/** One request was sent, about "health", "counter 'orders'" or the like. `failure` says why there is no answer. */
export interface Requested {
  readonly type: "requested";
  readonly region: string;
  readonly subject: string;
  readonly seconds: number;
  readonly failure: string | undefined;
}

/**
 * A region failed, and another one, `following`, is asked next.
 *
 * `key` is the call's idempotency key, "" if it has none. With one (`keyFailover`), both regions may have minted an
 * integer for it. Then the caller has that of the region that answers.
 */
export interface FailedOver {
  readonly type: "failedOver";
  readonly failed: string;
  readonly following: string;
  readonly reason: string;
  readonly key: string;
}

/** A block was fetched for a counter, "" for the default one. */
export interface Leased {
  readonly type: "leased";
  readonly counter: string;
  readonly region: string;
  readonly size: number;
}

export type Event = Requested | FailedOver | Leased;
