/**
 * Node's own deprecation warnings. What Node warns of differs from version to version, so Node is made to do the same
 * thing itself, the first time in the process, and says what it has to say.
 */
import { createDecipheriv, createHash, Hash, Hmac } from 'node:crypto';

const told = new Set<string>();

function once(what: string, action: () => unknown): void {
  if (told.has(what)) return;
  told.add(what);
  try {
    action();
  } catch {
    // A Node that refuses it altogether has nothing to warn of.
  }
}

/** DEP0198: SHAKE without a length (only told with --pending-deprecation before Node 25). */
export function xofWithoutLength(): void {
  once('DEP0198', () => createHash('shake128'));
}

/** DEP0182: a GCM tag shorter than 16 bytes where no length was named. */
export function shortGcmTag(): void {
  once('DEP0182', () => {
    const decipher = createDecipheriv('aes-128-gcm', new Uint8Array(16), new Uint8Array(12));
    decipher.setAuthTag(new Uint8Array(12));
  });
}

/** DEP0179, DEP0181: Hash and Hmac called directly. */
export function classCalled(name: 'Hash' | 'Hmac'): void {
  const Class = (name === 'Hash' ? Hash : Hmac) as unknown as (algorithm: string, key?: string) => unknown;
  once(name, () => Class('sha256', ''));
}
