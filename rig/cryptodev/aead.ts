/** AES-GCM and AES-CCM as the kernel's generic drivers run them: a bad tag is found after the text has been written. */
import { createCipheriv, createDecipheriv } from 'node:crypto';

import { advanced } from './cipher.js';
import { E, refuse } from './errno.js';

export interface AeadRequest {
  readonly mode: 'gcm' | 'ccm';
  readonly key: Uint8Array;
  /** GCM: 12 bytes. CCM: 16, of which the first says how many the counter has, less one. */
  readonly iv: Uint8Array;
  readonly aad: Uint8Array;
  readonly tagBytes: number;
}

/** The text's ciphertext and its tag. */
export function seal({ mode, key, iv, aad, tagBytes }: AeadRequest, text: Uint8Array): Uint8Array {
  const nonce = mode === 'gcm' ? iv : ccmNonce(iv, text.length);
  const cipher = createCipheriv(name(mode, key), key, nonce, { authTagLength: tagBytes });
  cipher.setAAD(aad, { plaintextLength: text.length });
  return Buffer.concat([cipher.update(text), cipher.final(), cipher.getAuthTag()]);
}

/** What `seal` gave, and whether its tag is right. The text comes either way. */
export function open(
  { mode, key, iv, aad, tagBytes }: AeadRequest,
  sealed: Uint8Array,
): { readonly text: Uint8Array; readonly genuine: boolean } {
  const body = sealed.subarray(0, sealed.length - tagBytes);
  const nonce = mode === 'gcm' ? iv : ccmNonce(iv, body.length);
  const decipher = createDecipheriv(name(mode, key), key, nonce, { authTagLength: tagBytes });
  decipher.setAuthTag(sealed.subarray(body.length));
  decipher.setAAD(aad, { plaintextLength: body.length });
  try {
    const text = decipher.update(body);
    decipher.final();
    return { text, genuine: true };
  } catch {
    const bits = key.length * 8;
    // The counter that the text begins with: GCM's is 2, CCM's 1.
    const first = mode === 'gcm' ? Buffer.concat([iv, Uint8Array.of(0, 0, 0, 2)]) : advanced(ccmStart(iv), 1);
    return { text: createDecipheriv(`aes-${bits}-ctr`, key, first).update(body), genuine: false };
  }
}

/** What a request that went well leaves of the IV: CCM counts in it, and when it opens in a copy. */
export function ivAfter({ mode, iv }: AeadRequest, encrypt: boolean, textBytes: number): Uint8Array {
  if (mode === 'gcm') return iv;
  return encrypt ? advanced(ccmStart(iv), 1 + Math.ceil(textBytes / 16)) : ccmStart(iv);
}

function name(mode: 'gcm' | 'ccm', key: Uint8Array): 'aes-128-gcm' {
  return `aes-${key.length * 8}-${mode}` as 'aes-128-gcm';
}

function ccmNonce(iv: Uint8Array, textBytes: number): Uint8Array {
  const counterBytes = iv[0]! + 1;
  if (counterBytes < 2 || counterBytes > 8) refuse(E.EINVAL);
  if (counterBytes < 4 && textBytes >= 2 ** (8 * counterBytes)) refuse(E.EOVERFLOW);
  return iv.subarray(1, 16 - counterBytes);
}

function ccmStart(iv: Uint8Array): Uint8Array {
  return Uint8Array.from(iv).fill(0, 15 - iv[0]!);
}
