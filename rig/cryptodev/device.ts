/** /dev/crypto: open files with their sessions, and which ioctl is what. */
import { randomBytes } from 'node:crypto';

import * as abi from './abi.js';
import { authCrypt } from './auth-crypt.js';
import { Caller } from './caller.js';
import { crypt } from './crypt.js';
import type { CuseDevice, Ioctl } from './cuse.js';
import { E, Refusal, refuse } from './errno.js';
import type { Claim, Control } from './knobs.js';
import { CallerMemory } from './memory.js';
import { makeSession, type Session } from './session.js';

type Sessions = Map<number, Session>;

export class CryptoDevice implements CuseDevice {
  readonly #control: Control;
  readonly #vanish: () => never;
  readonly #memory = new CallerMemory();
  readonly #files = new Map<number, Sessions>();

  constructor(control: Control, vanish: () => never) {
    this.#control = control;
    this.#vanish = vanish;
  }

  open(file: number): void {
    this.#files.set(file, new Map());
    this.#control.count('filesOpen');
  }

  release(file: number): void {
    this.#control.count('sessionsOpen', -(this.#files.get(file)?.size ?? 0));
    this.#files.delete(file);
    this.#control.count('filesOpen', -1);
  }

  ioctl({ file, pid, command, argument }: Ioctl): number {
    this.#control.refresh();
    this.#control.count('ioctls');
    const sessions = this.#files.get(file)!;
    const caller = new Caller(this.#memory, pid);
    try {
      return this.#answer(sessions, caller, command, argument);
    } catch (error) {
      if (error instanceof Refusal) return -error.errno;
      throw error;
    }
  }

  #answer(sessions: Sessions, caller: Caller, command: number, argument: bigint): number {
    const read = (bytes: number): Buffer => Buffer.from(caller.read(argument, bytes).buffer);
    switch (command) {
      case abi.CIOCGSESSION:
        return this.#openSession(sessions, read(abi.SESSION_OP.bytes), caller, argument);
      case abi.CIOCFSESSION:
        // The module's search for what is not there ends without its noticing.
        if (sessions.delete(read(4).readUInt32LE(0))) this.#control.count('sessionsOpen', -1);
        return 0;
      case abi.CIOCCRYPT: {
        const op = read(abi.CRYPT_OP.bytes);
        const session = find(sessions, op.readUInt32LE(abi.CRYPT_OP.ses));
        crypt(session, op, argument, caller, this.#control, this.#spoilt());
        this.#control.count('requests');
        return 0;
      }
      case abi.CIOCAUTHCRYPT: {
        const op = read(abi.CRYPT_AUTH_OP.bytes);
        const session = find(sessions, op.readUInt32LE(abi.CRYPT_AUTH_OP.ses));
        authCrypt(session, op, argument, caller, this.#control, this.#spoilt());
        this.#control.count('requests');
        return 0;
      }
      case abi.CIOCGSESSINFO:
        return describe(sessions, read(abi.SESSION_INFO_OP.bytes), caller, argument);
      case abi.CIOCCPHASH: {
        const op = read(abi.CPHASH_OP.bytes);
        return copyHash(sessions, op.readUInt32LE(abi.CPHASH_OP.dst), op.readUInt32LE(abi.CPHASH_OP.src));
      }
      case abi.CIOCASYMFEAT:
        return caller.tryWrite([{ at: argument, bytes: new Uint8Array(4) }]) ? 0 : -E.EFAULT;
      case abi.CRIOGET:
        // A process cannot be given a descriptor from outside. The module's ABI says that this call is not needed.
        return -E.ENOSYS;
      default:
        // CIOCKEY, the asynchronous calls (not compiled in by default), the numbers of 32-bit callers, and what is no call at all.
        return -E.EINVAL;
    }
  }

  /** Is the result to be wrong? Ends the request here where it is to fail. */
  #spoilt(): boolean {
    const { errno, corrupt, vanish } = this.#control.requestFault();
    if (vanish) this.#vanish();
    if (errno !== 0) refuse(errno);
    return corrupt;
  }

  #openSession(sessions: Sessions, op: Buffer, caller: Caller, argument: bigint): number {
    const fault = this.#control.sessionFault();
    if (fault !== 0) return -fault;
    const session = makeSession(op, caller, this.#control);
    if (this.#control.value('sessionsOpen') >= this.#control.maxSessions) return -E.ENOMEM;
    let id: number;
    do id = randomBytes(4).readUInt32LE(0);
    while (sessions.has(id));
    op.writeUInt32LE(id, abi.SESSION_OP.ses);
    if (!caller.tryWrite([{ at: argument, bytes: op }])) return -E.EFAULT;
    sessions.set(id, session);
    this.#control.count('sessionsOpen');
    this.#control.count('sessionsOpened');
    return 0;
  }
}

function find(sessions: Sessions, id: number): Session {
  return sessions.get(id) ?? refuse(E.EINVAL);
}

function copyHash(sessions: Sessions, dst: number, src: number): number {
  if (dst === src) return -E.EDEADLK;
  const [to, from] = [sessions.get(dst), sessions.get(src)];
  if (!to || !from) return -E.ENOENT;
  if (!to.hash || !from.hash) return -E.EINVAL;
  to.hash.state.copyFrom(from.hash.state);
  return 0;
}

function describe(sessions: Sessions, op: Buffer, caller: Caller, argument: bigint): number {
  const at = abi.SESSION_INFO_OP;
  const { cipher, hash, alignmask } = find(sessions, op.readUInt32LE(at.ses));
  let hardware = false;
  const tell = (
    name: number,
    driver: number,
    of: { kernelName: string; driver: string },
    claim: Claim,
  ): void => {
    // As snprintf does: what is behind the end of the text stays what it was.
    for (const [place, text] of [
      [name, of.kernelName],
      [driver, claim.driver ?? of.driver],
    ] as const) {
      op.write(`${text.slice(0, at.nameBytes - 1)}\0`, place, 'latin1');
    }
    hardware ||= claim.hardware ?? false;
  };
  if (cipher) tell(at.cipherName, at.cipherDriver, cipher.algorithm, cipher.claim);
  if (hash) tell(at.hashName, at.hashDriver, hash.state.algorithm, hash.claim);
  op.writeUInt16LE(alignmask, at.alignmask);
  op.writeUInt32LE(hardware ? abi.SIOP_FLAG_KERNEL_DRIVER_ONLY : 0, at.flags);
  // The module returns what copy_to_user does: the number of bytes that it could not write.
  return caller.tryWrite([{ at: argument, bytes: op }]) ? 0 : at.bytes;
}
