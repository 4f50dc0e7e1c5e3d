/**
 * The API's requests, and how their responses are read (docs/api.md). No I/O.
 *
 * Wrong names, keys and sizes are refused before anything is sent, with a `TypeError`. Of a response, only what belongs
 * to its request is believed: the region, the counter, the integer and the size must be those that were asked for.
 */

import { UnknownCounter, UnknownOwner } from "./errors.ts";

const COUNTER_NAME = /^[a-z0-9][a-z0-9_-]{0,62}$/;
const KEY = /^[\x21-\x7e]{1,255}$/;

/** AWS's names of regions, like eu-west-1. */
export const REGION = /^[a-z]+(-[a-z]+)+-[1-9][0-9]?$/;

/** The media type of this API's errors (RFC 9457). Lambda, API Gateway and other servers send others. */
export const PROBLEM = "application/problem+json";

/** The media type of a block's short form: its first and last integer and its stride. */
export const BLOCK = "application/vnd.global-integers.block+json";

/** The largest number of integers that one request mints. */
export const MAX_BLOCK = 100_000;

const OUTDATED =
  "The URLs may be from an earlier deployment. Take them from the stack's outputs again: `pulumi stack output " +
  "--json`, or on one machine `.venv/bin/python -m local outputs --json`";

/** The reason if AWS answers instead of the function: Lambda with 429, API Gateway at a domain with 500 or 503. */
const PAUSED = "the region is paused, or it has too many requests";

/** The hint if AWS refuses a request without a signature. */
const UNSIGNED =
  "The request wasn't signed, and a stack with `authorization: AWS_IAM` requires that (docs/api.md#who-may-call). " +
  "Signing needs the option `credentials`";

/** The hint if AWS refuses a request with a signature. */
const DENIED =
  "The signer may not call this stack, or the credentials are wrong or have expired, or an opt-in region refuses a " +
  "token of STS's global endpoint (docs/api.md#who-may-call)";

/** The rest of the hint if that may be why. */
const NOWHERE = `Or the URL leads nowhere, which AWS answers likewise. ${OUTDATED}`;

/** The hint if callers may not create counters. */
const CLOSED =
  "It needs the setting `openCounters`: run `pulumi config set openCounters true` and `pulumi up`; on one machine, " +
  "`.venv/bin/python -m local up` with the options of the last time and `-c openCounters=true`";

/**
 * What a failure means for the caller.
 *
 * - silent: no response.
 * - transient: it may pass, or another region may do better: 3xx, 5xx, most 4xx, or not this API's response.
 * - absent: 404: there is no such counter, or no known owner; or 503 with `granted`: it can't know the owner yet.
 * - gone: 410: the region has left the layout; or 404, and not from this API: the URL leads to no region.
 * - forbidden: 403 from AWS: the caller isn't allowed, or the URL leads nowhere.
 * - refused: 401, or 403 from this API: this region doesn't allow it.
 * - wrong: 400, 405, 413, 414, 415, 422: no region would allow it.
 */
export type FailureKind = "silent" | "transient" | "absent" | "gone" | "forbidden" | "refused" | "wrong";

/** What a status says of the request. Any other one may pass, or comes from a server in between. */
const KINDS = new Map<number, FailureKind>([
  ...[400, 405, 413, 414, 415, 422].map((status) => [status, "wrong"] as const),
  [401, "refused"],
  [403, "refused"],
  [404, "absent"],
  [410, "gone"],
]);

/** What more is known of a failure. Numbers are 0 if unknown. */
interface Details {
  status?: number;
  /** Seconds. */
  retryAfter?: number;
  /** The largest block that could be minted now. */
  available?: number;
  /** The largest one that ever can. */
  maxBlock?: number;
  problem?: Record<string, unknown>;
  /** A message has it once, however many regions fail for the same reason. */
  hint?: string;
}

/** Why one attempt failed. */
export class Failure {
  readonly kind: FailureKind;
  readonly reason: string;
  readonly details: Readonly<Required<Details>>;

  constructor(kind: FailureKind, reason: string, details: Details = {}) {
    this.kind = kind;
    this.reason = reason;
    this.details = { status: 0, retryAfter: 0, available: 0, maxBlock: 0, problem: {}, hint: "", ...details };
  }
}

/** `count` integers of one region, from `first` on, and the counter that they are of. */
export interface MintedBlock {
  readonly region: string;
  readonly first: number;
  readonly stride: number;
  readonly count: number;
  /** Whether an earlier request with the same key minted them. */
  readonly replayed: boolean;
  readonly counter: string;
}

/** Return the largest integer of a block. */
export function lastOf({ first, count, stride }: MintedBlock): number {
  return first + (count - 1) * stride;
}

/** The region that mints an integer. `minted` is undefined if that isn't known; `reason` says why, and what to do. */
export interface Owner {
  readonly counter: string;
  readonly integer: number;
  readonly region: string;
  readonly offset: number;
  readonly stride: number;
  readonly epoch: number;
  readonly minted: boolean | undefined;
  readonly reason: string;
}

/** A whole response of a region. `phrase` is the status in words. */
export interface ApiResponse {
  readonly region: string;
  readonly status: number;
  readonly headers: Headers;
  readonly body: string;
  readonly phrase: string;
  readonly signed: boolean;
}

/** The body of a response isn't this API's. */
export class Unreadable extends Error {}

type Document = Readonly<Record<string, unknown>>;

/** One request, which may be sent to any region. */
export interface ApiRequest<T> {
  /** What it is about, for messages, such as "counter 'orders'". */
  readonly subject: string;
  readonly method: "GET" | "POST" | "PUT";
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The counter that the response must be about; "": any. */
  readonly counter: string;
  /** Whether the response must be the region's own. At a domain, any region may respond. */
  readonly own: boolean;
  /** The size of the block to mint, 0 if nothing is minted. */
  readonly count: number;
  /** The idempotency key, "" if there is none. */
  readonly key: string;
  /** The caller's error if every region that responded says 404, or that it wasn't granted the integer. */
  readonly nowhere: typeof UnknownCounter | typeof UnknownOwner;
  /** Returns what a successful response and its document say, or throws `Unreadable`. */
  readonly read: (response: ApiResponse, document: Document) => T;
}

function request<T>(given: Partial<ApiRequest<T>> & Pick<ApiRequest<T>, "subject" | "path" | "read">): ApiRequest<T> {
  const rest = { headers: {}, counter: "", own: false, count: 0, key: "", nowhere: UnknownCounter } as const;
  return { method: "GET", ...rest, ...given };
}

/** Return a value as messages show it: a URL without its user and password. */
export function shown(value: unknown): string {
  if (typeof value === "string") return `'${value.replace(/^(\w+:\/\/).*@/s, "$1…@").slice(0, 60)}'`;
  return typeof value === "number" ? String(value) : (JSON.stringify(value) ?? String(value));
}

/** Return the name, or throw a `TypeError` if no counter can have it. */
export function checkedCounter(name: unknown): string {
  if (typeof name !== "string" || !COUNTER_NAME.test(name)) {
    throw new TypeError(`${shown(name)} is not a counter's name; it must match [a-z0-9][a-z0-9_-]{0,62}`);
  }
  return name;
}

/** Return the value of the header `Idempotency-Key`: the key, quoted (RFC 8941) where a bare one is ambiguous. */
function keyHeader(key: unknown): string {
  if (typeof key !== "string" || !KEY.test(key)) {
    throw new TypeError(`key ${shown(key)} is not 1 to 255 visible ASCII characters, without spaces`);
  }
  return key.includes(",") || key.startsWith('"') ? `"${key.replace(/["\\]/g, "\\$&")}"` : key;
}

/** Return what a request about a counter is about, for messages. */
export function subjectOf(counter: string): string {
  return counter ? `counter '${counter}'` : "the default counter";
}

/** Return the request's URL in the region whose own URL is `base`, which ends with a slash. */
export function urlOf(base: string, { path, count }: ApiRequest<unknown>): string {
  return count ? `${base}${path}?count=${count}` : base + path;
}

/** Return what a response says, or why it is no answer. */
export function answerOf<T>(asked: ApiRequest<T>, response: ApiResponse): T | Failure {
  if (response.status < 200 || response.status >= 300) return failureOf(response);
  try {
    const document = documentOf(response);
    const { region, counter, count } = document;
    if (asked.own && REGION.test(response.region) && region !== response.region) {
      throw new Unreadable(`the response is of the region ${shown(region)}`);
    }
    if (asked.counter && counter !== asked.counter) {
      throw new Unreadable(`the response is about counter ${shown(counter)}`);
    }
    if (asked.count && count !== asked.count) {
      throw new Unreadable(`the response has count ${shown(count)}, not ${asked.count}`);
    }
    return asked.read(response, document);
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error;
    return new Failure("transient", error.message, { status: response.status });
  }
}

/** Return the request to mint a block from a counter, "" for the default one. */
export function mint(counter: string, count: number, key?: string): ApiRequest<MintedBlock> {
  if (!Number.isInteger(count) || count < 1 || count > MAX_BLOCK) {
    throw new TypeError(`count ${shown(count)} is not within 1 to 100,000, the most that one request can mint`);
  }
  return request({
    subject: subjectOf(counter),
    method: "POST",
    path: counter && checkedCounter(counter),
    headers: { accept: BLOCK, ...(key === undefined ? {} : { "idempotency-key": keyHeader(key) }) },
    counter,
    own: true,
    count,
    key: key ?? "",
    read: blockOf,
  });
}

/** Return the request for an integer's owner. Its answer is the owner, and the region that knows more, if any. */
export function owner(counter: string, integer: number): ApiRequest<[Owner, string | undefined]> {
  if (!Number.isSafeInteger(integer) || integer < 1) {
    throw new TypeError(`${shown(integer)} is not an integer from 1 to ${Number.MAX_SAFE_INTEGER}`);
  }
  return request({
    subject: `${integer} of ${subjectOf(counter)}`,
    path: `${checkedCounter(counter)}/${integer}`,
    counter,
    nowhere: UnknownOwner,
    read(response, document): [Owner, string | undefined] {
      if (document["integer"] !== integer) throw new Unreadable(`the response is about ${shown(document["integer"])}`);
      const region = String(document["region"]);
      const minted = typeof document["minted"] === "boolean" ? document["minted"] : undefined;
      const ask = typeof document["ask"] === "string" ? document["ask"] : undefined;
      const reason = minted === undefined ? unknown(region, response.region, ask) : "";
      const [offset, stride] = [integerOf(document, "offset", 64), integerOf(document, "stride", 64)];
      return [{ counter, integer, region, offset, stride, epoch: integerOf(document, "epoch"), minted, reason }, ask];
    },
  });
}

/** Return why it isn't known whether an integer was minted, and what to do. `answered`: the region, or a domain. */
function unknown(owner: string, answered: string, ask: string | undefined): string {
  if (ask !== undefined) return `only ${ask} knows, and it has not answered; ask again later`;
  const left = `${owner} has left the layout`;
  const lost = `the counters table of ${owner} was lost, restored or deleted since`;
  const why = answered === owner ? lost : answered.includes(".") ? `${left}, or ${lost}` : left;
  return `${why}, so no region knows; treat it as minted, and look for it in your own records`;
}

/** Return the request to create a counter in all regions. Its answer is whether the counter is new. */
export function create(counter: string): ApiRequest<boolean> {
  const path = checkedCounter(counter);
  return request({ subject: subjectOf(counter), method: "PUT", path, counter, read: ({ status }) => status === 201 });
}

/** Return the request that asks whether a region can mint. Its answer is true. */
export function health(): ApiRequest<true> {
  return request({
    subject: "health",
    path: "-/health",
    own: true,
    read(_, { status }): true {
      if (status !== "ok") throw new Unreadable(`status is ${shown(status)} in the response`);
      return true;
    },
  });
}

/** Return the request for the name of the stack's default counter. */
export function defaultCounter(): ApiRequest<string> {
  const subject = "the default counter's name";
  return request({ subject, path: "-/status", own: true, read: (_, document) => counterOf(document) });
}

/**
 * Return the request for the names of a domain's regions: none if the region doesn't know the counter.
 *
 * It must be one that the caller may use, or "" for the default one, without which a response is no answer.
 */
export function regions(domain: string, counter: string): ApiRequest<string[]> {
  return request({
    subject: `the regions of ${domain}`,
    path: counter ? `-/status?counter=${counter}` : "-/status",
    read(_, { regions: found }): string[] {
      const names = Array.isArray(found) ? found.filter((name) => typeof name === "string" && REGION.test(name)) : [];
      if (!counter && !names.length) throw new Unreadable("the status names no regions; does the counter exist?");
      return names as string[];
    },
  });
}

/** Return the response's JSON object, or throw `Unreadable`. */
function documentOf({ body }: ApiResponse): Document {
  let document: unknown;
  try {
    document = JSON.parse(body);
  } catch {
    document = undefined;
  }
  if (typeof document !== "object" || document === null || Array.isArray(document)) {
    throw new Unreadable(`the response is not this API's: ${shown(body.slice(0, 60))}`);
  }
  return document as Document;
}

function blockOf({ region, headers }: ApiResponse, document: Document): MintedBlock {
  const [first, last] = [integerOf(document, "first"), integerOf(document, "last")];
  const [stride, count] = [integerOf(document, "stride", 64), integerOf(document, "count", MAX_BLOCK)];
  const replayed = headers.has("idempotency-replayed");
  const block = { region, first, stride, count, replayed, counter: counterOf(document) };
  if (last !== lastOf(block)) {
    throw new Unreadable(`${count} integers, ${stride} apart, are not those from ${first} to ${last}`);
  }
  return block;
}

/** Return the name of the counter that a response is about, or throw `Unreadable`. */
function counterOf({ counter }: Document): string {
  if (typeof counter !== "string" || !COUNTER_NAME.test(counter)) {
    throw new Unreadable(`counter is ${shown(counter)} in the response`);
  }
  return counter;
}

/** Return a member that is an integer from 1 to `maximum`, or throw `Unreadable`. */
function integerOf(document: Document, name: string, maximum: number = Number.MAX_SAFE_INTEGER): number {
  const value = document[name];
  if (typeof value !== "number" || !Number.isInteger(value) || value < 1 || value > maximum) {
    throw new Unreadable(`${name} is ${shown(value)} in the response`);
  }
  return value;
}

function failureOf(response: ApiResponse): Failure {
  const { status, headers, phrase, signed } = response;
  let found: Document = {};
  try {
    found = documentOf(response);
  } catch {
    // Lambda, API Gateway and other servers send what they like.
  }
  const explained = ["detail", "message", "Message"].some((name) => name in found);
  const detail = found["detail"] || found["message"] || found["Message"] || phrase;
  const own = (headers.get("content-type") ?? "").split(";")[0]?.trim().toLowerCase() === PROBLEM;
  let kind = KINDS.get(status) ?? "transient";
  let reason = `${status}: ${String(detail).slice(0, 300)}`;
  if (Number.isInteger(found["granted"])) kind = "absent"; // the integer whose owner is asked for is above that
  if (!own && status === 403) {
    kind = "forbidden";
  } else if (!own && (status === 404 || (kind === "wrong" && !explained))) {
    kind = "gone"; // AWS sends no such 4xx
    reason += ": the URL answers, but not as this API";
  }
  const limit = String(detail).split("Rate Exceeded. ")[1]; // AWS says no more; a server on one machine does
  if (status === 429) reason = [`429: ${PAUSED}`, limit].filter(Boolean).join(". ");
  else if ((status === 500 || status === 503) && explained && !own) {
    reason = `${status}: ${PAUSED}, or its function failed`;
  }
  let hint = "";
  if (kind === "gone") hint = OUTDATED;
  else if (kind === "forbidden") hint = `${signed ? DENIED : UNSIGNED}. ${NOWHERE}`;
  else if (kind === "refused") {
    hint = own && String(detail).includes("openCounters") ? CLOSED : !own && !signed ? UNSIGNED : "";
  }
  const after = headers.get("retry-after") ?? "";
  const retryAfter = /^[0-9]+$/.test(after) ? Math.min(Number(after), 60) : 0; // this API sends no dates
  const [available, maxBlock] = [known(found["available"]), known(found["maxBlock"])];
  return new Failure(kind, reason, { status, retryAfter, available, maxBlock, problem: found, hint });
}

function known(value: unknown): number {
  return typeof value === "number" && Number.isInteger(value) && value > 0 ? value : 0;
}
