/**
 * Room `routing`: which driver gets a request. May import `bench` (only who calibrates does, since nobody else shall pay for
 * loading it), `drivers`, `linux`, `algorithms`, `schema`, `errors`.
 *
 * This file: an order of drivers, tried from the front, once an algorithm. Whoever is passed over is remembered with the
 * typed reason, and a fallback is announced: on the diagnostics channel `hwcrypt:fallback`, to the instance's own
 * listener, or else as a process warning. Never silent.
 *
 * A fallback leads away from what somebody asked for. Where drivers were named, that is every driver passed over. In the
 * default order nobody asked for any: there it is a driver that cannot be used here at all or fails, and not one that
 * simply does not have the algorithm (OpenSSL has no Serpent) or whose library is not installed, which nobody promised.
 */
import { channel } from 'node:diagnostics_channel';

import type { Algorithm } from '../algorithms.js';
import type { Driver, DriverName } from '../drivers/driver.js';
import { allDrivers, type DriverChoice, parseDriver } from '../drivers/registry.js';
import { describeReason, HwcryptError, type Reason, type ReasonCode, UnavailableError } from '../errors.js';

/** A driver that stood earlier in the order, and why it did not get the work. */
export interface PassedOver {
  /** As it was asked for: `afalg`, `afalg:virtio_crypto_aes_cbc`. */
  readonly driver: string;
  readonly reason: Reason;
}

/** Who does an algorithm's work. */
export interface Route {
  readonly driver: Driver;
  readonly kernelDriver?: string;
  /** `driver` and `kernelDriver` in one word, as `--driver` takes it. */
  readonly label: string;
  /** Options for the driver's session methods. */
  readonly options: { readonly kernelDriver?: string };
  readonly passedOver: readonly PassedOver[];
}

/** What is published on `hwcrypt:fallback`. */
export interface Fallback {
  readonly algorithm: string;
  /** The driver that does the work instead. */
  readonly driver: string;
  readonly passedOver: readonly PassedOver[];
  /** All of it in one line for people. */
  readonly message: string;
}

const FALLBACK = channel('hwcrypt:fallback');

/** The driver works and does not have the algorithm, or its library was never installed. */
const NOT_HAD: ReadonlySet<ReasonCode> = new Set([
  'ALGORITHM_UNKNOWN',
  'ALGORITHM_NOT_BUILT',
  'ALGORITHM_NOT_OFFERED',
  'LIBRARY_ABSENT',
]);

/** Shortages pass: what was decided because of one is decided anew at the next call. */
const PASSING: ReadonlySet<ReasonCode> = new Set([
  'OUT_OF_MEMORY',
  'TOO_MANY_FILES',
  'KEY_BUSY',
  'TIMED_OUT',
  'SYSTEM_ERROR',
]);

/** Errors that mean: this driver cannot do this one request, though it has the algorithm. Nothing was done yet. */
const REFUSALS: ReadonlySet<string> = new Set(['ALGORITHM_UNAVAILABLE', 'MESSAGE_TOO_LARGE']);

/** May a decision be kept, or did a driver lose it to something that passes? */
export function lasting(route: Route): boolean {
  return !route.passedOver.some(({ reason }) => PASSING.has(reason.code));
}

/** One line: who was passed over and why, and who does the work. */
export function describeFallback(algorithm: Algorithm, route: Route): string {
  return `${algorithm.name} is done by ${route.label}, since ${causes(route.passedOver)}`;
}

/** A listener's own error is not the answer to whoever wanted something encrypted. */
function tell(listener: (fallback: Fallback) => void, fallback: Fallback): void {
  try {
    listener(fallback);
  } catch (error) {
    process.nextTick(() => {
      throw error;
    });
  }
}

const MAX_ANNOUNCED = 1000;

const labelOf = ({ driver, kernelDriver }: DriverChoice): string =>
  kernelDriver === undefined ? driver.name : `${driver.name}:${kernelDriver}`;

/** Each driver's reason, once. */
function causes(passedOver: readonly PassedOver[]): string {
  return passedOver.map(({ driver, reason }) => `${driver}: ${describeReason(reason)}`).join('; ');
}

export interface RouterOptions {
  /** Drivers in the order in which they are tried, `name` or `name:kernelDriver`. Default: all, libcrypto first. */
  readonly drivers?: string | readonly string[];
  /** Hears of each fallback, once an algorithm. Without it, and without a channel subscriber, a process warning tells. */
  readonly onFallback?: (fallback: Fallback) => void;
}

export class Router {
  readonly order: readonly DriverChoice[];
  readonly #onFallback: ((fallback: Fallback) => void) | undefined;
  /** Did somebody name the drivers? */
  readonly #asked: boolean;
  /** Keyed by the entry itself: names of the table are unique, but ad hoc entries may repeat. */
  #routes = new Map<Algorithm, Route>();
  /** Who lost what and why, as far as it was told: once is enough. */
  readonly #announced = new Set<string>();

  constructor(options: RouterOptions = {}) {
    const { drivers } = options;
    this.#onFallback = options.onFallback;
    this.#asked = drivers !== undefined;
    const specs = drivers === undefined ? allDrivers().map(({ name }) => name as string) : [drivers].flat();
    if (specs.length === 0) throw new HwcryptError('NO_DRIVER', 'the list of drivers is empty');
    this.order = specs.map(parseDriver);
  }

  /** @throws UnavailableError where no driver of the order can do it; its reason is that of the first. */
  route(algorithm: Algorithm): Route {
    const known = this.#routes.get(algorithm);
    if (known) return known;
    const passedOver: PassedOver[] = [];
    const route = this.#search(algorithm, 0, passedOver);
    if (route) {
      if (lasting(route)) this.#routes.set(algorithm, route);
      if (passedOver.some(({ reason }) => this.#asked || !NOT_HAD.has(reason.code))) {
        this.#announce(algorithm, route);
      }
      return route;
    }
    const first = passedOver[0]!;
    if (passedOver.length === 1) {
      const name = first.driver.split(':', 1)[0] as DriverName;
      throw new UnavailableError(
        'ALGORITHM_UNAVAILABLE',
        name,
        `${first.driver}: ${algorithm.name}`,
        first.reason,
      );
    }
    throw new UnavailableError(
      'NO_DRIVER',
      first.driver,
      `no driver can do ${algorithm.name}`,
      first.reason,
      causes(passedOver),
    );
  }

  /**
   * Who does a request instead of `failed`, which refused it with `error` before it began: a nonce, a tag or a length that it
   * does not take. Undefined where the error says something else, or nobody is left; the error is then the answer.
   */
  instead(algorithm: Algorithm, failed: Route, error: unknown): Route | undefined {
    if (!(error instanceof HwcryptError) || !REFUSALS.has(error.code)) return undefined;
    const at = this.order.findIndex((choice) => labelOf(choice) === failed.label);
    const reason = error.reason ?? { code: 'MESSAGE_TOO_LARGE', message: error.message };
    const passedOver = [...failed.passedOver, { driver: failed.label, reason }];
    const route = this.#search(algorithm, at + 1, passedOver);
    if (route) this.#announce(algorithm, route);
    return route;
  }

  /** The first from `from` on that can, with those before it added to `passedOver`. */
  #search(algorithm: Algorithm, from: number, passedOver: PassedOver[]): Route | undefined {
    for (const choice of this.order.slice(from)) {
      const { driver, kernelDriver } = choice;
      const label = labelOf(choice);
      const options = kernelDriver === undefined ? {} : { kernelDriver };
      const probe = driver.probe();
      const support = probe.available
        ? driver.supports(algorithm, options)
        : { supported: false as const, reason: probe.reason };
      if (support.supported) return { driver, ...options, label, options, passedOver };
      passedOver.push({ driver: label, reason: support.reason });
    }
    return undefined;
  }

  /** Forgets every decision, and looks at the drivers anew. */
  reset(): void {
    this.#routes = new Map();
    this.#announced.clear();
    for (const { driver } of this.order) driver.reprobe();
  }

  #announce(algorithm: Algorithm, route: Route): void {
    const what = [
      algorithm.name,
      route.label,
      ...route.passedOver.map((one) => one.driver + one.reason.code),
    ];
    const id = what.join(' ');
    if (this.#announced.has(id)) return;
    if (this.#announced.size < MAX_ANNOUNCED) this.#announced.add(id);
    const message = describeFallback(algorithm, route);
    const fallback: Fallback = {
      algorithm: algorithm.name,
      driver: route.label,
      passedOver: route.passedOver,
      message,
    };
    FALLBACK.publish(fallback);
    if (this.#onFallback) tell(this.#onFallback, fallback);
    else if (!FALLBACK.hasSubscribers) {
      process.emitWarning(message, { type: 'HwcryptFallback', code: 'HWCRYPT_FALLBACK' });
    }
  }
}
