/** Advisory locks on open files: flock(2), which cryptsetup uses on images too. */
import { errnoName } from './errno.js';
import { errno, type NativeFunction, processLibrary } from './ffi.js';

const LOCK_SH = 1;
const LOCK_EX = 2;
const LOCK_NB = 4;

let flock: NativeFunction<number> | undefined;

/** As readers do, who may be several, while nobody writes. @returns as `lockExclusively` */
export const lockShared = (fd: number): string | undefined => take(fd, LOCK_SH);

/**
 * Takes the lock for as long as the descriptor is open, if nobody else has it.
 * @returns undefined, or the errno's name: `EWOULDBLOCK` shows as `EAGAIN`
 */
export const lockExclusively = (fd: number): string | undefined => take(fd, LOCK_EX);

function take(fd: number, kind: number): string | undefined {
  const { library } = processLibrary();
  // Without native calls there are no locks either; what is written is whole all the same.
  if (!library) return undefined;
  flock ??= library.func('int flock(int fd, int operation)');
  return flock(fd, kind | LOCK_NB) === 0 ? undefined : errnoName(errno());
}

const LOCK_UN = 8;

export function unlock(fd: number): void {
  flock?.(fd, LOCK_UN);
}
