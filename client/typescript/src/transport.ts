/** One attempt: send a request to a region and read the response, before one deadline. */

import { answerOf, Failure, lastOf, Unreadable, urlOf } from "./api.ts";
import type { ApiRequest, MintedBlock } from "./api.ts";
import type { Call, Exchange, Received, Sent } from "./calls.ts";
import { CannotSign } from "./errors.ts";
import type { Requested } from "./errors.ts";
import { CredentialsSource, serviceOf, signed } from "./signing.ts";

/** Characters. This API sends no larger responses to a client, and compresses none. */
const MAX_RESPONSE = 1_000_000;

/** Blocks of a counter that are remembered, for each region. */
const REMEMBERED = 64;

/** The largest number of counters whose blocks are remembered, for each region. */
const REMEMBERED_COUNTERS = 1000;

/** The hint if nothing listens on a port of this machine. */
const ENDED =
  "If that is the deployment on this machine, it may have ended. `.venv/bin/python -m local up` starts it again, at " +
  "the same URLs";

/** What a message says of a server that answers a TLS handshake in plain text. */
const NO_TLS = "the server doesn't speak TLS; is http:// meant?";

/** The time of an attempt is over. */
export class TimedOut extends Error {}

/** Return whether a host is on this machine or is an IP address. */
export function isLocal(host: string): boolean {
  return host === "localhost" || host.endsWith(".localhost") || /^[\d.]+$/.test(host) || host.startsWith("[");
}

/** Sends requests, with the URLs, signatures and observer that are the same for every attempt. */
export class Transport {
  readonly #url: (region: string) => string;
  readonly #signs: (region: string) => CredentialsSource | undefined;
  readonly #tell: (event: Requested) => void;
  readonly #exchange: Exchange;
  /** Region and counter → the first and last integers of the last blocks. */
  readonly #recent = new Map<string, Map<string, [first: number, last: number][]>>();

  constructor(
    url: (region: string) => string,
    signs: (region: string) => CredentialsSource | undefined,
    tell: (event: Requested) => void,
    exchange: Exchange,
  ) {
    [this.#url, this.#signs, this.#tell, this.#exchange] = [url, signs, tell, exchange];
  }

  /**
   * Send the request. Return the region's answer, or why there is none.
   *
   * @throws CannotSign: the credentials can't be had, which is no region's failure.
   * @throws whatever the call's signal was aborted with.
   */
  async send<T>(region: string, request: ApiRequest<T>, seconds: number, call: Call): Promise<T | Failure> {
    const began = call.now();
    const url = urlOf(this.#url(region), request);
    let answer: T | Failure;
    const attempt = new AbortController();
    try {
      const { method, headers } = request;
      const received = this.#received(region, { url, method, headers }, seconds, call, attempt.signal);
      if (!(await call.within(received, seconds))) throw new TimedOut();
      const isSigned = this.#signs(region) !== undefined;
      answer = this.#new(region, request, answerOf(request, { region, signed: isSigned, ...(await received) }));
    } catch (error) {
      if (error instanceof CannotSign || call.signal?.aborted) throw error;
      answer = failureOf(error, seconds, new URL(url));
    } finally {
      attempt.abort();
    }
    const failure = answer instanceof Failure ? answer.reason : undefined;
    this.#tell({ type: "requested", region, subject: request.subject, seconds: call.now() - began, failure });
    return answer;
  }

  async #received(region: string, sent: Sent, seconds: number, call: Call, signal: AbortSignal): Promise<Received> {
    const keys = await this.#signs(region)?.get();
    const { method, url, headers } = sent;
    const service = serviceOf(region, url);
    const own = keys ? await signed(method, url, headers, region, service, keys, new Date()) : headers;
    return this.#exchange({ ...sent, headers: own }, seconds, call.clock, signal);
  }

  /**
   * Return the answer, or a failure if it has integers that the region has returned before, without a key.
   *
   * A cache may answer a POST, a proxy may deliver a response twice, and a table may have been restored.
   */
  #new<T>(region: string, request: ApiRequest<T>, answer: T | Failure): T | Failure {
    if (!request.count || request.key || answer instanceof Failure) return answer;
    const block = answer as MintedBlock;
    const counters = this.#recent.get(region) ?? new Map<string, [number, number][]>();
    this.#recent.set(region, counters);
    const blocks = counters.get(block.counter) ?? [];
    counters.set(block.counter, blocks);
    const [oldest] = counters.keys();
    if (counters.size > REMEMBERED_COUNTERS && oldest !== undefined) counters.delete(oldest);
    const last = lastOf(block);
    const again = blocks.some((other) => block.first <= other[1] && other[0] <= last);
    blocks.push([block.first, last]);
    if (blocks.length > REMEMBERED) blocks.shift();
    if (!again && !block.replayed) return answer;
    return new Failure("transient", `the response has integers that were returned before: ${block.first} …`);
  }
}

/** Return what sends by `fetch`. */
export function byFetch(fetch: typeof globalThis.fetch): Exchange {
  return async ({ url, method, headers }, _seconds, _clock, signal) => {
    const asked = { ...headers, "accept-encoding": "identity" }; // browsers have their own
    const how = { redirect: "manual", cache: "no-store", credentials: "omit", signal } as const;
    const response = await fetch(url, { method, headers: asked, ...how });
    const { status, statusText: phrase } = response;
    const encoding = (response.headers.get("content-encoding") ?? "").trim().toLowerCase();
    if (encoding && encoding !== "identity") {
      throw new Unreadable(`it is compressed: ${encoding.slice(0, 40)}`); // not asked for, and could become very large
    }
    let body = "";
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    for (let read = await reader?.read(); read && !read.done; read = await reader?.read()) {
      body += read.value;
      if (body.length > MAX_RESPONSE) throw new Unreadable("it has more than 1,000,000 characters");
    }
    return { status, phrase, headers: response.headers, body };
  };
}

/** Return the failure of an attempt without a readable response. */
function failureOf(error: unknown, seconds: number, { host, hostname }: URL): Failure {
  if (error instanceof TimedOut) return new Failure("silent", `no response within ${Number(seconds.toPrecision(3))} s`);
  if (error instanceof Unreadable) return new Failure("transient", `the response is not this API's: ${error.message}`);
  const { name, message, cause } = error instanceof Error ? error : new Error(String(error));
  const { code, message: why } = Object(cause) as { code?: unknown; message?: unknown };
  if (code === "ECONNREFUSED") {
    return new Failure("silent", `connection refused (${host})`, { hint: isLocal(hostname) ? ENDED : "" });
  }
  if (code === "ERR_SSL_WRONG_VERSION_NUMBER") return new Failure("silent", `${NO_TLS} (${host})`);
  if (code === "ENOTFOUND") return new Failure("silent", `Name or service not known (${host})`);
  return new Failure("silent", [name, message, why].filter(Boolean).join(": "));
}
