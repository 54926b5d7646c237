/**
 * CIOCAUTHCRYPT: AEADs, and a cipher and a MAC in the order of TLS or of SRTP, in the order of the module's checks.
 *
 * Where the module reads or writes beyond what it was given, and its kernel crashes, the answer here is EFAULT: null pointers with a
 * length, a tag length that the AEAD does not have, an SRTP text that ends behind what is authenticated.
 */
import { COP_DECRYPT, COP_ENCRYPT, CRYPT_AUTH_OP, FLAG, MAX_DIGEST_BYTES, PAGE_BYTES } from './abi.js';
import { type AeadRequest, ivAfter, open, seal } from './aead.js';
import type { Caller } from './caller.js';
import { E, refuse } from './errno.js';
import type { Control } from './knobs.js';
import type { Piece } from './memory.js';
import type { Session } from './session.js';

/** The module pins what it is given; here it is copied, so there is an end: ENOMEM. */
const MAX_BYTES = 64 << 20;
const MAX_SRTP_HEADER_BYTES = 256;
const TAG_LENGTHS = { gcm: [4, 8, 12, 13, 14, 15, 16], ccm: [4, 6, 8, 10, 12, 14, 16] } as const;

interface Request {
  readonly session: Session;
  readonly caller: Caller;
  readonly encrypt: boolean;
  readonly length: number;
  readonly authLength: number;
  readonly authSrc: bigint;
  readonly src: bigint;
  readonly dst: bigint;
  readonly tag: bigint;
  readonly tagBytes: number;
  /** How much of `dst` the module wants to be there. */
  readonly room: number;
  readonly corrupt: boolean;
}

interface Outcome {
  readonly writes: readonly Piece[];
  /** The length that the caller is told. */
  readonly length: number;
  /** Where an AEAD put its tag. */
  readonly tag?: bigint;
  /** The text has been written, and is not to be trusted. */
  readonly forged?: boolean;
  /** What a write that fails is told as. */
  readonly unwritable: number;
}

/** `op` is the crypt_auth_op that was read from `argument`; it goes back there. */
export function authCrypt(
  session: Session,
  op: Buffer,
  argument: bigint,
  caller: Caller,
  control: Control,
  corrupt: boolean,
): void {
  const { cipher, hash } = session;
  const flags = op.readUInt16LE(CRYPT_AUTH_OP.flags);
  const code = op.readUInt16LE(CRYPT_AUTH_OP.op);
  const src = op.readBigUInt64LE(CRYPT_AUTH_OP.src);
  const dst = op.readBigUInt64LE(CRYPT_AUTH_OP.dst);
  if (flags & (FLAG.AEAD_TLS | FLAG.AEAD_SRTP) && src !== dst) refuse(E.EINVAL);

  const length = op.readUInt32LE(CRYPT_AUTH_OP.len);
  const tagBytes =
    op.readUInt32LE(CRYPT_AUTH_OP.tagLen) ||
    (hash?.state.algorithm.digestBytes ?? (cipher?.algorithm.aead ? session.tagBytes : 0));
  const ivAt = op.readBigUInt64LE(CRYPT_AUTH_OP.iv);
  const iv = caller.read(ivAt, ivAt === 0n ? 0 : (cipher?.algorithm.ivBytes ?? 0));
  if ((code !== COP_ENCRYPT && code !== COP_DECRYPT) || !cipher) refuse(E.EINVAL);
  hash?.state.reset();
  if (iv.length > 0) session.iv = iv;
  if (length > MAX_BYTES) refuse(E.ENOMEM);

  const request: Request = {
    session,
    caller,
    encrypt: code === COP_ENCRYPT,
    length,
    authLength: op.readUInt32LE(CRYPT_AUTH_OP.authLen),
    authSrc: op.readBigUInt64LE(CRYPT_AUTH_OP.authSrc),
    src,
    dst,
    tag: op.readBigUInt64LE(CRYPT_AUTH_OP.tag),
    tagBytes,
    room: room(code, flags, length, tagBytes, cipher.algorithm.blockBytes),
    corrupt,
  };
  const outcome = answer(request, flags);
  control.count('bytes', length);
  control.count('driverCalls');
  if (!caller.tryWrite(outcome.writes)) refuse(outcome.unwritable);
  if (outcome.forged) refuse(E.EBADMSG);

  op.writeUInt32LE(outcome.length, CRYPT_AUTH_OP.len);
  op.writeUInt32LE(tagBytes, CRYPT_AUTH_OP.tagLen);
  if (outcome.tag !== undefined) op.writeBigUInt64LE(outcome.tag, CRYPT_AUTH_OP.tag);
  const results: Piece[] = [];
  if (iv.length > 0 && flags & FLAG.WRITE_IV) {
    results.push({ at: ivAt, bytes: Uint8Array.from(session.iv.subarray(0, iv.length)) });
  }
  results.push({ at: argument, bytes: op });
  if (!caller.tryWrite(results)) refuse(E.EFAULT);
}

function room(code: number, flags: number, length: number, tagBytes: number, blockBytes: number): number {
  if (code === COP_DECRYPT) return length;
  const sealed = length + tagBytes;
  return flags & FLAG.AEAD_TLS ? sealed + blockBytes - (sealed % blockBytes) : sealed;
}

function answer(request: Request, flags: number): Outcome {
  const { algorithm } = request.session.cipher!;
  if (flags & FLAG.AEAD_SRTP) {
    if (!algorithm.stream || algorithm.aead) refuse(E.EINVAL);
    return srtp(request);
  }
  if (algorithm.aead) return aead(request);
  if (flags & FLAG.AEAD_TLS) return tls(request);
  return refuse(E.EINVAL);
}

function aead(request: Request): Outcome {
  const { session, caller, encrypt, length, authLength, src, dst, tagBytes, corrupt } = request;
  const { algorithm, key } = session.cipher!;
  const mode = algorithm.mode as 'gcm' | 'ccm';
  if (authLength > PAGE_BYTES) refuse(E.EINVAL);
  const text = new Uint8Array(length);
  // The module pins all pages before it does anything.
  if (length > 0 && src === 0n) refuse(E.EFAULT);
  if (!caller.tryRead([{ at: src, bytes: text }])) refuse(E.EINVAL);
  const aad = authData(request);
  if (tagBytes > session.tagBytes) refuse(E.EINVAL);
  if (!(TAG_LENGTHS[mode] as readonly number[]).includes(tagBytes)) refuse(E.EFAULT);
  session.tagBytes = tagBytes;
  if (!encrypt && length < tagBytes) refuse(E.EINVAL);

  const task: AeadRequest = { mode, key, iv: session.iv.subarray(0, algorithm.ivBytes), aad, tagBytes };
  const unwritable = E.EINVAL;
  if (encrypt) {
    const sealed = seal(task, text);
    session.iv = ivAfter(task, true, length);
    if (corrupt) sealed[0]! ^= 1;
    return {
      writes: [{ at: dst, bytes: sealed }],
      length: sealed.length,
      tag: dst + BigInt(length),
      unwritable,
    };
  }
  const opened = open(task, text);
  session.iv = ivAfter(task, false, length - tagBytes);
  const out = Uint8Array.from(opened.text);
  if (corrupt && out.length > 0) out[0]! ^= 1;
  return {
    writes: [{ at: dst, bytes: out }],
    length: length - tagBytes,
    tag: dst + BigInt(length - tagBytes),
    forged: !opened.genuine,
    unwritable,
  };
}

/** MAC of the header and the text, padding, then the cipher over all of it. */
function tls(request: Request): Outcome {
  const { session, caller, encrypt, length, authLength, dst, tagBytes, corrupt } = request;
  const { algorithm } = session.cipher!;
  const state = session.hash?.state;
  if (authLength > PAGE_BYTES) refuse(E.EINVAL);
  const auth = authData(request);
  if (dst === 0n || request.room === 0) refuse(E.EINVAL);
  const record = new Uint8Array(request.room);
  if (!caller.tryRead([{ at: dst, bytes: record }])) refuse(E.EINVAL);
  const digest = (text: Uint8Array): Uint8Array => {
    state!.update(auth);
    state!.update(text);
    return state!.final();
  };
  const unwritable = E.EINVAL;

  if (encrypt) {
    if (tagBytes > MAX_DIGEST_BYTES) refuse(E.EFAULT);
    let end = length;
    if (state) {
      const mac = digest(record.subarray(0, length));
      record.set(mac.subarray(0, tagBytes), length);
      end += tagBytes;
    }
    if (algorithm.blockBytes > 1) {
      const padding = algorithm.blockBytes - (end % algorithm.blockBytes);
      record.fill(padding - 1, end, end + padding);
      end += padding;
    }
    const out = runCipher(session, true, record.subarray(0, end));
    if (corrupt) out[0]! ^= 1;
    return { writes: [{ at: dst, bytes: out }], length: end, unwritable };
  }

  if (length % algorithm.blockBytes !== 0) refuse(E.EINVAL);
  const text = runCipher(session, false, record.subarray(0, length));
  if (corrupt) text[0]! ^= 1;
  const writes = [{ at: dst, bytes: text }];
  let end = length;
  let forged = false;
  if (algorithm.blockBytes > 1) {
    const padding = text[length - 1]!;
    const whole =
      padding + 1 <= length &&
      text.subarray(length - 1 - padding, length - 1).every((byte) => byte === padding);
    if (whole) end -= padding + 1;
    else forged = true;
  }
  if (!state) return { writes, length: end, unwritable };
  if (tagBytes > MAX_DIGEST_BYTES || tagBytes > end) {
    caller.tryWrite(writes);
    refuse(E.EINVAL);
  }
  const mac = text.slice(end - tagBytes, end);
  end -= tagBytes;
  const computed = digest(text.subarray(0, end));
  return {
    writes,
    length: end,
    unwritable,
    forged: forged || !Buffer.from(mac).equals(computed.subarray(0, tagBytes)),
  };
}

/** The cipher over the text, then the MAC over a header and the encrypted text; in place. */
function srtp(request: Request): Outcome {
  const { session, caller, encrypt, length, authLength, authSrc, dst, tag, tagBytes, corrupt } = request;
  const state = session.hash?.state;
  if ((dst === 0n && authSrc === 0n) || request.room === 0 || authLength === 0) refuse(E.EINVAL);
  const header = Number(BigInt.asIntN(32, dst - authSrc));
  if (header > MAX_SRTP_HEADER_BYTES || header < 0 || header >= authLength) refuse(E.EINVAL);
  if (authLength > MAX_BYTES) refuse(E.ENOMEM);
  const packet = new Uint8Array(authLength);
  if (!caller.tryRead([{ at: authSrc, bytes: packet }])) refuse(E.EINVAL);
  if (header + length > authLength) refuse(E.EFAULT);
  const text = packet.subarray(header, header + length);
  const unwritable = E.EINVAL;

  if (encrypt) {
    const out = runCipher(session, true, text);
    if (corrupt && out.length > 0) out[0]! ^= 1;
    text.set(out);
    const writes: Piece[] = [{ at: dst, bytes: out }];
    if (!state) return { writes, length, unwritable };
    state.update(packet);
    const mac = Uint8Array.from(state.final());
    if (tagBytes > MAX_DIGEST_BYTES) refuse(E.EFAULT);
    if (!caller.tryWrite(writes)) refuse(unwritable);
    return { writes: [{ at: tag, bytes: mac.subarray(0, tagBytes) }], length, unwritable: E.EFAULT };
  }

  if (state) {
    if (tagBytes > MAX_DIGEST_BYTES || tagBytes > length) refuse(E.EINVAL);
    const mac = Buffer.from(caller.read(tag, tagBytes));
    state.update(packet);
    if (!mac.equals(state.final().subarray(0, tagBytes))) refuse(E.EBADMSG);
  }
  const out = runCipher(session, false, text);
  if (corrupt && out.length > 0) out[0]! ^= 1;
  return { writes: [{ at: dst, bytes: out }], length, unwritable };
}

function runCipher(session: Session, encrypt: boolean, data: Uint8Array): Uint8Array {
  const { keyed, algorithm } = session.cipher!;
  const run = keyed!.start(encrypt, session.iv.subarray(0, algorithm.ivBytes));
  const out = Uint8Array.from(run.update(data));
  session.iv = run.end();
  return out;
}

/** What is authenticated beside the text. */
function authData({ caller, authSrc, authLength }: Request): Uint8Array {
  if (authLength === 0) return new Uint8Array(0);
  return caller.read(authSrc, authLength);
}
