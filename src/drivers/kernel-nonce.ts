/** Nonces of AEADs as the kernel's crypto API takes them, through whichever interface. */
import type { AeadAlgorithm } from '../algorithms.js';
import type { Reason } from '../errors.js';
import { lengthOf } from './buffers.js';

/** Bytes of IV that the kernel takes: what is sent, not the caller's nonce. */
export function kernelIvBytes(algorithm: AeadAlgorithm): number {
  return algorithm.mode === 'ccm' ? 16 : 12;
}

/** Why the kernel does not take this nonce; undefined where it does. */
export function nonceProblem(algorithm: AeadAlgorithm, ivBytes: number): Reason | undefined {
  if (algorithm.mode === 'ccm' || ivBytes === 12) return undefined;
  return {
    code: 'ALGORITHM_NOT_OFFERED',
    message: `the kernel’s ${algorithm.names.kernel} takes nonces of 12 bytes only, not of ${ivBytes}`,
    cure: 'use the libcrypto driver, or a nonce of 12 bytes',
  };
}

/** Writes `kernelIvBytes` from the caller's nonce. */
export function putNonce(algorithm: AeadAlgorithm, nonce: Uint8Array, to: Uint8Array, at: number): void {
  if (algorithm.mode !== 'ccm') {
    to.set(nonce, at);
    return;
  }
  // RFC 3610: L - 1, the nonce, and a counter that starts at zero.
  const bytes = lengthOf(nonce);
  to[at] = 14 - bytes;
  to.fill(0, at + 1 + bytes, at + 16);
  to.set(nonce, at + 1);
}
