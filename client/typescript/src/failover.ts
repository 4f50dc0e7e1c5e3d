/**
 * Decides which region is asked next, for how long, when to give up, and which regions to leave alone for a while.
 *
 * A region that fails is left alone for a pause, which doubles with every failure and is jittered, so that clients
 * don't come back all at once. A region that didn't respond at all is left alone until it responds to a health check,
 * so callers wait for a region that hangs only once, or as a last resort. A key has one region: a call with it fails at
 * once if that is known to be down, which is so at most until the region's pause is over. Health checks run in the
 * background.
 */

import { Failure, MAX_BLOCK } from "./api.ts";
import type { ApiRequest } from "./api.ts";
import type { Call } from "./calls.ts";
import { DeadlineExceeded, Refused, Unavailable } from "./errors.ts";
import type { FailedOver } from "./errors.ts";

/** Seconds after which a region's latency is measured again, if there are requests. */
const REFRESH = 60;

/** Seconds for which a region is left alone after its first failure, and at most. */
const [FIRST_PAUSE, LONGEST_PAUSE] = [0.25, 30];

/** The nearest region is replaced only by one with less than this share of its latency, so callers don't alternate. */
const CLEARLY_NEARER = 0.8;

/** The weight of a new latency in the moving average. */
const WEIGHT = 0.3;

/** Seconds for which it is remembered how many integers a request may ask for. */
const REMEMBERED = 600;

/** Seconds between two rounds over all regions: the first wait, which doubles, and the longest. Both are jittered. */
const [SHORTEST_WAIT, LONGEST_WAIT] = [0.05, 1];

/** What a message says of a key whose region fails. */
const ADVICE = "; only the key's region can return its integer again (keyFailover: true accepts another integer)";

/** What a message says of a region that only earlier calls or health checks have asked. */
const NOT_ASKED = "not asked by this call; before: ";

/**
 * Return the regions in a key's order, the same in every process (rendezvous hashing, "highest random weight").
 *
 * The region with the largest SHA-256 of `<region> LF <key>` comes first. If a region is added or removed, only those
 * keys move that it gets or loses.
 */
async function orderOf(key: string, regions: readonly string[]): Promise<string[]> {
  const weighed = regions.map(async (region) => {
    const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(`${region}\n${key}`));
    return [Array.from(new Uint8Array(digest), (byte) => String.fromCharCode(byte)).join(""), region] as const;
  });
  return (await Promise.all(weighed)).sort(([a], [b]) => (a < b ? 1 : -1)).map(([, region]) => region);
}

/** Whether a region can mint from its default counter now; the check's seconds, undefined without a response. */
export interface Health {
  readonly ok: boolean;
  readonly seconds: number | undefined;
  readonly reason: string;
}

/** What is known of one region. */
class RegionState {
  /** Seconds of a health check, as a moving average; infinite: not measured. */
  latency = Infinity;
  /** How often it has failed since it last answered a call, up to 30. */
  failures = 0;
  /** The time until which it is left alone. */
  until = 0;
  /** How often in a row it didn't respond. */
  silent = 0;
  /** Since when calls have failed, though it responded, with at most the longest pause in between; infinite: not so. */
  failing = Infinity;
  /** When its last failure was noted. */
  failed = -Infinity;
  /** When its last health check began. */
  checked = -Infinity;
  checking = false;
  /** Why it failed last. */
  reason = "";

  isHealthy(now: number): boolean {
    return !this.silent && now >= this.until;
  }

  isDue(now: number): boolean {
    return !this.checking && now >= (this.silent ? this.until : this.checked + REFRESH);
  }
}

/** All configured regions. `now` is the time in seconds, by the clock of the call. */
export class Regions {
  /** Those of a domain are unknown before the first call. */
  names: string[];
  /** Whether a region has left, or a call failed: there may be other regions now. */
  outdated = false;
  /** Given once a region is healthy or all failed. */
  readonly first: Promise<void>;
  /** Whether calls no longer wait for that. */
  isMeasured = false;
  #measured: () => void = () => undefined;
  readonly #states = new Map<string, RegionState>();
  readonly #prefer: string | undefined;
  readonly #spread: (low: number, high: number) => number;
  #last: string[] = [];
  #nearest: string | undefined;
  #maxBlock = MAX_BLOCK;
  #maxUntil = 0;

  constructor(names: readonly string[], prefer: string | undefined, spread: (low: number, high: number) => number) {
    this.names = [...names];
    this.#prefer = prefer;
    this.#spread = spread;
    this.first = new Promise((resolve) => (this.#measured = resolve));
    if (names.length === 1 || prefer !== undefined) this.waitNoLonger();
  }

  /** Let all calls go on, and later ones not wait. */
  waitNoLonger(): void {
    this.isMeasured = true;
    this.#measured();
  }

  /** Use other regions. What is known of those that stay is kept. `last`, which leads to one of them, is asked last. */
  replace(names: readonly string[], last: string): void {
    [this.names, this.#last, this.outdated] = [[...names], [last], false];
    if (!names.includes(this.#nearest ?? "")) this.#nearest = undefined;
    if (names.length === 1) this.waitNoLonger();
  }

  /** Return the most integers of one request, as far as a region has lately said so. */
  maxBlock(now: number): number {
    return now < this.#maxUntil ? this.#maxBlock : MAX_BLOCK;
  }

  /** Remember for a while how many integers a request may ask for: the setting may be changed. */
  learn(maxBlock: number, now: number): void {
    [this.#maxBlock, this.#maxUntil] = [maxBlock, now + REMEMBERED];
  }

  /** Return all regions: the healthy ones, the nearest first; then those that are left alone, as a last resort. */
  order(now: number): string[] {
    const healthy = this.names.filter((name) => this.#state(name).isHealthy(now));
    healthy.sort((a, b) => this.#state(a).latency - this.#state(b).latency || 0); // both may be infinite
    const first = this.#choose(healthy);
    healthy.sort((a, b) => Number(b === first) - Number(a === first));
    const others = this.names.filter((name) => !healthy.includes(name)).sort();
    others.sort((a, b) => this.#state(a).until - this.#state(b).until);
    return [...healthy, ...others, ...this.#last];
  }

  /** Return why each region that is left alone, or was, has failed last. */
  reasons(): Map<string, string> {
    const failed = this.names.filter((name) => this.#state(name).failures);
    return new Map(failed.map((name) => [name, this.#state(name).reason]));
  }

  /** Note that a region answered a call. */
  answered(name: string): void {
    Object.assign(this.#state(name), { failures: 0, until: 0, silent: 0, failing: Infinity });
  }

  /** Leave a region alone for a while. Calls that fail at the same time count as one failure. */
  failed(name: string, began: number, now: number, failure: Failure): void {
    if (failure.kind === "gone" || failure.kind === "forbidden") this.outdated = true;
    const state = this.#state(name);
    const isNoted = began >= state.failed;
    if (failure.kind === "transient") {
      state.failing = began > state.failed + LONGEST_PAUSE ? began : Math.min(state.failing, began);
    }
    if (isNoted) this.#leaveAlone(name, now, failure, failure.details.retryAfter);
  }

  /**
   * Return why a region is known to be down; "": it may answer.
   *
   * It is down if it didn't respond twice in a row, or calls have failed for more than half of the seconds that one may
   * take; but only until its pause is over. Then calls ask it again, and don't wait for a health check.
   */
  down(name: string, seconds: number, now: number): string {
    const { silent, until, failed, failing, reason } = this.#state(name);
    return now < until && (silent > 1 || failed - failing > seconds / 2) ? reason : "";
  }

  /**
   * Return the regions whose health must be checked now. Call `checked` for each of them afterwards.
   *
   * For calls that can't choose a region, only those are checked that didn't respond.
   */
  toCheck(now: number, canChoose: boolean): string[] {
    const all = canChoose && this.names.length > 1; // with one region, there is nothing to choose
    const names = this.names.filter((name) => all || (!canChoose && this.#state(name).silent));
    const due = names.filter((name) => this.#state(name).isDue(now));
    for (const name of due) Object.assign(this.#state(name), { checked: now, checking: true });
    return due;
  }

  /** Note the answer to a health check, which took so many seconds. Return what it means. */
  checked(name: string, answer: true | Failure, seconds: number, now: number): Health {
    const failure = answer === true ? undefined : answer;
    const state = this.#state(name);
    const isSilent = failure?.kind === "silent";
    state.checking = false;
    if (!isSilent) {
      state.silent = 0;
      const before = state.latency === Infinity ? seconds : state.latency;
      state.latency = (1 - WEIGHT) * before + WEIGHT * seconds;
    }
    if (failure === undefined) Object.assign(state, { until: 0, failing: Infinity });
    else this.#leaveAlone(name, now, failure, 0); // health is of the default counter: no longer pause for all counters
    if (failure === undefined || this.names.every((other) => this.#state(other).failures)) this.waitNoLonger();
    return { ok: failure === undefined, seconds: isSilent ? undefined : seconds, reason: failure?.reason ?? "" };
  }

  /** Note that a health check was given up. It is due again. */
  uncheck(name: string): void {
    Object.assign(this.#state(name), { checking: false, checked: -Infinity });
  }

  #state(name: string): RegionState {
    const state = this.#states.get(name) ?? new RegionState();
    this.#states.set(name, state);
    return state;
  }

  #leaveAlone(name: string, now: number, failure: Failure, minimum: number): void {
    const state = this.#state(name);
    const pause = Math.min(FIRST_PAUSE * 2 ** state.failures, LONGEST_PAUSE);
    state.failures = Math.min(state.failures + 1, 30);
    state.until = now + Math.max(this.#spread(pause / 2, pause), minimum);
    state.silent = failure.kind === "silent" ? state.silent + 1 : 0;
    [state.failed, state.reason] = [now, failure.reason];
  }

  /** Return the region to ask first. The nearest one stays so while it is unhealthy, and callers go back to it. */
  #choose(healthy: readonly string[]): string | undefined {
    if (this.#prefer !== undefined && healthy.includes(this.#prefer)) return this.#prefer;
    const [first] = healthy;
    if (first === undefined) return undefined;
    const nearest = this.#nearest;
    if (nearest !== undefined && !healthy.includes(nearest)) return first;
    const clearly = nearest === undefined ? Infinity : CLEARLY_NEARER * this.#state(nearest).latency;
    if (nearest === undefined || this.#state(first).latency < clearly) this.#nearest = first;
    return this.#nearest;
  }
}

/** What the loop over the regions needs. */
export interface Sender {
  readonly regions: Regions;
  /** Send a request to a region, within so many seconds. */
  send<T>(region: string, request: ApiRequest<T>, seconds: number, call: Call): Promise<T | Failure>;
  /** Another region is asked after one has failed. */
  tell(event: FailedOver): void;
}

/**
 * Return which regions are asked for a key: the first of its order or, with `keyFailover`, all.
 *
 * Those that are known to be down come last.
 *
 * @throws Unavailable: the key's region is known to be down.
 */
export async function orderFor(
  sender: Sender,
  { key, subject }: ApiRequest<unknown>,
  call: Call,
  keyFailover: boolean,
): Promise<string[]> {
  const order = await orderOf(key, sender.regions.names);
  const down = (name: string): string => sender.regions.down(name, call.timeout, call.now());
  const [first = ""] = order;
  const reason = down(first);
  if (!keyFailover && reason) {
    throw new Unavailable(`${subject}: the key's region is known to be down${ADVICE}:`, new Map([[first, reason]]));
  }
  const sorted = [...order.filter((name) => !down(name)), ...order.filter(down)];
  if (!keyFailover) return [first];
  const [following = first] = sorted;
  if (following !== first) sender.tell({ type: "failedOver", failed: first, following, reason, key });
  return sorted;
}

/**
 * Ask one region after the other, round after round, until one answers or there is no time left.
 *
 * If a region has fewer integers left than requested, it is asked for as many as it has, unless there is a key. By
 * default, all regions are asked: in each round, in the order that is best then.
 *
 * @throws Refused: the request is wrong, a region doesn't allow it, or AWS forbids it everywhere.
 * @throws UnknownCounter, UnknownOwner: every region that responded says 404, or that it wasn't granted the integer.
 * @throws Unavailable: every region failed, or all have left the layout, or AWS forbids them.
 * @throws DeadlineExceeded: the time was over before every region could be asked.
 */
export async function firstAnswer<T>(
  sender: Sender,
  request: ApiRequest<T>,
  call: Call,
  order?: readonly string[],
): Promise<T> {
  const { regions } = sender;
  const failures = new Map<string, Failure>();
  let last: string | undefined;
  for (let wait = SHORTEST_WAIT; ; wait = Math.min(2 * wait, LONGEST_WAIT)) {
    const asked = order ?? regions.order(call.now());
    for (const region of asked) {
      if (last !== undefined && last !== region) {
        const reason = failures.get(last)?.reason ?? "";
        sender.tell({ type: "failedOver", failed: last, following: region, reason, key: request.key });
      }
      let began = call.now();
      if (began >= call.ends) throw outOfTime(request, failures, regions, asked.length, call);
      let answer = await sender.send(region, request, Math.min(call.attempt, call.ends - began), call);
      if (answer instanceof Failure && answer.details.maxBlock) regions.learn(answer.details.maxBlock, call.now());
      const available = answer instanceof Failure ? answer.details.available : 0;
      if (0 < available && available < request.count && !request.key) {
        began = call.now();
        const left = Math.max(call.ends - began, 0.01);
        answer = await sender.send(region, { ...request, count: available }, Math.min(call.attempt, left), call);
      }
      if (!(answer instanceof Failure)) {
        regions.answered(region);
        return answer;
      }
      if (answer.kind === "wrong") {
        throw new Refused(region, answer.details.status, answer.reason, answer.details.problem);
      }
      // These say nothing of the region for other requests.
      if (answer.kind !== "absent" && answer.kind !== "refused") regions.failed(region, began, call.now(), answer);
      if (!failures.has(region) || call.ends - began >= call.attempt) {
        failures.set(region, answer); // an attempt with too little time says less
      }
      last = region;
    }
    throwIfNoRetryHelps(request, failures);
    const jittered = (wait / 2) * (1 + Math.random());
    const pause = Math.max(jittered, Math.min(...[...failures.values()].map(({ details }) => details.retryAfter)));
    if (call.now() + pause >= call.ends) throw outOfTime(request, failures, regions, failures.size, call);
    await call.sleep(pause);
  }
}

type Failures = ReadonlyMap<string, Failure>;

function reasonsOf(failures: Failures): Map<string, string> {
  return new Map([...failures].map(([region, { reason }]) => [region, reason]));
}

function hintsOf(failures: Failures): string[] {
  return [...failures.values()].map(({ details }) => details.hint);
}

function throwIfNoRetryHelps(request: ApiRequest<unknown>, failures: Failures): void {
  const kinds = new Set([...failures.values()].map(({ kind }) => kind));
  if (kinds.has("transient")) return;
  const final = kinds.size === 1 && kinds.has("forbidden") ? "forbidden" : "refused";
  for (const [region, { kind, reason, details }] of failures) {
    if (kind === final) throw new Refused(region, details.status, reason, details.problem, details.hint);
  }
  const { subject, nowhere: Nowhere, key } = request;
  if (kinds.has("absent")) {
    const who = failures.size > 1 ? "no region knows" : key ? "its region doesn't know" : "nobody knows";
    throw new Nowhere(`${who} ${subject}${Nowhere.hint}:`, reasonsOf(failures), hintsOf(failures));
  }
  if (kinds.has("silent")) return; // it may be in the layout
  const allowed = kinds.has("forbidden") ? " that AWS lets the caller use" : "";
  const found = `no URL leads to a region of the layout${allowed}`;
  const message = `${subject}: ${found} (give the client the stack's present urls)${adviceOn(request, failures)}:`;
  throw new Unavailable(message, reasonsOf(failures), hintsOf(failures));
}

function outOfTime(
  request: ApiRequest<unknown>,
  failures: Failures,
  regions: Regions,
  asked: number,
  { timeout }: Call,
): Unavailable {
  const [reasons, hints, seconds] = [reasonsOf(failures), hintsOf(failures), Number(timeout.toPrecision(3))];
  if (failures.size < asked) {
    for (const [region, why] of regions.reasons()) if (!reasons.has(region)) reasons.set(region, NOT_ASKED + why);
    const message = `${request.subject}: ${seconds} s passed before every region could be asked`;
    return new DeadlineExceeded(message + (reasons.size ? ":" : ""), reasons, hints);
  }
  let message = `${request.subject}: no region succeeded within ${seconds} s${adviceOn(request, failures)}:`;
  const [first] = reasons;
  if (first && reasons.size > 1 && [...failures.values()].every(({ kind }) => kind === "silent")) {
    message = `${first[0]}: ${first[1]}; ${message}`; // mostly, a name or a port is wrong
  }
  return new Unavailable(message, reasons, hints);
}

function adviceOn({ key }: ApiRequest<unknown>, failures: Failures): string {
  return key && failures.size < 2 ? ADVICE : "";
}
