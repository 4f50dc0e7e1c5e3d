import { readFileSync } from "node:fs";
import { defaultProvider } from "@aws-sdk/credential-provider-node";
import { Integers } from "Global-Integers-Client";

// pulumi stack output --json > outputs.json
const outputs: unknown = JSON.parse(readFileSync("outputs.json", "utf8"));
const orders = Integers.fromOutputs(outputs, { counter: "orders", credentials: defaultProvider() });

// node mint.mts cart-99: the number of this cart's order, the same however often it runs
const number = await orders.next({ key: process.argv[2] });
console.log(`ORD-${String(number).padStart(6, "0")}`);
