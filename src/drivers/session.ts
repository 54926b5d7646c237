/**
 * What every driver's session does the same way: the life cycle (usable, busy, failed, closed) and the safety net that
 * frees native state of sessions that were dropped without `close()`.
 */
import { HwcryptError } from '../errors.js';

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

  protected own(release: Release): void {
    this.#release = release;
    dropped.register(this, release, this);
  }

  protected ready(): void {
    if (this.life !== 'ready') notReady(this.driver, this.life);
  }

  /** Marks the session as failed and passes the error on, for `throw this.fail(error)`. */
  protected fail<E>(error: E): E {
    this.life = 'failed';
    return error;
  }

  /**
   * Runs asynchronous work with the session marked busy. A rejection makes the session unusable, unless `work` itself has
   * put `life` back to `ready` (a wrong tag is no failure of the driver).
   */
  protected async busy<T>(work: () => Promise<T>): Promise<T> {
    this.ready();
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
    dropped.unregister(this);
    release();
  }

  close(): void {
    const busy = this.life === 'busy';
    this.life = 'closed';
    if (!busy) this.#free();
  }

  [Symbol.dispose](): void {
    this.close();
  }
}
