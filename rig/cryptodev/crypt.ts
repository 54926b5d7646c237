/**
 * CIOCCRYPT: ciphers and hashes, in the order of the module's checks.
 *
 * Two deviations where the module crashes its kernel: a null pointer is EFAULT, and so is a plain request to an AEAD's session (EINVAL).
 */
import { COP_DECRYPT, COP_ENCRYPT, CRYPT_OP, FLAG, PAGE_BYTES } from './abi.js';
import type { Caller } from './caller.js';
import type { CipherRun } from './cipher.js';
import { E, refuse } from './errno.js';
import type { Control } from './knobs.js';
import type { Piece } from './memory.js';
import type { Session } from './session.js';

/** What is read, worked on and written at once; a longer request goes on from there. A multiple of a page. */
const WINDOW_BYTES = 1 << 20;
const window = new Uint8Array(WINDOW_BYTES);

/** `op` is the crypt_op that was read from `argument`; it goes back there. */
export function crypt(
  session: Session,
  op: Buffer,
  argument: bigint,
  caller: Caller,
  control: Control,
  corrupt: boolean,
): void {
  const { cipher, hash } = session;
  const code = op.readUInt16LE(CRYPT_OP.op);
  let flags = op.readUInt16LE(CRYPT_OP.flags);
  const length = op.readUInt32LE(CRYPT_OP.len);
  const src = op.readBigUInt64LE(CRYPT_OP.src);
  const dst = op.readBigUInt64LE(CRYPT_OP.dst);
  const ivAt = op.readBigUInt64LE(CRYPT_OP.iv);

  const iv = new Uint8Array(ivAt === 0n ? 0 : (cipher?.algorithm.ivBytes ?? 0));
  const ivPiece: Piece = { at: ivAt, bytes: iv };
  const refuseAfterIv = (errno: number): never => refuse(caller.tryRead([ivPiece]) ? errno : E.EFAULT);

  if (code !== COP_ENCRYPT && code !== COP_DECRYPT) refuseAfterIv(E.EINVAL);
  if (hash && (flags === 0 || flags & FLAG.RESET)) hash.state.reset();
  if (cipher && length % cipher.algorithm.blockBytes !== 0) refuseAfterIv(E.EINVAL);
  if (cipher?.algorithm.aead && length > 0) refuseAfterIv(E.EINVAL);

  const mask = BigInt(session.alignmask);
  if (length > 0 && ((src | dst) & mask) !== 0n) flags |= FLAG.NO_ZC;
  op.writeUInt16LE(flags, CRYPT_OP.flags);
  const copied = (flags & FLAG.NO_ZC) !== 0;
  control.count('bytes', length);
  if (length > 0) control.count('driverCalls', copied ? Math.ceil(length / PAGE_BYTES) : 1);

  const encrypt = code === COP_ENCRYPT;
  // Without a cipher that has written there, what is to be hashed after decryption is what lies there.
  const from = !cipher && !encrypt && !copied ? dst : src;
  let run: CipherRun | undefined;
  let results: Piece[] = [];
  for (let at = 0; at < length || at === 0; at += WINDOW_BYTES) {
    const data = window.subarray(0, Math.min(WINDOW_BYTES, length - at));
    const first = at === 0;
    if (
      !caller.tryRead(first ? [ivPiece, { at: from, bytes: data }] : [{ at: from + BigInt(at), bytes: data }])
    ) {
      refuse(E.EFAULT);
    }
    if (first && iv.length > 0) session.iv = Uint8Array.from(iv);
    if (results.length > 0 && !caller.tryWrite(results)) refuse(E.EFAULT);
    results = [];
    if (length === 0) break;

    if (encrypt) hash?.state.update(data);
    if (cipher?.keyed) {
      let out: Uint8Array;
      if (copied) {
        out = new Uint8Array(data.length);
        for (let page = 0; page < data.length; page += PAGE_BYTES) {
          const call = cipher.keyed.start(encrypt, ivOf(session));
          out.set(call.update(data.subarray(page, page + PAGE_BYTES)), page);
          session.iv = call.end();
        }
      } else {
        run ??= cipher.keyed.start(encrypt, ivOf(session));
        out = run.update(data);
      }
      if (!encrypt) hash?.state.update(out);
      if (corrupt && first) out[out.length >> 1]! ^= 1;
      results = [{ at: dst + BigInt(at), bytes: out }];
    } else if (!encrypt) {
      hash?.state.update(data);
    }
  }
  if (run) session.iv = run.end();

  if (hash && (flags & FLAG.FINAL || !(flags & FLAG.UPDATE) || length === 0)) {
    const digest = Uint8Array.from(hash.state.final());
    if (corrupt) digest[0]! ^= 1;
    results.push({ at: op.readBigUInt64LE(CRYPT_OP.mac), bytes: digest });
  }
  if (iv.length > 0 && flags & FLAG.WRITE_IV) {
    results.push({ at: ivAt, bytes: Uint8Array.from(ivOf(session)) });
  }
  results.push({ at: argument, bytes: op });
  if (!caller.tryWrite(results)) refuse(E.EFAULT);
}

function ivOf({ iv, cipher }: Session): Uint8Array {
  return iv.subarray(0, cipher!.algorithm.ivBytes);
}
