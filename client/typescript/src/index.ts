/** A client of Global integers: unique integers from the nearest healthy region. */

export type { Owner } from "./api.ts";
export {
  CannotSign,
  DeadlineExceeded,
  FailedEverywhere,
  GlobalIntegersError,
  Refused,
  Unavailable,
  UnknownCounter,
  UnknownOwner,
} from "./errors.ts";
export type { Event, FailedOver, Leased, Requested } from "./errors.ts";
export type { Health } from "./failover.ts";
export { Counter, Integers, Taken } from "./integers.ts";
export type { AbortOptions, CallOptions, Options, Urls } from "./options.ts";
export type { Credentials } from "./signing.ts";
