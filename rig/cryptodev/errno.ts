/** The error numbers that the device answers with (asm-generic, the same on every machine that Node runs on). */
export const E = {
  ENOENT: 2,
  EIO: 5,
  ENOMEM: 12,
  EFAULT: 14,
  EBUSY: 16,
  ENODEV: 19,
  EINVAL: 22,
  EDEADLK: 35,
  ENOSYS: 38,
  EBADMSG: 74,
  EOVERFLOW: 75,
} as const;

/** Ends a request with an error number, as `return -E…` does in the kernel. */
export class Refusal extends Error {
  readonly errno: number;
  constructor(errno: number) {
    super(`errno ${errno}`);
    this.errno = errno;
  }
}

export function refuse(errno: number): never {
  throw new Refusal(errno);
}
