/** What a test can turn on the device while it is served, and what it can read off. Shared between the provider's two threads. */

/** What the device says of an algorithm's driver; nothing else changes with it, but for how a request is cut to pieces. */
export interface Claim {
  /** `cra_driver_name`, at most 63 bytes. */
  readonly driver?: string;
  /** SIOP_FLAG_KERNEL_DRIVER_ONLY: what most hardware drivers have, and some software. */
  readonly hardware?: boolean;
  /** Addresses off it make the module copy page by page: a driver call for each. A power of two, less one. */
  readonly alignmask?: number;
}

/** A fault of the next requests, or of some later ones. */
export interface Fault {
  /** Requests that still go well. Default 0. */
  readonly after?: number;
  /** How many then do not. Default: all. */
  readonly times?: number;
}

export interface Knobs {
  /** By the kernel's name, `cbc(aes)`, or `*` for all that are not named. Default: the generic drivers. */
  readonly claims?: Readonly<Record<string, Claim>>;
  /** Kernel names that this kernel does not have: a session with one of them is refused with EINVAL. */
  readonly without?: readonly string[];
  /** Each CIOCCRYPT and CIOCAUTHCRYPT takes so much longer. */
  readonly delayMicroseconds?: number;
  /** Sessions that may be open at once, over all files; more are refused with ENOMEM. */
  readonly maxSessions?: number;
  /** CIOCCRYPT and CIOCAUTHCRYPT end with this errno: 16 EBUSY, 5 EIO, 19 ENODEV … */
  readonly failRequests?: Fault & { readonly errno: number };
  /** CIOCGSESSION likewise. */
  readonly failSessions?: Fault & { readonly errno: number };
  /** Requests go well, and one bit of their result is wrong. */
  readonly corrupt?: Fault;
  /** The device is gone, for those who have it open as well: the provider ends in the middle of a request. */
  readonly vanish?: Pick<Fault, 'after'>;
}

const KNOBS: Readonly<Record<keyof Knobs, 'number' | 'object'>> = {
  claims: 'object',
  without: 'object',
  delayMicroseconds: 'number',
  maxSessions: 'number',
  failRequests: 'object',
  failSessions: 'object',
  corrupt: 'object',
  vanish: 'object',
};

/** Knobs from JSON; throws a SyntaxError that says what is wrong. */
export function parseKnobs(text: string): Knobs {
  const knobs: unknown = JSON.parse(text);
  if (typeof knobs !== 'object' || knobs === null) throw new SyntaxError('knobs are a JSON object');
  for (const [name, value] of Object.entries(knobs)) {
    if (!Object.hasOwn(KNOBS, name)) {
      throw new SyntaxError(`no knob is called '${name}'; there are ${Object.keys(KNOBS).join(', ')}`);
    }
    const wanted = KNOBS[name as keyof Knobs];
    if (typeof value !== wanted || value === null)
      throw new SyntaxError(`the knob ${name} takes a JSON ${wanted}`);
  }
  return knobs as Knobs;
}

export interface Counters {
  /** Every ioctl, refused ones included. */
  readonly ioctls: number;
  /** CIOCCRYPT and CIOCAUTHCRYPT that were carried out. */
  readonly requests: number;
  /** Calls of the algorithm's driver: one for a request, or one for each page of it where the module has to copy. */
  readonly driverCalls: number;
  /** The `len` of the requests. */
  readonly bytes: number;
  readonly sessionsOpened: number;
  readonly sessionsOpen: number;
  readonly filesOpen: number;
  /** Requests and sessions that were failed or spoilt on purpose. */
  readonly faults: number;
}

const COUNTERS = [
  'ioctls',
  'requests',
  'driverCalls',
  'bytes',
  'sessionsOpened',
  'sessionsOpen',
  'filesOpen',
  'faults',
] as const satisfies readonly (keyof Counters)[];

const COUNTERS_AT = 0;
const VERSION_AT = 128;
const LENGTH_AT = 132;
const TEXT_AT = 136;
const TEXT_BYTES = 64 * 1024;

/** The memory that both threads see. */
export function sharedState(): SharedArrayBuffer {
  return new SharedArrayBuffer(TEXT_AT + TEXT_BYTES);
}

/** Hands other knobs to the serving thread, which takes them up before its next ioctl. */
export function writeKnobs(state: SharedArrayBuffer, knobs: Knobs): void {
  const text = new TextEncoder().encode(JSON.stringify(knobs));
  if (text.length > TEXT_BYTES)
    throw new RangeError(`the knobs take ${text.length} bytes, more than ${TEXT_BYTES}`);
  new Uint8Array(state, TEXT_AT, text.length).set(text);
  new Int32Array(state, LENGTH_AT, 1)[0] = text.length;
  Atomics.add(new Int32Array(state, VERSION_AT, 1), 0, 1);
}

export function readCounters(state: SharedArrayBuffer): Counters {
  const values = new Float64Array(state, COUNTERS_AT, COUNTERS.length);
  return Object.fromEntries(COUNTERS.map((name, index) => [name, values[index]!])) as unknown as Counters;
}

/** The serving thread's side. */
export class Control {
  readonly #state: SharedArrayBuffer;
  readonly #version: Int32Array;
  readonly #values: Float64Array;
  readonly #sleep = new Int32Array(new SharedArrayBuffer(4));
  #seen = -1;
  #knobs: Knobs = {};
  /** Since the knobs were last turned. */
  #requests = 0;
  #sessions = 0;

  constructor(state: SharedArrayBuffer) {
    this.#state = state;
    this.#version = new Int32Array(state, VERSION_AT, 1);
    this.#values = new Float64Array(state, COUNTERS_AT, COUNTERS.length);
  }

  /** Before each ioctl. */
  refresh(): void {
    const version = Atomics.load(this.#version, 0);
    if (version === this.#seen) return;
    this.#seen = version;
    const length = new Int32Array(this.#state, LENGTH_AT, 1)[0]!;
    // TextDecoder does not take shared memory.
    const text = Uint8Array.from(new Uint8Array(this.#state, TEXT_AT, length));
    this.#knobs = JSON.parse(new TextDecoder().decode(text)) as Knobs;
    this.#requests = 0;
    this.#sessions = 0;
  }

  count(name: keyof Counters, by = 1): void {
    const index = COUNTERS.indexOf(name);
    this.#values[index] = this.#values[index]! + by;
  }

  value(name: keyof Counters): number {
    return this.#values[COUNTERS.indexOf(name)]!;
  }

  claim(kernelName: string): Claim {
    const claims = this.#knobs.claims ?? {};
    return claims[kernelName] ?? claims['*'] ?? {};
  }

  lacks(kernelName: string): boolean {
    return this.#knobs.without?.includes(kernelName) ?? false;
  }

  get maxSessions(): number {
    return this.#knobs.maxSessions ?? Number.POSITIVE_INFINITY;
  }

  /** The errno that a session's opening is to fail with; 0 for none. */
  sessionFault(): number {
    const { failSessions } = this.#knobs;
    return failSessions !== undefined && this.#due(failSessions, this.#sessions++) ? failSessions.errno : 0;
  }

  /** What is to become of the next request. */
  requestFault(): { readonly errno: number; readonly corrupt: boolean; readonly vanish: boolean } {
    const { failRequests, corrupt, vanish, delayMicroseconds } = this.#knobs;
    if (delayMicroseconds) Atomics.wait(this.#sleep, 0, 0, delayMicroseconds / 1000);
    const index = this.#requests++;
    return {
      errno: failRequests !== undefined && this.#due(failRequests, index) ? failRequests.errno : 0,
      corrupt: corrupt !== undefined && this.#due(corrupt, index),
      vanish: vanish !== undefined && index >= (vanish.after ?? 0),
    };
  }

  #due({ after = 0, times = Number.POSITIVE_INFINITY }: Fault, index: number): boolean {
    const due = index >= after && index < after + times;
    if (due) this.count('faults');
    return due;
  }
}
