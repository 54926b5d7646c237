/**
 * Memory that a request goes through where the caller's will not do, and when that is.
 *
 * The module hands the caller's own pages to the kernel driver ("zero copy") where source and destination are aligned as the driver
 * asks (`alignmask`). Where they are not it says nothing, and copies the request through one page of 4 KiB: a request of 64 KiB
 * becomes 16 of the engine, each with its fixed cost. Worse, an IV that the driver does not write back breaks the chain at each
 * page, and XTS begins anew in each. So:
 * - aligned: straight, whatever the length;
 * - up to one page: straight too, since the module's copy is one request all the same and cheaper than ours and its page pinning;
 * - longer: copied into aligned memory, worked on there in place, and copied back. Two copies at memory speed, some 0.1 to 0.3 ns a
 *   byte, against 5 to 100 ns a byte of an engine, and against 37 µs for each further request.
 *
 * Sources: crypto_run, __crypto_run_std in main.c, get_userbuf in zc.c of cryptodev-linux; kernel/dma-mapping.c for pages.
 */
import { address } from '../../linux/index.js';

/** The module's bounce page: the smallest page size that Linux has. */
export const BOUNCE_BYTES = 4096;

/**
 * Most that is asked for in one request. The module keeps a scatterlist entry of 32 bytes for each page of both buffers, in one piece
 * of memory; where the kernel has none so large it falls back to the bounce page, silently. What 1 MiB takes (514 entries, so
 * an array of 1024: 32 KiB) the kernel does not refuse. And the call cannot be interrupted: a slow engine holds it for a second.
 */
export const REQUEST_BYTES = 1 << 20;

/**
 * What a longer message is cut into. An engine has reached its full speed long before, and many are built for no more: virtio-crypto
 * never answers a request of 256 KiB (seen with Linux 6.1), and AF_ALG, which hands over 64 KiB at most, never asked it to.
 */
export const PIECE_BYTES = 64 * 1024;

/** An AEAD message is worked on in place, so twice as much and some: 1024 pages in the same array. */
export const MESSAGE_BYTES = 4 << 20;

/** Kept for the next request; what is longer is given back. */
const KEPT_BYTES = REQUEST_BYTES + BOUNCE_BYTES;

/** Would the module hand these addresses to the driver as they are? */
export function aligned(from: number, to: number, alignMask: number): boolean {
  return ((from | to) & alignMask) === 0;
}

/** Can a request go as it is without being cut into pages? */
export function straight(from: number, to: number, bytes: number, alignMask: number): boolean {
  return bytes <= BOUNCE_BYTES || aligned(from, to, alignMask);
}

export interface Staged {
  /** Page-aligned, so that it lies in as few pages as can be. */
  readonly memory: Uint8Array;
  readonly address: number;
}

/** Memory for one request at a time. */
export class Staging {
  #kept: Staged = { memory: new Uint8Array(0), address: 0 };

  /** At least `bytes`; what was in it is whatever the last request left. */
  reserve(bytes: number, alignMask = 0): Staged {
    const unit = Math.max(BOUNCE_BYTES, alignMask + 1);
    const kept = this.#kept;
    if (kept.memory.length >= bytes && kept.address % unit === 0) return kept;
    // Doubled, so that growing messages do not allocate each time.
    const size = bytes > KEPT_BYTES ? bytes : Math.min(KEPT_BYTES, Math.max(2 * bytes, 16 * 1024));
    const whole = new Uint8Array(size + unit);
    const at = (unit - (address(whole) % unit)) % unit;
    const memory = whole.subarray(at, at + size);
    const staged = { memory, address: address(memory) };
    if (size <= KEPT_BYTES) this.#kept = staged;
    return staged;
  }
}

/** For synchronous calls, between which nothing else runs on this thread. */
export const sharedStaging = new Staging();
