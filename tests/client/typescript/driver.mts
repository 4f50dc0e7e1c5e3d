/** Carries out what tests/client/scenarios.py asks, one JSON document a line, with the client for TypeScript. */

import { createInterface } from "node:readline";
import { CannotSign, DeadlineExceeded, Integers } from "../../../client/typescript/src/index.ts";
import type { CallOptions, Counter, Credentials, Event, Options } from "../../../client/typescript/src/index.ts";
import { REAL } from "../../../client/typescript/src/calls.ts";
import type { Sent } from "../../../client/typescript/src/calls.ts";
import { signed } from "../../../client/typescript/src/signing.ts";
import { Stack } from "../../../client/typescript/src/testing.ts";
import type { Fault } from "../../../client/typescript/src/testing.ts";
import { TimedOut } from "../../../client/typescript/src/transport.ts";

interface Client {
  readonly integers: Integers;
  readonly events: Event[];
  readonly sent: { count: number };
}

interface Asked {
  readonly id: number;
  readonly do: string;
  readonly client: string;
  readonly silent: readonly string[];
  readonly hosts: Readonly<Record<string, string>>;
  readonly now: number | null;
  readonly [name: string]: unknown;
}

interface Signing {
  readonly method: string;
  readonly url: string;
  readonly headers: Record<string, string>;
  readonly of: string;
  readonly service: string;
  readonly keys: Credentials;
  readonly date: string;
}

const clients = new Map<string, Client>();
let stack = new Stack();
let silent: readonly string[] = [];
let hosts: Readonly<Record<string, string>> = {};
let now: number | undefined;
const realNow = Date.now;
Date.now = () => now ?? realNow();

const STANDING = { now: () => 0, wait: () => undefined } as unknown as Parameters<(typeof stack.regions)[0]["answer"]>[2];

const camel = (name: string): string => name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
const camels = (given: unknown): Record<string, unknown> =>
  Object.fromEntries(Object.entries(Object(given) as object).map(([name, value]) => [camel(name), value]));

/** Open a client. Its time is over once the regions `endsAfter` have failed, however long that takes. */
function open({ client, urls, options, memory, ends_after: endsAfter }: Asked): void {
  const [events, failed, sent] = [[] as Event[], new Set<string>(), { count: 0 }];
  let jumped = 0;
  const observer = (event: Event): void => {
    events.push(event);
    if (event.type !== "requested" || event.failure === undefined || event.subject === "health") return;
    failed.add(event.region);
    const regions = endsAfter as string[];
    if (regions.length && regions.every((region) => failed.has(region))) jumped += 1000;
  };
  const given: Options = { observer, ...camels(options) };
  if (memory) {
    clients.set(client, { integers: stack.integers(given), events, sent });
    return;
  }
  const impatient: typeof fetch = async (url, init) => {
    sent.count++;
    if (!silent.some((start) => String(url).startsWith(start))) return fetch(led(String(url)), init);
    await new Promise((resolve) => setTimeout(resolve, 50));
    throw new TimedOut();
  };
  const clock = { ...REAL.clock(false), now: () => performance.now() / 1000 + jumped };
  const environment = { ...REAL, clock: () => clock };
  const integers = new Integers(urls as string, { fetch: impatient, ...given }, environment);
  clients.set(client, { integers, events, sent });
}

/** Return where a URL leads. */
function led(url: string): string {
  if (!Object.keys(hosts).length) return url;
  const { hostname, pathname, search } = new URL(url);
  if (!(hostname in hosts)) throw new TypeError("fetch failed", { cause: { code: "ENOTFOUND" } });
  return hosts[hostname] + pathname + search;
}

function found(name: string): Client {
  const client = clients.get(name);
  if (!client) throw new Error(`no client ${name}`);
  return client;
}

async function call({ client, call: name, counter, args }: Asked): Promise<unknown> {
  const { integers } = found(client);
  const { count, integer, of, signalled, ...options } = camels(args);
  const on: Counter = counter === undefined ? integers : integers.counter(counter as string);
  if (signalled !== undefined) options["signal"] = AbortSignal.abort(new Error("aborted"));
  const given = Object.keys(options).length ? (options as CallOptions) : undefined;
  switch (name) {
    case "next":
      return on.next(given);
    case "take":
      return on.take(count as number, given);
    case "iterate": {
      const taken: number[] = [];
      for await (const found of on.take(count as number, given)) taken.push(found);
      return taken;
    }
    case "owner":
      return integers.owner(integer as number, of as string | undefined);
    case "create":
      return integers.create(of as string, { ...options });
    case "health":
      return integers.health();
    default:
      throw new Error(`no call ${name}`);
  }
}

async function idle(name: string): Promise<void> {
  const { events, sent } = found(name);
  while (events.filter(({ type }) => type === "requested").length < sent.count) {
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  await new Promise((resolve) => setTimeout(resolve, 1));
}

async function carriedOut(asked: Asked): Promise<unknown> {
  silent = asked.silent;
  hosts = asked.hosts;
  now = asked.now === null ? undefined : 1000 * asked.now;
  const region = stack.regions.find(({ name }) => name === asked["region"])!;
  switch (asked.do) {
    case "stack":
      stack = new Stack(asked["regions"] as string[], camels(asked["options"]));
      return null;
    case "fail":
      return region.fail(asked["fault"] as Fault);
    case "recover":
      return region.recover();
    case "tick":
      return stack.tick(asked["seconds"] as number);
    case "jump":
      return stack.jump();
    case "delete":
      return stack.delete(asked["counter"] as string);
    case "open":
      return open(asked);
    case "outputs":
      return Integers.fromOutputs(asked["outputs"], camels(asked["options"])) && null;
    case "call":
      return call(asked);
    case "idle":
      return idle(asked.client);
    case "events":
      return found(asked.client).events;
    case "close":
      return found(asked.client).integers.close();
    case "answer": {
      const { status, headers } = region.answer(asked["sent"] as Sent, 1, STANDING);
      return [status, Object.fromEntries(headers)];
    }
    case "sign": {
      const { method, url, headers, of, service, keys, date } = asked as unknown as Signing;
      return signed(method, url, headers, of, service, keys, new Date(date));
    }
    default:
      throw new Error(`can't ${asked.do}`);
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  const asked = JSON.parse(line) as Asked;
  const answer = carriedOut(asked).then(
    (value) => ({ value: value ?? null }),
    (error: Error) => {
      const type = error instanceof TypeError && !(error instanceof CannotSign) ? "ValueError" : error.name;
      return { error: { ...error, type, message: error.message, timedOut: error instanceof DeadlineExceeded } };
    },
  );
  console.log(JSON.stringify({ id: asked.id, ...(await answer) }));
}
