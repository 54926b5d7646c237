/**
 * Foreign functions: the only file that imports koffi.
 *
 * koffi is loaded at the first use, not at import, so that importing hwcrypt costs nothing and does nothing. A platform
 * for which koffi has no binary (it ships none for MIPS) gets the reason `FFI_UNAVAILABLE` as data, not an exception.
 *
 * Facts that callers may rely on, measured with koffi 3.3 on x86-64: a call costs 20 to 30 ns, a parameter that is
 * a number (`uintptr_t`) nearly nothing, a parameter that is a view about 15 to 35 ns, `address()` about 40 to 80 ns.
 * So declare pointers as `uintptr_t`, take the address of a long-lived buffer once, and pass the number.
 * `long`, `size_t` and `uintptr_t` results below 2^53 come back as numbers, larger ones as bigint.
 * koffi has no `ssize_t`: write `long`.
 */
import { createRequire } from 'node:module';

import type { Reason } from '../errors.js';

/** What a native function takes. Pointers are best given as numbers (see above); null is a null pointer. */
export type NativeArgument = number | bigint | string | boolean | Uint8Array | null;

/** What an asynchronous call came to: its value, and `errno` as that thread left it (meaningful only after a failure). */
export interface NativeOutcome<R> {
  readonly value: R;
  readonly errno: number;
}

/** A bound C function. Called directly it runs on this thread. `R` is what the prototype's return type arrives as. */
export interface NativeFunction<R = number> {
  (...args: NativeArgument[]): R;
  /**
   * Runs the call in libuv's thread pool. The callback is last. `errno()` called synchronously inside the callback is
   * that of the call: koffi saves it in the thread that ran and restores it around the callback.
   * koffi throws when too many calls are under way; `promise` queues instead, so prefer it.
   */
  async(...args: [...args: NativeArgument[], callback: (error: Error | null, value: R) => void]): void;
  /** The same as a promise. Views in `args` are kept alive; memory given as a number must be kept alive by the caller. */
  promise(...args: NativeArgument[]): Promise<NativeOutcome<R>>;
}

export interface NativeLibrary {
  /** The soname that was opened; null for the process itself. */
  readonly name: string | null;
  /**
   * Binds a function by its C prototype: `func<number>('int socket(int domain, int type, int protocol)')`.
   * Throws a plain Error where the symbol is absent: ask `has` first.
   */
  func<R = number>(prototype: string): NativeFunction<R>;
  has(symbol: string): boolean;
  /** Address of a symbol (of a variable, or of a function to hand over as a pointer); undefined where it is absent. */
  symbolAddress(symbol: string): number | undefined;
}

export type OpenedLibrary =
  | { readonly library: NativeLibrary; readonly reason?: undefined }
  | { readonly library?: undefined; readonly reason: Reason };

/** The part of koffi that is used, so that its `any` stays in this file. */
interface KoffiFunction<R> {
  (...args: NativeArgument[]): R;
  async(...args: unknown[]): void;
}
interface KoffiLibrary {
  func(prototype: string): KoffiFunction<unknown>;
  symbol(name: string): bigint;
}
interface Koffi {
  load(path: string | null, options?: { lazy?: boolean; global?: boolean; deep?: boolean }): KoffiLibrary;
  address(view: Uint8Array): bigint;
  errno(value?: number): number;
  view(pointer: number | bigint, bytes: number): ArrayBuffer;
  proto(definition: string): unknown;
  decode(pointer: number | bigint, type: unknown): KoffiFunction<unknown>;
}

export type LoadedFfi =
  | { readonly koffi: Koffi; readonly reason?: undefined }
  | { readonly koffi?: undefined; readonly reason: Reason };

/** Loads koffi by `require`; a failure becomes a reason. The argument is there for tests. */
export function loadFfi(
  require: (id: string) => unknown = createRequire(import.meta.url),
  where = `${process.platform}-${process.arch}`,
): LoadedFfi {
  try {
    return { koffi: require('koffi') as Koffi };
  } catch (error) {
    const first = String((error as Error).message).split('\n', 1)[0];
    return {
      reason: {
        code: 'FFI_UNAVAILABLE',
        message: `koffi, which makes the native calls, cannot be loaded on ${where}: ${first}`,
        cure: 'reinstall hwcrypt without --no-optional, on a platform that koffi ships a binary for (Linux on x86, ARM, RISC-V, LoongArch, POWER)',
      },
    };
  }
}

let loaded: LoadedFfi | undefined;
function ffi(): LoadedFfi {
  loaded ??= loadFfi();
  return loaded;
}

function koffi(): Koffi {
  const it = ffi();
  if (!it.koffi) throw new Error(it.reason.message);
  return it.koffi;
}

/** Undefined where native calls can be made; else why not. Never throws. */
export function ffiUnavailable(): Reason | undefined {
  return ffi().reason;
}

/**
 * How many calls may be in the thread pool at once. koffi refuses more than 256 with an exception and gives each a
 * stack of its own; libuv runs four at a time unless told otherwise, so a short queue here costs nothing.
 */
const MAX_ASYNC = 64;
let running = 0;
const waiting: (() => void)[] = [];

function next(): void {
  running--;
  waiting.shift()?.();
}

function promised<R>(fn: KoffiFunction<R>, args: NativeArgument[]): Promise<NativeOutcome<R>> {
  return new Promise((resolve, reject) => {
    const start = (): void => {
      running++;
      try {
        fn.async(...args, (error: Error | null, value: R) => {
          // Before anything else, since any other native call may change it.
          const number = koffi().errno();
          next();
          if (error) reject(error);
          else resolve({ value, errno: number });
        });
      } catch (error) {
        next();
        reject(error);
      }
    };
    if (running < MAX_ASYNC) start();
    else waiting.push(start);
  });
}

function native<R>(fn: KoffiFunction<R>): NativeFunction<R> {
  // koffi's own function object is handed out, with one property more: a wrapper would cost as much as the call.
  return Object.assign(fn, {
    promise: (...args: NativeArgument[]) => promised(fn, args),
  }) as unknown as NativeFunction<R>;
}

class Library implements NativeLibrary {
  readonly name: string | null;
  readonly #handle: KoffiLibrary;

  constructor(name: string | null, handle: KoffiLibrary) {
    this.name = name;
    this.#handle = handle;
  }

  func<R = number>(prototype: string): NativeFunction<R> {
    return native(this.#handle.func(prototype) as KoffiFunction<R>);
  }

  has(symbol: string): boolean {
    return this.symbolAddress(symbol) !== undefined;
  }

  symbolAddress(symbol: string): number | undefined {
    try {
      return Number(this.#handle.symbol(symbol));
    } catch {
      return undefined;
    }
  }
}

let processOpened: OpenedLibrary | undefined;

/** What the process itself exports: the C library, and the libcrypto inside the Node binary. */
export function processLibrary(): OpenedLibrary {
  processOpened ??= open(null);
  return processOpened;
}

function open(name: string | null): OpenedLibrary {
  const it = ffi();
  if (!it.koffi) return { reason: it.reason };
  try {
    return { library: new Library(name, it.koffi.load(name)) };
  } catch (error) {
    return { reason: { code: 'LIBRARY_ABSENT', message: loaderSays((error as Error).message) } };
  }
}

/** What the dynamic loader said, without what koffi puts before it. koffi takes away the name of the file that was asked for. */
function loaderSays(message: string): string {
  return message.replace(/^Failed to load shared library:\s*/, '');
}

/**
 * Opens one shared library by its soname. Where that fails the reason's message is what the dynamic loader said; `openSharedLibrary`
 * (shared-library.ts) makes sense of it.
 */
export function openLibrary(soname: string): OpenedLibrary {
  return open(soname);
}

/**
 * Address of the first byte of a view, as a number: user-space addresses are below 2^53 on every platform koffi runs on.
 * 0 for an empty or detached view. It stays valid as long as the view's buffer is alive and not transferred or resized.
 */
export function address(view: Uint8Array): number {
  return Number(koffi().address(view));
}

/** `errno` of the last native call of this thread. Read it at once after the call that failed. */
export function errno(): number {
  return koffi().errno();
}

/** Sets `errno`, for functions whose failure shows only there. */
export function setErrno(value: number): void {
  koffi().errno(value);
}

const prototypes = new Map<string, unknown>();

/**
 * The function at an address, e.g. one that a library keeps in a structure. The name in the prototype is that of its type: it
 * is nowhere looked up, and two prototypes must not share it. Nothing checks the address.
 */
export function functionAt<R = number>(pointer: number, prototype: string): NativeFunction<R> {
  let type = prototypes.get(prototype);
  if (type === undefined) {
    type = koffi().proto(prototype);
    prototypes.set(prototype, type);
  }
  return native(koffi().decode(pointer, type) as KoffiFunction<R>);
}

/** A copy of `bytes` bytes of foreign memory. Nothing checks the address. */
export function readMemory(pointer: number | bigint, bytes: number): Uint8Array {
  return new Uint8Array(koffi().view(pointer, bytes)).slice();
}
