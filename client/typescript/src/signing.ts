/**
 * Signs requests for stacks with `authorization: AWS_IAM` (the default), with AWS Signature Version 4.
 *
 * The rules are those of the IAM guide, "Create a signed AWS API request". At the shared name of a domain, a caller
 * doesn't know which region answers. That needs an asymmetric signature (Version 4A), which isn't made here.
 */

import { CannotSign } from "./errors.ts";

/** Keys of AWS, as AWS's provider packages return them. */
export interface Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string | undefined;
  /** When they expire. They are asked for again five minutes before; without it, for each request. */
  readonly expiration?: Date | undefined;
}

/** The service that requests to a Function URL are signed for (Lambda guide, "Invoking Lambda function URLs"). */
const FUNCTION = "lambda";

/** The service for a domain (API Gateway guide, "Control access to a REST API with IAM permissions"). */
const API_GATEWAY = "execute-api";

/** The end of every Function URL's host, `<id>.lambda-url.<region>.on.aws`. */
const FUNCTION_URLS = ".on.aws";

/** Milliseconds before their end at which credentials are asked for again. */
const EARLY = 300_000;

const ENCODER = new TextEncoder();
const EMPTY_SHA256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

/** Asks for credentials, once for all requests that need them at the same time. */
export class CredentialsSource {
  readonly #ask: () => Promise<Credentials>;
  #current: Promise<Credentials> | undefined;

  constructor(ask: () => Promise<Credentials>) {
    this.#ask = ask;
  }

  /**
   * Return credentials that are valid now.
   *
   * @throws CannotSign: there are none.
   */
  async get(): Promise<Credentials> {
    const asked = (this.#current ??= this.#asked());
    const found = await asked.catch(() => undefined);
    const lasts = found?.expiration && found.expiration.getTime() - EARLY > Date.now();
    if (!lasts && this.#current === asked) this.#current = undefined;
    return asked;
  }

  async #asked(): Promise<Credentials> {
    try {
      const found = await this.#ask();
      if (typeof found?.accessKeyId === "string" && typeof found.secretAccessKey === "string") return found;
    } catch (error) {
      const said = error instanceof Error ? error.message : String(error);
      throw new CannotSign(`the AWS credentials can't be had: ${said}`, { cause: error });
    }
    throw new CannotSign("`credentials` returned no accessKeyId and secretAccessKey");
  }
}

/** Return the service that requests to a region's URL are signed for. */
export function serviceOf(region: string, url: string): string {
  return new URL(url).hostname.startsWith(`${region}.`) ? API_GATEWAY : FUNCTION;
}

/** Return whether a region's URL shows that requests to it may have to be signed. */
export function isAws(region: string, url: string): boolean {
  return new URL(url).hostname.endsWith(FUNCTION_URLS) || serviceOf(region, url) === API_GATEWAY;
}

/**
 * Return the headers of a signed request without a body.
 *
 * @param headers those to sign besides `host` and the date's, by their names in lower case
 */
export async function signed(
  method: string,
  url: string,
  headers: Readonly<Record<string, string>>,
  region: string,
  service: string,
  credentials: Credentials,
  now: Date,
): Promise<Record<string, string>> {
  const date = now.toISOString().replace(/[-:]|\.\d{3}/g, "");
  const token = credentials.sessionToken;
  const sent = { ...headers, "x-amz-date": date, ...(token ? { "x-amz-security-token": token } : {}) };
  const { host, pathname, searchParams } = new URL(url);
  const all = Object.entries({ ...sent, host }).sort(byName);
  const names = all.map(([name]) => name).join(";");
  const query = [...searchParams].map(([name, value]) => [encoded(name), encoded(value)] as const).sort(byName);
  const canonical = [
    method,
    pathname.replace(/\/+/g, "/").split("/").map(encoded).join("/"), // once more: every service but S3 wants that
    query.map((pair) => pair.join("=")).join("&"),
    ...all.map(([name, value]) => `${name}:${value.trim().replace(/ +/g, " ")}`),
    "",
    names,
    EMPTY_SHA256,
  ].join("\n");
  const scope = [date.slice(0, 8), region, service, "aws4_request"];
  const text = ["AWS4-HMAC-SHA256", date, scope.join("/"), await sha256(canonical)].join("\n");
  let key: BufferSource = ENCODER.encode(`AWS4${credentials.secretAccessKey}`);
  for (const part of [...scope, text]) key = await hmac(key, part);
  const signature = `Signature=${hex(key as ArrayBuffer)}`;
  const credential = `Credential=${credentials.accessKeyId}/${scope.join("/")}`;
  return { ...sent, authorization: `AWS4-HMAC-SHA256 ${credential}, SignedHeaders=${names}, ${signature}` };
}

function byName([a, of]: readonly [string, string], [b, other]: readonly [string, string]): number {
  return a === b ? (of < other ? -1 : 1) : a < b ? -1 : 1;
}

/** Encode all but RFC 3986's unreserved characters. */
function encoded(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, (found) => `%${found.charCodeAt(0).toString(16).toUpperCase()}`);
}

async function sha256(text: string): Promise<string> {
  return hex(await crypto.subtle.digest("SHA-256", ENCODER.encode(text)));
}

async function hmac(key: BufferSource, text: string): Promise<ArrayBuffer> {
  const imported = await crypto.subtle.importKey("raw", key, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  return crypto.subtle.sign("HMAC", imported, ENCODER.encode(text));
}

function hex(bytes: ArrayBuffer): string {
  return Array.from(new Uint8Array(bytes), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
