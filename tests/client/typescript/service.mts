/** A service with 200 callers at once, until its standard input ends. It prints how many it has, and then all. */

import { Integers } from "../../../client/typescript/src/index.ts";

const integers = Integers.fromOutputs(JSON.parse(process.env["OUTPUTS"] ?? ""), {
  counter: "orders",
  lease: 100,
  timeout: Number(process.env["TIMEOUT"]),
});
const minted: number[] = [];
const errors: string[] = [];
let ended = false;
process.stdin.on("end", () => (ended = true)).resume();
const shows = setInterval(() => console.log(minted.length), 100);

async function call(nth: number): Promise<void> {
  for (let n = 0; !ended; n++) {
    try {
      minted.push(nth === 0 ? await integers.next({ key: `order-${n}`, keyFailover: true }) : await integers.next());
    } catch (error) {
      errors.push(String(error));
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

await Promise.all(Array.from({ length: 200 }, (_, nth) => call(nth)));
clearInterval(shows);
console.log(JSON.stringify({ minted, errors }));
