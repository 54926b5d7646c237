/** Sessions: what CIOCGSESSION makes, checked as the module and the kernel's algorithms check it, in their order. */

import { MAX_CIPHER_KEY_BYTES, MAX_MAC_KEY_BYTES, SESSION_OP } from './abi.js';
import { CIPHERS, type CipherAlgorithm, HASHES } from './algorithms.js';
import type { Caller } from './caller.js';
import { type KeyedCipher, keyedCipher } from './cipher.js';
import { E, refuse } from './errno.js';
import { HashState } from './hash.js';
import type { Claim, Control } from './knobs.js';

export interface SessionCipher {
  readonly algorithm: CipherAlgorithm;
  readonly claim: Claim;
  /** Absent for AEADs, whose key is used as it is. */
  readonly keyed?: KeyedCipher;
  readonly key: Uint8Array;
}

export interface SessionHash {
  readonly state: HashState;
  readonly claim: Claim;
}

export interface Session {
  readonly cipher?: SessionCipher;
  readonly hash?: SessionHash;
  readonly alignmask: number;
  /** Stays from request to request: one that brings no IV goes on with it. */
  iv: Uint8Array;
  /** Of an AEAD. A shorter one stays, too, and a longer one is refused ever after. */
  tagBytes: number;
}

/** The header that the kernel's authenc() keys have: rtattr, then the length of the cipher's key. */
const AUTHENC_HEADER_BYTES = 8;
const AUTHENC_KEYA_PARAM = 1;
const LONGEST_IV_BYTES = 16;
const AEAD_TAG_BYTES = 16;

/** From a session_op; throws a `Refusal`. */
export function makeSession(op: Buffer, caller: Caller, control: Control): Session {
  const cipherId = op.readUInt32LE(SESSION_OP.cipher);
  const macId = op.readUInt32LE(SESSION_OP.mac);
  if (cipherId === 0 && macId === 0) refuse(E.EINVAL);
  const algorithm = CIPHERS.get(cipherId);
  if (cipherId !== 0 && algorithm === undefined) refuse(E.EINVAL);
  const mac = HASHES.get(macId);
  if (macId !== 0 && mac === undefined) refuse(E.EINVAL);

  const cipher = algorithm && makeCipher(algorithm, op, caller, control);
  let hash: SessionHash | undefined;
  // With an AEAD the other algorithm is not looked at.
  if (mac !== undefined && !algorithm?.aead) {
    const key = macKey(op, caller);
    if (control.lacks(mac.kernelName)) refuse(E.EINVAL);
    hash = { state: new HashState(mac, key), claim: control.claim(mac.kernelName) };
  }
  return {
    ...(cipher && { cipher }),
    ...(hash && { hash }),
    alignmask: Math.max(
      cipher ? (cipher.claim.alignmask ?? cipher.algorithm.alignmask ?? 0) : 0,
      hash?.claim.alignmask ?? 0,
    ),
    iv: new Uint8Array(LONGEST_IV_BYTES),
    tagBytes: AEAD_TAG_BYTES,
  };
}

function makeCipher(algorithm: CipherAlgorithm, op: Buffer, caller: Caller, control: Control): SessionCipher {
  const keyBytes = op.readUInt32LE(SESSION_OP.keylen);
  if (keyBytes > MAX_CIPHER_KEY_BYTES) refuse(E.EINVAL);
  const header = algorithm.aead ? authencHeader(op, keyBytes, caller) : new Uint8Array(0);
  const own = caller.read(op.readBigUInt64LE(SESSION_OP.key), keyBytes);
  const key = header.length > 0 ? Buffer.concat([header, own]) : own;
  if (control.lacks(algorithm.kernelName) || !algorithm.keyBytes(key.length)) refuse(E.EINVAL);
  return {
    algorithm,
    claim: control.claim(algorithm.kernelName),
    key,
    ...(algorithm.aead ? {} : { keyed: keyedCipher(algorithm, key) }),
  };
}

/** A MAC key beside an AEAD's makes the module build a key for authenc(), which AES-GCM and -CCM then take by its length alone. */
function authencHeader(op: Buffer, keyBytes: number, caller: Caller): Uint8Array {
  const macKeyBytes = op.readUInt32LE(SESSION_OP.mackeylen);
  if (macKeyBytes === 0) return new Uint8Array(0);
  if (macKeyBytes > MAX_MAC_KEY_BYTES) refuse(E.EINVAL);
  const header = Buffer.alloc(AUTHENC_HEADER_BYTES);
  header.writeUInt16LE(AUTHENC_HEADER_BYTES, 0);
  header.writeUInt16LE(AUTHENC_KEYA_PARAM, 2);
  header.writeUInt32BE(keyBytes, 4);
  return Buffer.concat([header, caller.read(op.readBigUInt64LE(SESSION_OP.mackey), macKeyBytes)]);
}

function macKey(op: Buffer, caller: Caller): Uint8Array {
  const bytes = op.readUInt32LE(SESSION_OP.mackeylen);
  if (bytes > MAX_MAC_KEY_BYTES) refuse(E.EINVAL);
  const at = op.readBigUInt64LE(SESSION_OP.mackey);
  // Without a pointer the module takes what happens to be on its stack.
  return at === 0n ? crypto.getRandomValues(new Uint8Array(bytes)) : caller.read(at, bytes);
}
