/** errno values by name. The numbers are the running platform's (os.constants), completed by Linux's own. */
import { constants } from 'node:os';

/** Values that os.constants lacks; the same on every Linux architecture that Node runs on (asm-generic/errno.h). */
const LINUX = {
  ELIBBAD: 80,
  ESHUTDOWN: 108,
  EUCLEAN: 117,
  EREMOTEIO: 121,
  ENOMEDIUM: 123,
  ENOKEY: 126,
  EKEYEXPIRED: 127,
  EKEYREVOKED: 128,
  EKEYREJECTED: 129,
} as const;

/** `ERRNO.ENOENT` → 2. */
export const ERRNO = Object.freeze({ ...LINUX, ...constants.errno });

const names = new Map<number, string>();
for (const [name, number] of Object.entries(ERRNO)) {
  // Two names for one number: keep the one that the kernel's documentation uses.
  if (name === 'EWOULDBLOCK' || name === 'ENOTSUP') continue;
  names.set(number, name);
}

/** `2` → `ENOENT`; a number without a name stays a number: `errno 524`. The sign does not matter. */
export function errnoName(errno: number): string {
  const number = Math.abs(errno);
  return names.get(number) ?? `errno ${number}`;
}
