/** Advisory locks on open files: flock(2), which cryptsetup uses on images too. */
import { errnoName } from './errno.js';
import { errno, type NativeFunction, processLibrary } from './ffi.js';

const LOCK_EX = 2;
const LOCK_NB = 4;

let flock: NativeFunction<number> | undefined;

/**
 * Takes the lock for as long as the descriptor is open, if nobody else has it.
 * @returns undefined, or the errno's name: `EWOULDBLOCK` shows as `EAGAIN`
 */
export function lockExclusively(fd: number): string | undefined {
  const { library } = processLibrary();
  // Without native calls there are no locks either; what is written is whole all the same.
  if (!library) return undefined;
  flock ??= library.func('int flock(int fd, int operation)');
  return flock(fd, LOCK_EX | LOCK_NB) === 0 ? undefined : errnoName(errno());
}

const LOCK_UN = 8;

export function unlock(fd: number): void {
  flock?.(fd, LOCK_UN);
}
