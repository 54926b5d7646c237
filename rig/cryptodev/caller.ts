/** The thread that waits in an ioctl, and its memory: what the module's copy_from_user and copy_to_user are to it. */
import { E, refuse } from './errno.js';
import type { CallerMemory, Piece } from './memory.js';

export class Caller {
  readonly #memory: CallerMemory;
  readonly #pid: number;

  constructor(memory: CallerMemory, pid: number) {
    this.#memory = memory;
    this.#pid = pid;
  }

  /** A copy; EFAULT where the memory is not there. */
  read(at: bigint, bytes: number): Uint8Array {
    const into = new Uint8Array(bytes);
    if (!this.tryRead([{ at, bytes: into }])) refuse(E.EFAULT);
    return into;
  }

  tryRead(pieces: readonly Piece[]): boolean {
    return this.#memory.read(this.#pid, pieces);
  }

  tryWrite(pieces: readonly Piece[]): boolean {
    return this.#memory.write(this.#pid, pieces);
  }
}
