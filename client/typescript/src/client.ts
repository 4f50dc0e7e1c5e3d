/** What the counters of one `Integers` share: it mints, creates counters, and asks for owners and health. */

import * as api from "./api.ts";
import { Failure } from "./api.ts";
import type { ApiRequest, MintedBlock, Owner } from "./api.ts";
import { Call } from "./calls.ts";
import type { Environment } from "./calls.ts";
import { CannotSign, FailedEverywhere, Refused, Unavailable } from "./errors.ts";
import type { Event } from "./errors.ts";
import { firstAnswer, orderFor, Regions } from "./failover.ts";
import type { Health, Sender } from "./failover.ts";
import { checkCall, checkedOptions, checkedUrls, Domain } from "./options.ts";
import type { CallOptions, Checked, Options, Urls } from "./options.ts";
import { CredentialsSource, isAws } from "./signing.ts";
import { byFetch, Transport } from "./transport.ts";

/** Seconds after which a domain's regions are read again, in the background, so that all soon know the same ones. */
const REFRESH = 300;

/** What the counters of one `Integers` share. */
export class Client implements Sender {
  readonly options: Checked;
  readonly regions: Regions;
  readonly domain: Domain | undefined;
  /** The default counter's name, "" before the first response about it. */
  defaultName: string;
  readonly #environment: Environment;
  readonly #transport: Transport;
  /** Aborts what goes on in the background. */
  #background = new AbortController();

  constructor(urls: Urls | string, options: Options, environment: Environment) {
    const byRegion = typeof urls === "string" ? undefined : checkedUrls(urls);
    this.options = checkedOptions(urls, options);
    this.domain = typeof urls === "string" ? new Domain(urls) : undefined;
    this.#environment = environment;
    this.defaultName = this.options.counter ?? "";
    const { sign, credentials, prefer } = this.options;
    if (sign && !credentials) throw new CannotSign("signing needs the option `credentials`, which returns AWS's");
    if (sign && this.domain && !this.domain.alone) throw cannotSignFor(this.domain);
    const source = sign !== false && credentials ? new CredentialsSource(credentials) : undefined;
    const url = (region: string): string => this.domain?.url(region) ?? byRegion?.get(region) ?? "";
    const signs = (region: string): CredentialsSource | undefined =>
      region !== this.domain?.name && (sign || isAws(region, url(region))) ? source : undefined;
    const names = byRegion ? [...byRegion.keys()] : this.domain?.alone ? [this.domain.name] : [];
    this.regions = new Regions(names, prefer, environment.spread);
    const exchange = environment.exchange ?? byFetch(this.options.fetch ?? ((...sent) => fetch(...sent)));
    this.#transport = new Transport(url, signs, (event) => this.tell(event), exchange);
  }

  /** Return a call that begins now. */
  call(options: CallOptions = {}, timeout?: number, inBackground = false): Call {
    checkCall(options);
    const { timeout: own, attemptTimeout } = this.options;
    const attempt = timeout === undefined ? attemptTimeout : timeout / 2;
    return new Call(this.#environment.clock(inBackground), timeout ?? own, attempt, options.signal);
  }

  /**
   * Return the default counter's name: that of the first response, whatever later ones say.
   *
   * So a deployment with another default counter doesn't give this client's callers integers of it.
   */
  pin(counter: string): string {
    return (this.defaultName ||= counter);
  }

  /** Tell the observer. */
  tell(event: Event): void {
    try {
      this.options.observer?.(event);
    } catch {
      // The call goes on.
    }
  }

  send<T>(region: string, request: ApiRequest<T>, seconds: number, call: Call): Promise<T | Failure> {
    return this.#transport.send(region, request, seconds, call);
  }

  /** Send a request to one region after the other until one answers. */
  async answer<T>(request: ApiRequest<T>, call: Call, order?: readonly string[]): Promise<T> {
    if (order === undefined) {
      await this.#locate(call);
      await this.#measure(call);
    }
    try {
      return await firstAnswer(this, request, call, order);
    } catch (failed) {
      const isDenied = failed instanceof Refused && (failed.status === 401 || failed.status === 403);
      if (failed instanceof Unavailable || isDenied) this.regions.outdated = true;
      throw failed;
    }
  }

  /** Mint a block. Once its name is known, the default counter is asked for by its name, too. */
  async mint(counter: string, count: number, call: Call, { key, keyFailover }: CallOptions = {}): Promise<MintedBlock> {
    const asked = api.mint(counter, count, key); // nothing is asked for what is wrong
    let order: string[] | undefined;
    if (key !== undefined) {
      await this.#locate(call);
      await this.#startChecks(call, false);
      order = await orderFor(this, asked, call, keyFailover ?? false);
    }
    for (;;) {
      const most = key === undefined ? this.regions.maxBlock(call.now()) : count;
      const request = api.mint(counter || this.defaultName, Math.min(count, most), key);
      const block = await this.answer(request, call, order);
      // Of two first requests, one was answered before a deployment. The integers of the other are a gap.
      if (block.counter === (counter || this.pin(block.counter))) return block;
    }
  }

  /** Return the owner of an integer of a counter, by default of the default one. */
  async owner(integer: number, counter: string | undefined, call: Call): Promise<Owner> {
    api.owner(counter ?? "any", integer);
    if (counter === undefined && !this.defaultName) this.pin(await this.answer(api.defaultCounter(), call));
    const request = api.owner(counter ?? this.defaultName, integer);
    const [found, knows] = await this.answer(request, call);
    if (knows === undefined || !this.regions.names.includes(knows)) return found;
    try {
      return (await this.answer(request, call, [knows]))[0];
    } catch (failed) {
      if (failed instanceof FailedEverywhere) return found; // who owns it is known, but not whether it was minted
      throw failed;
    }
  }

  /** Return each region's health. All are asked at the same time. */
  async health(options: CallOptions): Promise<Record<string, Health>> {
    await this.#locate(this.call(options));
    const checks = this.regions.names.map(async (name) => [name, await this.#check(name, this.call(options))] as const);
    return Object.fromEntries(await Promise.all(checks));
  }

  /** Work in the background. Its failures are those of regions, which the next call meets, too. */
  async start(work: (call: Call) => Promise<unknown>): Promise<void> {
    const ended = work(this.call({ signal: this.#background.signal }, undefined, true)).catch(() => undefined);
    if (this.#environment.inOrder) await ended;
  }

  /** End what goes on in the background. */
  close(): void {
    this.#background.abort();
    this.#background = new AbortController();
  }

  /** Ask one region whether it can mint, and remember how long it took. */
  async #check(region: string, call: Call): Promise<Health> {
    const began = call.now();
    try {
      const answer = await this.send(region, api.health(), Math.min(call.attempt, call.timeout), call);
      return this.regions.checked(region, answer, call.now() - began, call.now());
    } catch (error) {
      this.regions.uncheck(region); // it was aborted, or can't be signed, which says nothing of the region
      this.regions.waitNoLonger();
      throw error;
    }
  }

  /** Start the health checks that are due, in the background. */
  async #startChecks(call: Call, canChoose: boolean): Promise<void> {
    const due = this.regions.toCheck(call.now(), canChoose);
    for (const region of due) await this.start((own) => this.#check(region, own));
  }

  /** Start the health checks that are due. The first call waits for one of them. */
  async #measure(call: Call): Promise<void> {
    await this.#startChecks(call, true);
    if (this.regions.isMeasured) return;
    await call.within(this.regions.first, call.attempt);
    this.regions.waitNoLonger();
  }

  /** Read a domain's regions: at once if none are known, one left or a call failed; else in time, in the background. */
  async #locate(call: Call): Promise<void> {
    const domain = this.domain;
    if (domain === undefined || domain.alone) return;
    if (this.regions.outdated || !this.regions.names.length) {
      await this.#read(domain, call);
    } else if (call.now() >= domain.readAt + REFRESH) {
      domain.readAt = call.now();
      await this.start((own) => this.#read(domain, own));
    }
  }

  /** Read the regions. The known ones stay if the domain names none within one attempt's time. */
  async #read(domain: Domain, call: Call): Promise<void> {
    const { names } = this.regions;
    const { attemptTimeout, counter } = this.options;
    const seconds = names.length ? Math.min(call.ends - call.now(), attemptTimeout) : call.ends - call.now();
    const own = new Call(call.clock, Math.max(seconds, 0), attemptTimeout, call.signal);
    const ask = (of: string): Promise<string[]> =>
      firstAnswer(this, api.regions(domain.url(domain.name), of), own, [domain.name]);
    let found: string[] = [];
    try {
      if (counter) found = await ask(counter); // which may not exist yet
      if (!found.length) found = await ask("");
    } catch (failed) {
      if (!(failed instanceof FailedEverywhere || failed instanceof Refused)) throw failed;
      this.regions.outdated = false; // don't ask again before the next failure
      if (names.length) return;
      if (failed instanceof Refused) {
        throw failed.status === 401 || failed.status === 403 ? cannotSignFor(domain) : failed;
      }
      const message = `${domain.url(domain.name)} doesn't say which regions it has. The next call asks again:`;
      throw new Unavailable(message, new Map(Object.entries(failed.reasons)), failed.hints);
    }
    domain.readAt = call.now();
    this.regions.replace(found, domain.name);
  }
}

function cannotSignFor(domain: Domain): CannotSign {
  const url = domain.url(domain.name);
  return new CannotSign(
    `${url} wants a signature that every region accepts (SigV4A), which isn't made here; give the regions' own URLs ` +
      'with `credentials`: the stack\'s output `urls`, or { "eu-west-1": "https://eu-west-1.<domain>/", … }',
  );
}
