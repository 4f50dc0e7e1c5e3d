/** What only this client has: its signatures, its speed, what it does with signals. The rest is in ../scenarios. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { CannotSign, Integers } from "../../../client/typescript/src/index.ts";
import type { CallOptions, Credentials, Event } from "../../../client/typescript/src/index.ts";
import { Failure } from "../../../client/typescript/src/api.ts";
import { Regions } from "../../../client/typescript/src/failover.ts";
import { LeaseBuffer, Turn } from "../../../client/typescript/src/lease.ts";
import { signed } from "../../../client/typescript/src/signing.ts";
import { Stack } from "../../../client/typescript/src/testing.ts";

interface Vector {
  readonly name: string;
  readonly method: string;
  readonly url: string;
  readonly headers: Record<string, string>;
  readonly authorization: string;
  readonly token?: string;
}

const VECTORS = JSON.parse(readFileSync(new URL("sigv4.json", import.meta.url), "utf8")) as { requests: Vector[] };
const KEYS = { accessKeyId: "AKIDEXAMPLE", secretAccessKey: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY" };
const URLS = { "eu-west-1": "https://a.lambda-url.eu-west-1.on.aws/" };
const BLOCK = { counter: "integers", region: "eu-west-1", first: 1, last: 1, stride: 1, count: 1 };

/** Return what answers every request with an integer, and notes the requests. */
function answering(asked: Request[], respond = (first: number) => Response.json({ ...BLOCK, first, last: first })) {
  return async (url: unknown, init?: RequestInit): Promise<Response> => {
    asked.push(new Request(String(url), init ?? {}));
    return respond(asked.length);
  };
}

for (const { name, method, url, headers, token, authorization } of VECTORS.requests) {
  test(`AWS's vector ${name}`, async () => {
    const keys = { ...KEYS, sessionToken: token };
    const made = await signed(method, url, headers, "us-east-1", "service", keys, new Date("2015-08-30T12:36:00Z"));
    assert.equal(made["authorization"], authorization);
  });
}

test("credentials are asked for once for calls at the same time, and again before they expire", async () => {
  let times = 0;
  const asked: Request[] = [];
  const credentials = async (): Promise<Credentials> => {
    times++;
    return { ...KEYS, expiration: new Date(Date.now() + (times === 1 ? 3_600_000 : 299_000)) };
  };
  const integers = new Integers(URLS, { credentials, fetch: answering(asked) });
  await Promise.all([integers.next(), integers.next(), integers.next()]);
  assert.equal(times, 1);
  const late = new Integers(URLS, { credentials, fetch: answering(asked) });
  await late.next();
  await late.next();
  assert.equal(times, 3);
  assert.ok(asked.every(({ headers }) => headers.get("authorization")?.includes("/eu-west-1/lambda/aws4_request")));
});

test("a domain's own regions are signed for API Gateway, and its shared name is not", async () => {
  const asked: Request[] = [];
  const urls = { "eu-west-1": "https://eu-west-1.integers.example.com/" };
  const outputs = { domainUrl: "https://integers.example.com/", urls };
  const credentials = async (): Promise<Credentials> => KEYS;
  await Integers.fromOutputs(outputs, { credentials, fetch: answering(asked) }).next();
  assert.match(asked[0]?.headers.get("authorization") ?? "", /\/eu-west-1\/execute-api\/aws4_request/);
  const forbid = answering([], () => Response.json({ message: "Missing Authentication Token" }, { status: 403 }));
  const shared = Integers.fromOutputs(outputs, { fetch: forbid });
  await assert.rejects(shared.next(), { name: "CannotSign", message: /wants a signature .*SigV4A.* own URLs/ });
  assert.throws(() => new Integers(outputs.domainUrl, { sign: true, credentials }), CannotSign);
  assert.throws(() => new Integers(urls, { sign: true }), /needs the option `credentials`/);
});

test("credentials that can't be had are no region's failure", async () => {
  const credentials = (): Promise<Credentials> => Promise.reject(new Error("the session has expired"));
  const integers = new Integers(URLS, { credentials });
  await assert.rejects(integers.next(), { name: "CannotSign", message: /can't be had: the session has expired/ });
});

test("a signal ends a call that sends, waits for a block or has failed before", { timeout: 60_000 }, async () => {
  const never = (): Promise<Response> => new Promise(() => undefined);
  const integers = new Integers(URLS, { fetch: never, lease: 10, timeout: 60, attemptTimeout: 60 });
  const controller = new AbortController();
  const calls = [integers.next({ signal: controller.signal }), integers.next({ signal: controller.signal })];
  const reason = new Error("the page was left");
  setTimeout(() => controller.abort(reason), 10);
  for (const call of calls) await assert.rejects(call, reason);
  await assert.rejects(integers.next({ signal: controller.signal }), reason);
});

test("a server without TLS is called so", async () => {
  const server = createServer((socket) => {
    socket.on("error", () => undefined).once("data", () => socket.end("HTTP/1.1 400 Bad Request\r\n\r\n"));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const integers = new Integers({ "eu-west-1": `https://${host}/` }, { timeout: 5 });
  await assert.rejects(integers.next(), {
    reasons: { "eu-west-1": `the server doesn't speak TLS; is http:// meant? (${host})` },
  });
  server.close();
});

test("options that are none are refused, with what is right", async () => {
  const integers = new Stack().integers();
  const key = "order-17" as unknown as CallOptions;
  await assert.rejects(integers.next(key), { name: "TypeError", message: "options are an object: { key: 'order-17' }" });
  assert.throws(() => new Integers(URLS, { fetch: 5 as unknown as typeof fetch }), /^TypeError: fetch 5 is not a function/);
});

test("a compressed body is not read, and one too large only to its limit", async () => {
  for (const response of [
    () => new Response("x", { headers: { "content-encoding": "gzip" } }),
    () => new Response("x".repeat(1_000_001)),
  ]) {
    const integers = new Integers(URLS, { fetch: answering([], response), timeout: 0.05 });
    await assert.rejects(integers.next(), /is not this API's: it (is compressed: gzip|has more than 1,000,000)/);
  }
});

test("an observer that throws harms no call", async () => {
  const observer = (): never => assert.fail("as the test says");
  assert.equal(await new Stack().integers({ observer }).next(), 1);
});

test("200 callers share leases, and none gets an integer of another", async () => {
  const events: Event[] = [];
  const integers = new Stack().integers({ lease: 1000, observer: (event) => events.push(event) });
  const call = async (): Promise<number[]> => {
    const own: number[] = [];
    for (let n = 0; n < 50; n++) own.push(await integers.next());
    return own;
  };
  const minted = (await Promise.all(Array.from({ length: 200 }, call))).flat();
  assert.equal(new Set(minted).size, 10_000);
  assert.ok(events.filter(({ type }) => type === "leased").length < 100);
});

test("a counter is the same as long as somebody keeps it, and a client keeps a thousand", () => {
  const integers = new Stack().integers();
  const kept = integers.counter("orders");
  for (let n = 0; n < 2000; n++) integers.counter(`counter-${n}`);
  assert.equal(integers.counter("orders"), kept);
});

test("only a clearly nearer region replaces the nearest", () => {
  const regions = new Regions(["far", "near"], undefined, Math.max);
  const measure = (name: string, seconds: number): void => {
    for (let n = 0; n < 50; n++) regions.checked(name, true, seconds, n);
  };
  measure("far", 0.5);
  measure("near", 0.1);
  assert.deepEqual(regions.order(100), ["near", "far"]);
  measure("far", 0.09);
  assert.deepEqual(regions.order(100), ["near", "far"]);
  measure("far", 0.07);
  assert.deepEqual(regions.order(100), ["far", "near"]);
  assert.deepEqual(regions.toCheck(100, false), [], "both have responded");
  regions.failed("near", 100, 100, new Failure("silent", "no response"));
  assert.deepEqual(regions.toCheck(101, false), ["near"]);
});

test("if a block doesn't come, as many try again as no block that comes has an integer for", () => {
  const buffer = new LeaseBuffer(2, 60);
  const turns = Array.from({ length: 5 }, () => new Turn());
  for (const turn of turns) buffer.begin(turn);
  assert.deepEqual(turns.map(({ size }) => size), [1, 0, 0, 0, 0]);
  buffer.add({ region: "a", first: 1, stride: 3, count: 1, replayed: false, counter: "orders" }, turns[0]!);
  for (const turn of turns.slice(1)) buffer.begin(turn);
  const fetching = turns.filter(({ integer, size }) => !integer && size);
  assert.deepEqual(fetching.map(({ size }) => size), [2, 2]);
  buffer.add({ region: "a", first: 4, stride: 3, count: 2, replayed: false, counter: "orders" }, fetching[0]!);
  assert.deepEqual(turns.map(({ integer }) => integer).filter(Boolean).sort(), [1, 4, 7]);
});
