/** Names and labels in words. Room `report`. */

import type { LeftOutReason, Series, Subject, SubjectComparison } from '../../bench/comparison/index.js';
import type { Basis, Operation, Status } from '../../bench/model.js';
import { fullHeading } from '../comparison/layout.js';
import { type Html, html, shorten } from './markup.js';

/** Text from outside: never longer than is readable, and its direction of writing is its own. */
export function say(text: string, most = 80): Html {
  return html`<bdi>${shorten(text, most)}</bdi>`;
}

const OPERATIONS: Readonly<Record<Operation, string>> = {
  encrypt: 'encryption',
  decrypt: 'decryption',
  digest: 'digest',
  mac: 'MAC',
  random: 'random bytes',
  'cipher+mac': 'encryption and MAC in one request',
};

export function operationWords(operation: Operation | undefined): string {
  return operation === undefined ? '' : OPERATIONS[operation];
}

/** `aes-128-cbc`, or as printed where the table of algorithms does not have it. */
export function algorithmName({ algorithm, algorithmText, keyBits }: Subject): string {
  if (algorithm !== undefined) return algorithm;
  const bits = keyBits === undefined || algorithmText.includes(String(keyBits)) ? '' : ` ${keyBits}`;
  return `${algorithmText.trim() || 'unnamed'}${bits}`;
}

/** `aes-128-cbc, encryption`. */
export function heading(comparison: SubjectComparison): string {
  return shorten(fullHeading(comparison), 80);
}

/** Who did the work, as far as the label does not say it already. */
export function implementationWords({
  label,
  driver,
  kernelDriver,
  engine,
  driverHint,
  cpu,
  parallel,
}: Series): string {
  const parts = [
    driver,
    kernelDriver,
    engine === undefined || engine === driver ? undefined : `engine ${engine}`,
    driverHint,
    cpu === undefined ? undefined : `on ${cpu}`,
    parallel === undefined ? undefined : `${parallel} at once`,
  ];
  return parts.filter((part) => part !== undefined && part !== label).join(', ');
}

export const BASIS_WORDS: Readonly<Record<Basis, string>> = {
  elapsed: 'elapsed time',
  cpu: 'CPU time',
  unknown: 'not said',
};

export const LEFT_OUT_WORDS: Readonly<Record<LeftOutReason, string>> = {
  FAILED: 'failed',
  UNAVAILABLE: 'not available',
  NO_ELAPSED_FIGURE: 'no figure by elapsed time',
  SIZE_UNKNOWN: 'request size not known',
  NO_FIGURE: 'no figure',
};

export const STATUS_WORDS: Readonly<Record<Status, string>> = {
  ok: '',
  failed: 'failed',
  unavailable: 'not available',
};
