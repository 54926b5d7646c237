/**
 * Values as nobody should pass them: of wrong types, with memory that is gone or goes while the arguments are being read,
 * with lengths that lie, and views that overlap.
 */
import type { Random } from './random.js';

/** What hostile values throw when they are looked at: the one error that may come out as it is. */
export class Hostile extends Error {
  constructor() {
    super('hostile');
  }
}

const BYTES = 4096;

// Resizable buffers are younger than the language level that the project is compiled for.
const Growing = ArrayBuffer as unknown as new (
  bytes: number,
  options: { maxByteLength: number },
) => ArrayBuffer & { resize(bytes: number): void };
const GrowingShared = SharedArrayBuffer as unknown as new (
  bytes: number,
  options: { maxByteLength: number },
) => SharedArrayBuffer;

/** Memory that hostile values share, and that can be taken from under them. */
export class World {
  readonly random: Random;
  arena = new ArrayBuffer(BYTES);
  resizable = new Growing(BYTES, { maxByteLength: 2 * BYTES });
  readonly shared = new SharedArrayBuffer(BYTES);
  readonly growable = new GrowingShared(BYTES, { maxByteLength: 2 * BYTES });
  /** How often something happened while arguments were read. */
  mischiefs = 0;
  /** What was transferred away lives on here, since a thread may still be at it. */
  readonly taken: unknown[] = [];

  constructor(random: Random) {
    this.random = random;
    new Uint8Array(this.arena).set(random.bytes(BYTES));
  }

  detach(): void {
    this.taken.push(structuredClone(this.arena, { transfer: [this.arena] }));
    this.arena = new ArrayBuffer(BYTES);
  }

  shrink(): void {
    this.resizable.resize(this.random.integer(0, 64));
  }

  /** One of the things that may happen while arguments are read. */
  mischief(): void {
    const { random } = this;
    this.mischiefs++;
    switch (random.integer(0, 4)) {
      case 0:
        this.detach();
        break;
      case 1:
        this.shrink();
        break;
      case 2:
        this.resizable.resize(BYTES + random.integer(0, BYTES));
        break;
      case 3:
        new Uint8Array(this.arena).fill(random.integer(0, 255));
        break;
      default:
        throw new Hostile();
    }
  }

  /** A view of `length` bytes somewhere in the arena: such views overlap. */
  view(length: number): Uint8Array {
    const { random } = this;
    const size = Math.min(length, BYTES);
    // Often the same place, so that views overlap by a little or are the same.
    const at = Math.min(BYTES - size, random.pick([0, 0, 1, 8, 16, 100, random.integer(0, BYTES - size)]));
    return new Uint8Array(this.arena, at, size);
  }

  /** Fine bytes, in one of the forms in which they are fine. */
  bytes(length: number): unknown {
    const { random } = this;
    switch (random.integer(0, 9)) {
      case 0:
        return Buffer.from(random.bytes(length));
      case 1:
        return new DataView(Uint8Array.from(random.bytes(length)).buffer);
      case 2: {
        const copy = Uint8Array.from(random.bytes(length - (length % 2)));
        return length % 2 === 0 ? new Uint16Array(copy.buffer) : random.bytes(length);
      }
      case 3:
        return new Uint8Array(this.shared, random.integer(0, 16), Math.min(length, BYTES - 16));
      case 4:
        return this.view(length);
      case 5:
        return new Uint8Array(this.resizable, 0, Math.min(length, this.resizable.byteLength));
      case 6:
        return new Uint8Array(this.growable, 0, Math.min(length, BYTES));
      case 7:
        return Uint8Array.from(random.bytes(length)).buffer;
      case 8:
        return Buffer.from(random.bytes(length)).toString('latin1');
      default:
        return random.bytes(length);
    }
  }

  /** Bytes that are not what they seem. */
  lie(length: number): unknown {
    const { random } = this;
    const real = random.bytes(length);
    const other = random.pick<unknown>([
      0,
      1,
      length + 1,
      2 ** 31,
      2 ** 32 + 8,
      -1,
      Number.NaN,
      'x',
      undefined,
    ]);
    switch (random.integer(0, 11)) {
      case 0: {
        const gone = new Uint8Array(new ArrayBuffer(length));
        const slice = Buffer.from(gone.buffer);
        this.taken.push(structuredClone(gone.buffer, { transfer: [gone.buffer] }));
        return random.pick<unknown>([gone, gone.buffer, slice]);
      }
      case 1: {
        const memory = new Growing(Math.max(8, length), { maxByteLength: 2 * BYTES });
        const view = random.pick([
          () => new Uint8Array(memory),
          () => new Uint8Array(memory, 4),
          () => new Uint8Array(memory, 0, length),
          () => new DataView(memory),
          () => new DataView(memory, 4, 4),
          () => new Uint16Array(memory, 2, 1),
        ])();
        memory.resize(random.integer(0, 6));
        return view;
      }
      case 2: {
        class Liar extends Uint8Array {
          override get length(): number {
            return other as number;
          }
          override get byteLength(): number {
            return other as number;
          }
          override get byteOffset(): number {
            return other as number;
          }
          override get buffer(): ArrayBuffer {
            return new ArrayBuffer(1);
          }
          override subarray(): Uint8Array<ArrayBuffer> {
            return new Uint8Array(1);
          }
          override slice(): Uint8Array<ArrayBuffer> {
            return new Uint8Array(1);
          }
          override set(): void {}
          override fill(): this {
            return this;
          }
        }
        return Liar.from(real);
      }
      case 3:
      case 4: {
        const view = random.pick<object>([
          real,
          Buffer.from(real),
          new Uint16Array(8),
          new DataView(Uint8Array.from(real).buffer),
        ]);
        for (const name of [
          'length',
          'byteLength',
          'byteOffset',
          'buffer',
          'constructor',
          'subarray',
          'slice',
          'set',
        ]) {
          if (random.integer(0, 1)) {
            Object.defineProperty(view, name, {
              configurable: true,
              get: random.pick([
                () => () => other,
                () => () => {
                  this.mischief();
                  return other;
                },
              ])(),
            });
          }
        }
        return view;
      }
      case 5:
        return new Proxy(real, {});
      case 6:
        return new Proxy(real, {
          get: (target, name) => {
            this.mischief();
            return Reflect.get(target, name);
          },
          getPrototypeOf: () => {
            this.mischief();
            return Uint8Array.prototype;
          },
        });
      case 7:
        return Object.create(
          random.pick<object>([
            Uint8Array.prototype,
            Buffer.prototype,
            DataView.prototype,
            ArrayBuffer.prototype,
          ]),
        );
      case 8: {
        // A species that gives its own memory to whoever makes a copy of the view.
        class Strange extends Uint8Array {
          static get [Symbol.species](): Uint8ArrayConstructor {
            return random.pick<Uint8ArrayConstructor>([
              Uint8Array,
              class extends Uint8Array {
                constructor() {
                  super(1);
                }
              } as unknown as Uint8ArrayConstructor,
            ]);
          }
        }
        return Strange.from(real);
      }
      case 9: {
        const view = Uint8Array.from(real);
        Object.setPrototypeOf(
          view,
          random.pick<object | null>([null, Array.prototype, DataView.prototype, {}]),
        );
        return view;
      }
      case 10:
        return Object.freeze(Object.seal(new DataView(new ArrayBuffer(length))));
      default: {
        const view = Buffer.from(real);
        Object.defineProperty(view, Symbol.toStringTag, { get: () => this.mischief() });
        return view;
      }
    }
  }

  /** No bytes at all. */
  junk(): unknown {
    const { random } = this;
    const mischief = () => {
      this.mischief();
      return random.pick<unknown>(['hex', 'utf8', 5, 'aes-128-cbc', 16]);
    };
    return random.pick<() => unknown>([
      () => undefined,
      () => null,
      () => random.pick([true, false]),
      () => random.pick([0, -0, 1, -1, 1.5, 15, 16, 17, 255, 4096, 65536]),
      () =>
        random.pick([
          Number.NaN,
          Number.POSITIVE_INFINITY,
          Number.NEGATIVE_INFINITY,
          2 ** 32,
          2 ** 53,
          -(2 ** 31),
          1e308,
          5e-324,
        ]),
      () => random.pick([0n, 16n, -1n, 2n ** 64n]),
      () => Symbol('s'),
      () => random.pick(['', 'hex', 'utf8', 'x', 'ÿ', '\0', 'aes-128-cbc', '\ud800', 'a'.repeat(100_000)]),
      () => () => {},
      () => class {},
      () => ({}),
      () => [],
      () => [1, 2, 3],
      () => Object.create(null),
      () => new Date(Number.NaN),
      () => /x/,
      () => new Map(),
      () => new Error('an error'),
      () => Promise.resolve(5),
      () => ({ toString: mischief }),
      () => ({ valueOf: mischief }),
      () => ({ [Symbol.toPrimitive]: mischief }),
      () => ({ length: 16, byteLength: 16, buffer: new ArrayBuffer(16), byteOffset: 0 }),
      () => ({
        get type() {
          return mischief();
        },
        get algorithm() {
          return mischief();
        },
      }),
      () => new Proxy({}, { get: mischief, has: mischief as never, ownKeys: mischief as never }),
      () => new Proxy(() => {}, { apply: mischief }),
      () => Object.create(String.prototype, { length: { value: 5 } }),
      () => new String('aes-128-cbc'),
      () => new Uint8Array(0),
      () => new ArrayBuffer(0),
    ])();
  }

  /** Mostly what belongs there, sometimes not. */
  mostly(usual: () => unknown, length = 16): unknown {
    const dice = this.random.integer(0, 19);
    if (dice < 15) return usual();
    if (dice < 18) return this.lie(length);
    return this.junk();
  }

  /** Options, of which some may do mischief when they are read. */
  options(usual: Readonly<Record<string, () => unknown>>): unknown {
    const { random } = this;
    const dice = random.integer(0, 9);
    if (dice < 4) return undefined;
    if (dice === 4) return this.junk();
    const options = {};
    for (const [name, value] of Object.entries(usual)) {
      if (random.integer(0, 2) > 0) continue;
      if (random.integer(0, 4) === 0) {
        Object.defineProperty(options, name, {
          enumerable: true,
          configurable: true,
          get: () => {
            const given = value();
            this.mischief();
            return given;
          },
        });
      } else {
        Object.defineProperty(options, name, {
          enumerable: true,
          configurable: true,
          value: this.mostly(value),
        });
      }
    }
    return options;
  }
}
