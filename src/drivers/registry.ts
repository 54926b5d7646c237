/**
 * The drivers that exist, by name, and the notation `driver[:kernelDriver]` that pins one. The only file that knows
 * them all; everything above asks here.
 */
import { nodeTypeError } from '../errors.js';
import { afalg } from './afalg/index.js';
import { cryptodev } from './cryptodev/index.js';
import type { CipherOptions, Driver, DriverName } from './driver.js';
import { gcrypt } from './gcrypt/index.js';
import { libcrypto } from './libcrypto/index.js';
import { nettle } from './nettle/index.js';
import { node } from './node/index.js';

/**
 * In the order in which they are tried when nobody says otherwise: software first, since it never loses badly, and of that what Node
 * brings with it. What OpenSSL lacks (serpent, twofish …) the system's libgcrypt does where it is installed, or else its libnettle,
 * since a library call costs a fraction of the two system calls that the kernel takes for a request. libgcrypt comes first: its code
 * for these ciphers takes several blocks at once. The kernel comes last: AF_ALG before /dev/crypto,
 * since it has all that the other has and more, binds a kernel driver by name, and is part of Linux. Which of the two is the faster,
 * or reaches an engine at all (/dev/crypto alone does on Linux 7.2 and later), is not for an order to say.
 */
const DRIVERS: readonly Driver[] = [libcrypto, node, gcrypt, nettle, afalg, cryptodev];

/** A driver and, where one was pinned, the kernel driver to bind: what `afalg:virtio_crypto_aes_cbc` says. */
export interface DriverChoice {
  readonly driver: Driver;
  readonly kernelDriver?: string;
}

/** A choice in one word, as `--driver` takes it; the inverse of `parseDriver`. */
export const labelOf = ({ driver, kernelDriver }: DriverChoice): string =>
  kernelDriver === undefined ? driver.name : `${driver.name}:${kernelDriver}`;

/** Options for the driver's own methods. */
export const optionsOf = ({ kernelDriver }: { readonly kernelDriver?: string | undefined }): CipherOptions =>
  kernelDriver === undefined ? {} : { kernelDriver };

export function allDrivers(): readonly Driver[] {
  return DRIVERS;
}

/** Those of them that call no kernel, in the same order: what they do is surely done by the CPU, so they may vouch for the others. */
export function libraryDrivers(): readonly Driver[] {
  return DRIVERS.filter(({ name }) => name !== 'afalg' && name !== 'cryptodev');
}

export function driverNames(): DriverName[] {
  return DRIVERS.map((driver) => driver.name);
}

/** @throws TypeError ERR_INVALID_ARG_VALUE for a name that no driver has. */
export function getDriver(name: string): Driver {
  const driver = DRIVERS.find((candidate) => candidate.name === name);
  if (!driver) {
    throw nodeTypeError(
      'ERR_INVALID_ARG_VALUE',
      `The argument 'driver' is invalid: there is no driver "${name}". Known: ${driverNames().join(', ')}`,
    );
  }
  return driver;
}

/** Reads `name` or `name:kernelDriver`. Kernel driver names contain colons and brackets: only the first colon counts. */
export function parseDriver(spec: string): DriverChoice {
  const colon = spec.indexOf(':');
  if (colon < 0) return { driver: getDriver(spec) };
  const kernelDriver = spec.slice(colon + 1);
  return kernelDriver === ''
    ? { driver: getDriver(spec.slice(0, colon)) }
    : { driver: getDriver(spec.slice(0, colon)), kernelDriver };
}
