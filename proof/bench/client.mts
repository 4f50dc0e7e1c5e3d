/** Prints the figures of one subject of `make bench`, as JSON: client.mts URLS SECONDS memory|one */

import { Integers } from "../../client/typescript/src/index.ts";

const [urls = "", seconds = "", subject] = process.argv.slice(2);
const LEASE = 100_000;
const UNTIMED = 50;

const trips: number[] = [];
const integers = new Integers(JSON.parse(urls) as Record<string, string>, {
  lease: LEASE,
  observer: (event) => {
    if (event.type === "requested" && event.subject !== "health") trips.push(event.seconds * 1000);
  },
});

const ends = (): number => performance.now() + Number(seconds) * 1000;
const part = (sorted: number[], share: number): number => sorted[Math.floor(sorted.length * share)]!;
const ascending = (numbers: number[]): number[] => numbers.sort((a, b) => a - b);

/** Return the rate within one block: of 5,000 calls during which no request ended. */
async function memory(): Promise<object> {
  const rates: number[] = [];
  for (let began = 0, end = ends(); (began = performance.now()) < end; ) {
    const sent = trips.length;
    for (let n = 0; n < 5000; n++) await integers.next();
    if (trips.length === sent) rates.push(5_000_000 / (performance.now() - began));
    await new Promise(setImmediate); // only so do requests go on
  }
  return { per_s: part(ascending(rates), 0.5) };
}

/** Time one call of 51, without a pause. */
async function one(): Promise<object> {
  const times: number[] = [];
  const first = performance.now();
  for (let began = 0, end = ends(); (began = performance.now()) < end; ) {
    await integers.next();
    times.push((performance.now() - began) * 1000);
    for (let n = 0; n < UNTIMED; n++) await integers.next();
    if (times.length % 100 === 0) await new Promise(setImmediate);
  }
  const total = times.length * (1 + UNTIMED);
  const rate = (total * 1000) / (performance.now() - first);
  ascending(times);
  const [p50_us, p99_us, p9999_us] = [part(times, 0.5), part(times, 0.99), part(times, 0.9999)];
  return { per_s: rate, p50_us, p99_us, p9999_us, requests: trips.length / total, trip_ms: part(ascending(trips), 0.5) };
}

for (let n = 0; n < 4 * LEASE; n++) await integers.next();
trips.length = 0;
console.log(JSON.stringify(await (subject === "memory" ? memory() : one())));
integers.close();
