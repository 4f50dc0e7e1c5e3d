import { GlobalIntegers } from "Global-Integers";

const integers = new GlobalIntegers("integers", {
    home: "us-east-1",
    regions: ["us-east-1", "eu-west-1"],
    counters: ["orders", "invoices"],
    defaultCounter: "orders",
});

export const urls = integers.urls;
