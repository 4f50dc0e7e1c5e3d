import createClient from "openapi-fetch";
import type { paths } from "./schema.d.ts";

const integers = createClient<paths, `application/${"" | "problem+"}json`>({ baseUrl: process.env.URL! });
const { data, error } = await integers.POST("/{counter}", {
  params: { path: { counter: "orders" }, query: { count: 3 }, header: { "Idempotency-Key": "order-18" } },
});
if (error) throw new Error(error.detail);
console.log("integers" in data ? data.integers : [data.integer]);
