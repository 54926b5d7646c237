/**
 * What every driver's session does the same way: the life cycle (usable, busy, failed, closed) and the safety net that
 * frees native state of sessions that were dropped without `close()`.
 */
import { HwcryptError } from '../errors.js';
import { checkFixed } from './buffers.js';
import type { Direction } from './driver.js';

/** `ready` → `busy` (an asynchronous call is under way) → `ready`; `failed` and `closed` are final. */
export type Life = 'ready' | 'busy' | 'failed' | 'closed';

/** Throws the error that belongs to a session that is not ready. */
export function notReady(driver: string, life: Life): never {
  if (life === 'busy') {
    throw new HwcryptError('SESSION_BUSY', `${driver}: an asynchronous call is under way on this session`);
  }
  throw new HwcryptError(
    'SESSION_UNUSABLE',
    life === 'closed'
      ? `${driver}: this session is closed`
      : `${driver}: this session failed and cannot be used any more`,
  );
}

/** The error of a session that is asked for the other direction than its own. */
export function wrongWay(driver: string, own: Direction, asked: Direction): HwcryptError {
  return new HwcryptError(
    'SESSION_UNUSABLE',
    `${driver}: this session was opened to ${own}, not to ${asked}`,
  );
}

/** Handles kept for the next session: enough for a busy program, little memory. */
const MAX_IDLE = 32;

/** Releases whatever a session held natively. Called once. */
export type Release = () => void;

const dropped = new FinalizationRegistry<Release>((release) => release());

/**
 * Base class of sessions. A subclass calls `ready()` first in every method, and `own(release)` once it holds anything.
 * `release` must not refer to the session itself, or it would never be collected.
 */
export abstract class SessionBase {
  abstract readonly driver: string;
  protected life: Life = 'ready';
  #release: Release | undefined;
  #watched = false;

  protected own(release: Release): void {
    this.#release = release;
    dropped.register(this, release, this);
    this.#watched = true;
  }

  /** As `own`, for what a `HandlePool` already watches. */
  protected borrow(release: Release): void {
    this.#release = release;
  }

  /** False once the session failed or was closed. */
  get usable(): boolean {
    return this.life === 'ready' || this.life === 'busy';
  }

  protected ready(): void {
    if (this.life !== 'ready') notReady(this.driver, this.life);
  }

  /**
   * Marks the session as failed and passes the error on, for `throw this.fail(error)`. During an asynchronous call that is
   * for `busy` to do, which also frees what a session closed meanwhile still holds.
   */
  protected fail<E>(error: E): E {
    if (this.life === 'ready') this.life = 'failed';
    return error;
  }

  /**
   * Runs asynchronous work on `views` with the session marked busy. A rejection makes the session unusable, unless `work` itself has
   * put `life` back to `ready` (a wrong tag is no failure of the driver).
   */
  protected async busy<T>(views: readonly Uint8Array[], work: () => Promise<T>): Promise<T> {
    this.ready();
    checkFixed(views);
    this.life = 'busy';
    try {
      const value = await work();
      this.#settle('ready');
      return value;
    } catch (error) {
      this.#settle('failed');
      throw error;
    }
  }

  #settle(next: Life): void {
    if (this.life === 'busy') this.life = next;
    // close() was called meanwhile: it left the release to us, since the native call was still using the memory.
    else if (this.life === 'closed') this.#free();
  }

  #free(): void {
    const release = this.#release;
    if (!release) return;
    this.#release = undefined;
    if (this.#watched) dropped.unregister(this);
    release();
  }

  close(): void {
    // A second time while a call is still under way must not free what the first left to it.
    if (this.life === 'closed') return;
    const busy = this.life === 'busy';
    this.life = 'closed';
    if (!busy) this.#free();
  }

  [Symbol.dispose](): void {
    this.close();
  }
}

/** A native handle in a JavaScript object, so that the garbage collector can tell when nobody holds it any more. */
export interface Box {
  readonly handle: number;
}

/** What the finalizer of a box sees of it. */
interface Cell {
  handle: number;
}

class HandleBox implements Box {
  readonly cell: Cell = { handle: 0 };

  get handle(): number {
    return this.cell.handle;
  }
}

/**
 * Boxes for native handles, used again. Watching an object for the garbage collector costs as much as encrypting several
 * short messages, so it is the box that is watched, once, and boxes go from session to session.
 */
export class HandlePool {
  readonly #idle: HandleBox[] = [];
  readonly #destroy: (handle: number) => void;
  readonly #reset: ((handle: number) => void) | undefined;
  readonly #watch: FinalizationRegistry<Cell>;

  /**
   * With `reset` a handle stays in its box for the next user; it must leave nothing of the last one in it, the key least
   * of all. Without, the handle is destroyed and the box kept.
   */
  constructor(destroy: (handle: number) => void, reset?: (handle: number) => void) {
    this.#destroy = destroy;
    this.#reset = reset;
    this.#watch = new FinalizationRegistry((cell) => {
      if (cell.handle !== 0) destroy(cell.handle);
    });
  }

  /** A box with a handle in it: that of the last user, or what `make` gives; its `handle` is 0 where that failed. */
  acquire(make: () => number): Box {
    let box = this.#idle.pop();
    if (box === undefined) {
      box = new HandleBox();
      this.#watch.register(box, box.cell);
    }
    if (box.cell.handle === 0) box.cell.handle = make();
    return box;
  }

  release(given: Box): void {
    const box = given as HandleBox;
    const { handle } = box.cell;
    const room = this.#idle.length < MAX_IDLE;
    if (handle !== 0 && (!room || this.#reset === undefined)) {
      box.cell.handle = 0;
      this.#destroy(handle);
    } else if (handle !== 0) {
      this.#reset?.(handle);
    }
    if (room) this.#idle.push(box);
  }
}
