/** The options of a client, checked, and where its URLs come from. */

import { checkedCounter, MAX_BLOCK, REGION, shown } from "./api.ts";
import type { Event } from "./errors.ts";
import type { Credentials } from "./signing.ts";
import { isLocal } from "./transport.ts";

/** The URL of each region by the region's AWS name (stack output `urls`). */
export type Urls = Readonly<Record<string, string>>;

/** What an `Integers` may be given besides its URLs. */
export interface Options {
  /** The counter of the object's own `next`. Default: the stack's, which stays the same whatever is deployed later. */
  readonly counter?: string | undefined;
  /** The largest number of integers in one lease, 1 (off, the default) to 100,000. */
  readonly lease?: number | undefined;
  /**
   * Seconds after which the rest of a lease is dropped, above 0 and up to 86,400. Default: 60. For so long, integers
   * may be handed out that were minted before a change of a floor, of the regions or of the counter itself.
   */
  readonly leaseSeconds?: number | undefined;
  /** Seconds for a whole call, with all attempts; the same range. Default: 10. */
  readonly timeout?: number | undefined;
  /** Seconds for one attempt; the same range. Default: 3. Above 2 is best: a region may wait 2 s for a new layout. */
  readonly attemptTimeout?: number | undefined;
  /** The region to ask as long as it is healthy. Default: the nearest one. */
  readonly prefer?: string | undefined;
  /** Whether to sign requests. Default: those to Function URLs and a domain's regions, if there are `credentials`. */
  readonly sign?: boolean | undefined;
  /** Returns AWS credentials, as AWS's provider packages do: `fromNodeProviderChain()` is one. */
  readonly credentials?: (() => Promise<Credentials>) | undefined;
  /** Called with each event. Calls wait for it. What it throws is ignored. */
  readonly observer?: ((event: Event) => void) | undefined;
  /** Sends the requests. Default: the global `fetch`. */
  readonly fetch?: typeof globalThis.fetch | undefined;
}

/** What one call may be given. */
export interface CallOptions {
  /**
   * An idempotency key, 1 to 255 visible ASCII characters. The same key returns the same integer, in any process, for
   * the stack's `idempotencyHours`. Each counter has keys of its own, and with the stack's setting `callers` also each
   * user or role. One region keeps the key. If that region leaves or loses its receipts table, or another one joins,
   * the same key may return another integer.
   */
  readonly key?: string | undefined;
  /**
   * Whether other regions are asked if the key's region fails. This gives up the key's promise: the same key can have
   * two integers, one of each region, if it was used before or is used again. Each time, an observer gets `failedOver`
   * with the key. False: the call fails instead, at once if the region is known to be down.
   */
  readonly keyFailover?: boolean | undefined;
  /** Ends the call once it is aborted. */
  readonly signal?: AbortSignal | undefined;
}

/** What a call may be given that mints nothing. */
export type AbortOptions = Pick<CallOptions, "signal">;

const DEFAULTS = { lease: 1, leaseSeconds: 60, timeout: 10, attemptTimeout: 3 };
const TYPES = { sign: "boolean", credentials: "function", observer: "function", fetch: "function" } as const;
const NAMES = ["counter", ...Object.keys(DEFAULTS), "prefer", ...Object.keys(TYPES)];
const DAY = 86_400;

/** What a message says to who gives outputs, JSON or the path of a file with it. */
const OUTPUTS = "Integers.fromOutputs takes a stack's outputs, as JSON.parse returns them";

/** The host of a Function URL, with its region. */
const FUNCTION_URL = /^[^.]+\.lambda-url\.([^.]+)\.on\.aws$/;

/** Options with their defaults. */
export type Checked = Omit<Options, keyof typeof DEFAULTS> & typeof DEFAULTS;

/** Throw a `TypeError` that names the first option that isn't known. */
function checkNames(options: object, known: readonly string[]): void {
  if (Object(options) !== options) throw new TypeError(`options are an object: { ${known[0]}: ${shown(options)} }`);
  const wrong = Object.keys(options).find((name) => !known.includes(name));
  if (wrong) throw new TypeError(`there is no option ${shown(wrong)}; there is ${known.join(", ")}`);
}

/** Throw a `TypeError` if the options of a call are wrong. */
export function checkCall(options: CallOptions): void {
  checkNames(options, ["key", "keyFailover", "signal"]);
  if (options.keyFailover && options.key === undefined) throw new TypeError("keyFailover needs a key");
}

/**
 * Return the options of a client.
 *
 * @throws TypeError: the first one that is wrong
 */
export function checkedOptions(urls: Urls | string, options: Options): Checked {
  checkNames(options, NAMES);
  const given = Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
  const checked: Checked = { ...DEFAULTS, ...given };
  if (checked.counter !== undefined) checkedCounter(checked.counter);
  if (!Number.isInteger(checked.lease) || checked.lease < 1 || checked.lease > MAX_BLOCK) {
    throw new TypeError(`lease ${shown(checked.lease)} is not within 1 (off) to 100,000`);
  }
  for (const name of ["leaseSeconds", "timeout", "attemptTimeout"] as const) {
    const value = checked[name];
    if (typeof value !== "number" || !(value > 0 && value <= DAY)) {
      throw new TypeError(`${name} ${shown(value)} is not above 0 and up to 86,400 seconds`);
    }
  }
  for (const [name, type] of Object.entries(TYPES)) {
    const value: unknown = given[name];
    if (value !== undefined && typeof value !== type) throw new TypeError(`${name} ${shown(value)} is not a ${type}`);
  }
  const { prefer } = checked;
  if (prefer !== undefined && typeof urls !== "string" && !(prefer in urls)) {
    throw new TypeError(`prefer ${shown(prefer)} is none of the regions ${Object.keys(urls).join(", ")}`);
  }
  return checked;
}

/** Return the regions' URLs, each with a slash at its end. */
export function checkedUrls(urls: Urls): Map<string, string> {
  if (typeof urls !== "object" || urls === null || !Object.keys(urls).length) {
    const what = "give each region's URL, as in { \"eu-west-1\": \"https://…/\" }, or the domain's URL";
    throw new TypeError(`urls is ${shown(urls)}; ${what}`);
  }
  const checked = Object.entries(urls).map(([region, url]) => {
    if (!REGION.test(region)) {
      throw new TypeError(`${shown(region)} is not the name of an AWS region, such as eu-west-1; ${OUTPUTS}`);
    }
    const what = `the URL of ${region} is ${shown(url)}, which`;
    const { hostname, pathname, origin, href } = checkedUrl(url, what, `https://….lambda-url.${region}.on.aws/`);
    const [, of] = FUNCTION_URL.exec(hostname) ?? [];
    if (of && of !== region) throw new TypeError(`${what} is one of ${of}`);
    if (of && pathname !== "/") throw new TypeError(`${what} has a path; without it, it is ${origin}/`);
    return [region, href] as const;
  });
  return new Map(checked);
}

/** Return a URL with a slash at its end. The error begins with `what`, and has the example. */
function checkedUrl(url: unknown, what: string, example: string): URL {
  const text = String(url);
  const parsed = URL.canParse(text) ? new URL(text) : undefined;
  const isHost = parsed?.hostname.startsWith("[") || parsed?.hostname.split(".").every((label) => label.length);
  const isPlain = !/[\s\x00-\x1f\x7f@?#]/.test(text) && parsed?.port !== "0";
  if (typeof url !== "string" || !parsed || !/^https?:$/.test(parsed.protocol) || !isHost || !isPlain) {
    throw new TypeError(`${what} is not a URL of a stack, without user or password: it should look like ${example}`);
  }
  parsed.pathname = `${parsed.pathname.replace(/\/+$/, "")}/`;
  return parsed;
}

/** A domain for all regions, such as `https://integers.example.com/`. The nearest healthy region answers. */
export class Domain {
  /** The domain's host, with its port if it has one. Where a region is asked for, it means the domain itself. */
  readonly name: string;
  /** Whether its regions have no host names, so that it is asked for everything: it is on this machine. */
  readonly alone: boolean;
  /** When its regions were last read. */
  readAt = -Infinity;
  readonly #url: URL;

  constructor(url: string) {
    this.#url = checkedUrl(url, `the domain ${shown(url)}`, `https://integers.example.com/; ${OUTPUTS}`);
    const { host, hostname } = this.#url;
    if (/\.(on\.aws|amazonaws\.com(\.cn)?)$/.test(hostname)) {
      const how = `give it with its region: { "eu-west-1": ${shown(url)} }`;
      throw new TypeError(`${shown(url)} is one region's URL, not a domain; ${how}`);
    }
    this.name = host;
    this.alone = isLocal(hostname);
  }

  /** Return the URL of a region, or of the domain itself. */
  url(region: string): string {
    const { protocol, pathname } = this.#url;
    return `${protocol}//${region === this.name ? region : `${region}.${this.name}`}${pathname}`;
  }
}

/**
 * Return the regions' URLs, or the domain's, from a stack's outputs.
 *
 * `urls` is taken, or `domainUrl` if all `urls` are at the regions' own host names. These can be signed for, and the
 * domain itself can't: so `urls` is taken, too, if there are `credentials`.
 */
export function urlsOf(outputs: unknown, credentials: boolean): Urls | string {
  if (typeof outputs !== "object" || outputs === null || Array.isArray(outputs)) {
    const expected = 'give the outputs as an object, as in JSON.parse(text), with "urls" or "domainUrl"';
    throw new TypeError(`${shown(outputs)} is not a stack's outputs; ${expected}`);
  }
  const { domainUrl, localDomainUrl, urls } = outputs as Record<string, unknown>;
  const found = Object.entries(Object(urls ?? (domainUrl === undefined ? outputs : {})) as Record<string, unknown>);
  if (typeof domainUrl === "string" && domainUrl) {
    const own = `.${domainUrl.split("://")[1]}`;
    const areNames = found.every(([, url]) => String(url).endsWith(own));
    if (areNames && typeof localDomainUrl === "string") return localDomainUrl; // what stands for it, on one machine
    if (areNames && !(credentials && found.length)) return domainUrl;
  }
  if (!found.length) throw new TypeError('this has no URLs; it should look like {"eu-west-1": "https://…/"}');
  if (!found.every(([, url]) => typeof url === "string")) {
    throw new TypeError("this has something else than URLs by region; give these, or a stack's outputs with 'urls'");
  }
  return Object.fromEntries(found) as Urls;
}
