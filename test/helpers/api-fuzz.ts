/**
 * `node --expose-gc api-fuzz.js SECONDS SEED`: every exported function and every method of a session with hostile arguments, until the
 * time is over. A process of its own, since what is looked for here ends a process. Prints `done …` when it comes to its end.
 */
import assert from 'node:assert/strict';
import { writeSync } from 'node:fs';
import { inspect } from 'node:util';
import { isUint8Array } from 'node:util/types';
import fc from 'fast-check';
import { algorithms } from '#src/algorithms.js';
import type { AeadSession, CipherSession, DigestSession, Driver } from '#src/drivers/driver.js';
import { getDriver } from '#src/drivers/registry.js';
import * as hwcrypt from '#src/index.js';
import { Hostile, World } from './api-hostile.js';
import { Random } from './random.js';

const seconds = Number(process.argv[2] ?? 5);
const seed = Number(process.argv[3] ?? 1);
/** The last line of the trace is the call that ended the process. */
const trace = process.env['HWCRYPT_FUZZ_TRACE'] !== undefined;
const end = Date.now() + seconds * 1000;

/** Messages of errors without a code that node:crypto gives and hwcrypt keeps. */
const PLAIN = [
  // With a null byte in the name Node's text ends there.
  /^Digest method /,
  /^Output length \d+ is invalid for/,
  /^digest\(\) was called/,
  /^error:00000000:lib\(0\)::reason\(0\)$/,
  // The engine's own: where a session asks it for a length first, what is no view at all is refused by it.
  /called on incompatible receiver/,
  // The engine's own, for text that cannot be made of a value.
  /^Cannot convert a Symbol value to a string$/,
  /^Cannot convert object to primitive value$/,
  /^Invalid string length$/,
  /requires that 'this' be a /,
  /^(number|string|boolean|undefined|null) .* is not a function$/,
  /%TypedArray%\.prototype\.join on a detached/,
];

/** What may be thrown: errors with a code, what the hostile value itself threw, and a few that node:crypto throws. */
function checkError(error: unknown, what: () => string): void {
  if (error instanceof Hostile) return;
  if (error instanceof Error) {
    if (error.cause instanceof Hostile) return;
    if (typeof (error as { code?: unknown }).code === 'string') return;
    if (PLAIN.some((known) => known.test(error.message))) return;
    // Node's streams take a view at its word, and Node wants to say what it received of what will not be looked at.
    if (/node:(internal\/(util|streams\/|buffer)|string_decoder)/.test(error.stack ?? '')) return;
  }
  throw new Error(`an error without a code from ${what()}: ${inspect(error)}`);
}

/** What is under way, each with what it is. */
let pending: { promise: Promise<unknown>; what: string }[] = [];
let calls = 0;
let thrown = 0;

/** These two go straight to node:crypto. */
const nodesOwn = /^(getCipherInfo|randomBytes) of/;

function call(what: string, action: () => unknown): unknown {
  calls++;
  // Node sets it to nothing while it makes an error, and does not get to set it back where that throws.
  Error.stackTraceLimit = 20;
  if (trace) writeSync(2, `${what}\n`);
  try {
    const value = action();
    if (value instanceof Promise) {
      value.catch(() => {});
      pending.push({ promise: value, what });
    }
    return value;
  } catch (error) {
    thrown++;
    if (!nodesOwn.test(what)) checkError(error, () => what);
    return undefined;
  }
}

async function settle(): Promise<void> {
  const waiting = pending;
  pending = [];
  const timer = setTimeout(() => {
    process.stderr.write(`still under way after 20 s: ${waiting.map(({ what }) => what).join(', ')}\n`);
    process.exit(3);
  }, 20_000);
  for (const { promise, what } of waiting) {
    try {
      await promise;
    } catch (error) {
      checkError(error, () => `the promise of ${what}`);
    }
  }
  clearTimeout(timer);
}

const CIPHERS = [...algorithms('cipher'), ...algorithms('aead')].filter(
  ({ names }) => names.openssl !== undefined,
);
const HASHES = algorithms('hash').filter(({ names }) => names.openssl !== undefined);
const MACS = algorithms('mac');
const LENGTHS = [0, 1, 7, 8, 15, 16, 17, 32, 100, 255, 256, 257, 1000, 4096];

// ---------------------------------------------------------------------------------------------------------------------
// The API

/** A class, or a function that throws, is called back outside of every try: that is its caller's affair. */
const noFunction = (value: unknown) => (typeof value === 'function' ? 5 : value);

/** For what goes straight to node:crypto, whose own errors fail over values that will not be looked at. */
const simple = (value: unknown) => (typeof value === 'object' ? null : value);

function fuzzFunction(world: World, api: typeof hwcrypt | hwcrypt.Hwcrypt): void {
  const { random } = world;
  const cipher = random.pick(CIPHERS);
  const hash = random.pick(HASHES);
  const length = random.pick(LENGTHS);
  const name = () => cipher.name;
  const hashName = () => hash.name;
  const key = world.mostly(() => world.bytes(cipher.keyBytes), cipher.keyBytes);
  const iv = world.mostly(() => (cipher.ivBytes === 0 ? null : world.bytes(cipher.ivBytes)), cipher.ivBytes);
  const data = world.mostly(() => world.bytes(length), length);
  const driver = () =>
    random.pick<unknown>(['libcrypto', 'node', ['libcrypto', 'node'], ['node'], 'libcrypto:default']);
  const output = () => world.mostly(() => world.view(length + random.pick([0, 16, 32, 64])), length + 16);
  const cipherOptions = () =>
    world.options({
      driver,
      output,
      aad: () => world.mostly(() => world.bytes(random.pick(LENGTHS)), 16),
      authTagLength: () => random.pick([4, 8, 12, 16, 16, 17]),
      autoPadding: () => random.pick([true, false]),
    });
  const digestOptions = () =>
    world.options({ driver, output, outputLength: () => random.pick([0, 1, 16, 20, 32, 64, 1000]) });
  // Arguments of any type are the point of it.
  const loose = api as unknown as Record<string, (...args: unknown[]) => unknown>;
  const run = (method: string, ...args: unknown[]) =>
    call(`${method} of ${cipher.name} or ${hash.name}`, () => loose[method]!(...args));
  const encoding = () => world.mostly(() => random.pick(['hex', 'utf8', 'base64', 'latin1', undefined]));
  switch (random.integer(0, 13)) {
    case 0:
      run('encrypt', world.mostly(name), key, iv, data, cipherOptions());
      break;
    case 1:
      run('decrypt', world.mostly(name), key, iv, data, cipherOptions());
      break;
    case 2:
      run('encryptAsync', world.mostly(name), key, iv, data, cipherOptions());
      if (random.integer(0, 1)) world.detach();
      if (random.integer(0, 1)) world.shrink();
      break;
    case 3:
      run('decryptAsync', world.mostly(name), key, iv, data, cipherOptions());
      if (random.integer(0, 1)) world.detach();
      if (random.integer(0, 1)) world.shrink();
      break;
    case 4:
      run('digest', world.mostly(hashName), data, digestOptions());
      break;
    case 5:
      run('digestAsync', world.mostly(hashName), data, digestOptions());
      if (random.integer(0, 1)) world.detach();
      if (random.integer(0, 1)) world.shrink();
      break;
    case 6:
      run('hmac', world.mostly(hashName), key, data, digestOptions());
      break;
    case 7:
      run('hmacAsync', world.mostly(hashName), key, data, digestOptions());
      if (random.integer(0, 1)) world.detach();
      if (random.integer(0, 1)) world.shrink();
      break;
    case 8:
      run('hash', world.mostly(hashName), data, encoding(), digestOptions());
      break;
    case 9: {
      const size = random.integer(0, 3) ? random.pick(LENGTHS) : simple(world.junk());
      // A gigabyte of random bytes is an answer too, but not one to wait for.
      if (typeof size !== 'number' || !(size > 1e6 && size < 2 ** 31)) {
        run(
          'randomBytes',
          size,
          ...(random.integer(0, 2)
            ? []
            : [random.integer(0, 3) ? () => {} : noFunction(simple(world.junk()))]),
        );
      }
      break;
    }
    case 10:
      run(
        'getCipherInfo',
        random.integer(0, 3) ? name() : simple(world.junk()),
        world.options({ keyLength: () => 16, ivLength: () => 16 }),
      );
      break;
    case 11:
      fuzzObject(
        world,
        run(
          random.pick(['createHash', 'createHmac']),
          world.mostly(hashName),
          random.integer(0, 1) ? key : digestOptions(),
          digestOptions(),
        ),
      );
      break;
    default:
      fuzzObject(
        world,
        run(
          random.pick(['createCipheriv', 'createDecipheriv']),
          world.mostly(name),
          key,
          iv,
          world.options({
            driver,
            authTagLength: () => random.pick([4, 8, 12, 16]),
            encoding: () => random.pick(['hex', 'utf8']),
            highWaterMark: () => random.pick([1, 16, 65_536]),
            sectorSize: () => random.pick([16, 32, 512]),
          }),
        ),
      );
  }
}

/** Random methods of a cipher or digest object, also as a stream. */
function fuzzObject(world: World, made: unknown): void {
  if (typeof made !== 'object' || made === null) return;
  const { random } = world;
  const object = made as Record<string, (...args: unknown[]) => unknown>;
  let stream = false;
  const bytes = () => {
    const length = random.pick(LENGTHS);
    return world.mostly(() => world.bytes(length), length);
  };
  const encoding = () => world.mostly(() => random.pick(['hex', 'utf8', 'base64', undefined, undefined]));
  const asStream = () => {
    if (stream) return;
    stream = true;
    call('on', () => object['on']!('error', (error: unknown) => checkError(error, () => 'a stream')));
    call('resume', () => object['resume']!());
  };
  const METHODS: Record<string, () => unknown[]> = {
    update: () => [bytes(), encoding(), encoding()],
    final: () => [encoding()],
    digest: () => [encoding()],
    setAAD: () => [
      bytes(),
      world.options({ plaintextLength: () => random.pick([0, 16, 100]), encoding: () => 'hex' }),
    ],
    setAuthTag: () => [bytes(), encoding()],
    getAuthTag: () => [],
    getAuthTagAsync: () => [],
    setAutoPadding: () => [world.mostly(() => random.pick([true, false, undefined]))],
    copy: () => [world.options({ outputLength: () => 32 })],
  };
  for (let steps = random.integer(1, 8); steps > 0; steps--) {
    const method = random.pick([
      ...Object.keys(METHODS),
      'update',
      'update',
      'write',
      'end',
      'destroy',
      'dispose',
    ]);
    if (method === 'dispose') {
      if (random.integer(0, 3) === 0)
        call('Symbol.dispose', () => (object as unknown as Disposable)[Symbol.dispose]?.());
    } else if (method === 'destroy') {
      asStream();
      if (random.integer(0, 3) === 0) call('destroy', () => object['destroy']!());
    } else if (method === 'write' || method === 'end') {
      asStream();
      call(method, () => object[method]!(noFunction(bytes()), random.pick(['utf8', 'hex', 'latin1'])));
    } else if (typeof object[method] === 'function') {
      const args = METHODS[method]!();
      // A promise that nobody will settle is not waited for.
      if (method === 'getAuthTagAsync') {
        try {
          (object[method]!() as Promise<unknown>).catch((error) => checkError(error, () => method));
        } catch (error) {
          checkError(error, () => method);
        }
      } else call(method, () => object[method]!(...args));
    }
    if (random.integer(0, 15) === 0) world.detach();
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// Sessions

const getter = <T>(name: string) =>
  Function.prototype.call.bind(
    Object.getOwnPropertyDescriptor(Object.getPrototypeOf(Uint8Array.prototype), name)?.get as () => T,
  ) as (view: Uint8Array) => T;
const real = {
  buffer: getter<ArrayBufferLike>('buffer'),
  byteOffset: getter<number>('byteOffset'),
  byteLength: getter<number>('byteLength'),
};

/** Runs a call that may write into `output` alone, and looks at everything around it. */
function guarded(world: World, what: string, outputs: readonly unknown[], action: () => unknown): unknown {
  const { arena } = world;
  const before = new Uint8Array(arena).slice();
  // Where the view really is, whatever it says.
  const own = outputs.flatMap((view) => {
    if (!isUint8Array(view) || real.buffer(view) !== arena) return [];
    return [{ from: real.byteOffset(view), to: real.byteOffset(view) + real.byteLength(view) }];
  });
  const { mischiefs } = world;
  const value = call(what, action);
  if (world.mischiefs !== mischiefs || arena.byteLength !== before.length || value instanceof Promise) {
    return value;
  }
  const after = new Uint8Array(arena);
  for (let at = 0; at < before.length; at++) {
    if (after[at] === before[at]) continue;
    const allowed = own.some(({ from, to }) => at >= from && at < to);
    assert.ok(allowed, `${what} wrote at ${at}, outside of its output`);
  }
  return value;
}

function fuzzSession(world: World, driver: Driver): void {
  const { random } = world;
  const kind = random.pick(['cipher', 'aead', 'hash', 'mac'] as const);
  const key = (length: number) => world.mostly(() => plain(length), length) as Uint8Array;
  /** Sessions take Uint8Arrays only. */
  const plain = (length: number) => {
    const value = world.bytes(length);
    return value instanceof Uint8Array ? value : random.bytes(length);
  };
  const data = (length = random.pick(LENGTHS)) => world.mostly(() => plain(length), length) as Uint8Array;
  const place = (length = random.pick(LENGTHS)) =>
    world.mostly(() => world.view(length), length) as Uint8Array;
  const direction = () => random.pick(['encrypt', 'decrypt'] as const);
  const label = (method: string, name: string) => `${driver.name} ${name} ${method}`;
  const steps = random.integer(1, 8);
  /** Something asynchronous is under way on this session: its memory must not be taken away. */
  let busy = false;
  const later = (value: unknown) => {
    if (value instanceof Promise) busy = true;
  };
  const between = () => {
    if (busy) return;
    const dice = random.integer(0, 11);
    if (dice === 0) world.detach();
    else if (dice === 1) world.shrink();
  };
  const close = (session: { close(): void } & Disposable) => {
    call('close', () => session.close());
    if (random.integer(0, 1)) call('dispose', () => session[Symbol.dispose]());
  };
  if (kind === 'cipher') {
    const algorithm = random.pick(algorithms('cipher'));
    const iv = () =>
      algorithm.ivBytes === 0
        ? null
        : (world.mostly(() => plain(algorithm.ivBytes), algorithm.ivBytes) as Uint8Array);
    const session = call(label('cipher', algorithm.name), () =>
      driver.cipher(
        algorithm,
        direction(),
        key(algorithm.keyBytes),
        iv(),
        random.pick([{}, {}, { kernelDriver: 'default' }, { kernelDriver: 'none' }]),
      ),
    ) as CipherSession | undefined;
    if (!session) return;
    for (let i = 0; i < steps; i++) {
      const length = random.pick(LENGTHS);
      const output = place(length);
      switch (random.integer(0, 6)) {
        case 0:
          call(label('restart', algorithm.name), () => session.restart(iv()));
          break;
        case 1:
          call(label('restart', algorithm.name), () => session.restart(iv(), key(algorithm.keyBytes)));
          break;
        case 2:
          call(label('chain', algorithm.name), () => session.chain());
          break;
        case 3: {
          // Memory of its own: the contract wants it left alone until the promise settles.
          const mine = random.bytes(length);
          later(
            call(label('updateAsync', algorithm.name), () =>
              session.updateAsync(mine, random.integer(0, 1) ? mine : new Uint8Array(length)),
            ),
          );
          if (random.integer(0, 3) === 0) mine.fill(7);
          break;
        }
        case 4:
          if (random.integer(0, 2) === 0) close(session);
          break;
        default: {
          const input = data(length);
          guarded(world, label('update', algorithm.name), [output], () => session.update(input, output));
        }
      }
      between();
    }
    if (random.integer(0, 4)) close(session);
  } else if (kind === 'aead') {
    const algorithm = random.pick(algorithms('aead'));
    const iv = () =>
      world.mostly(
        () => plain(random.pick([algorithm.ivBytes, algorithm.ivBytes, 7, 8, 13, 64, 65])),
        12,
      ) as Uint8Array;
    const tagBytes = random.pick([...algorithm.tagBytes]);
    const way = direction();
    const session = call(label('aead', algorithm.name), () =>
      driver.aead(algorithm, way, key(algorithm.keyBytes), {
        tagBytes: random.pick<unknown>([
          tagBytes,
          tagBytes,
          tagBytes,
          0,
          -1,
          17,
          1.5,
          Number.NaN,
          'x',
          null,
        ]) as number,
      }),
    ) as AeadSession | undefined;
    if (!session) return;
    for (let i = 0; i < steps; i++) {
      const length = random.pick(LENGTHS);
      const [output, tag] = [place(length), place(tagBytes)];
      switch (random.integer(0, 10)) {
        case 0:
          call(label('rekey', algorithm.name), () => session.rekey(key(algorithm.keyBytes)));
          break;
        case 1:
          call(label('begin', algorithm.name), () => session.begin(iv()));
          break;
        case 2:
          call(label('aad', algorithm.name), () => session.aad(data()));
          break;
        case 3: {
          const input = data(length);
          guarded(world, label('update', algorithm.name), [output], () => session.update(input, output));
          break;
        }
        case 4:
          guarded(world, label('finish', algorithm.name), [tag], () => session.finish(tag));
          break;
        case 5: {
          const mine = random.bytes(length);
          later(
            call(label('sealAsync', algorithm.name), () =>
              way === 'encrypt'
                ? session.sealAsync(
                    random.bytes(algorithm.ivBytes),
                    random.bytes(20),
                    mine,
                    mine,
                    new Uint8Array(tagBytes),
                  )
                : session.openAsync(
                    random.bytes(algorithm.ivBytes),
                    random.bytes(20),
                    mine,
                    new Uint8Array(tagBytes),
                    mine,
                  ),
            ),
          );
          break;
        }
        case 6:
          if (random.integer(0, 2) === 0) close(session);
          break;
        case 7: {
          const whole = place(length + tagBytes);
          guarded(world, label('sealAppended', algorithm.name), [whole], () =>
            session.sealAppended?.(iv(), data(), data(length), whole),
          );
          break;
        }
        default: {
          const [nonce, aad, text] = [iv(), data(), data(length)];
          if (way === 'encrypt') {
            guarded(world, label('seal', algorithm.name), [output, tag], () =>
              session.seal(nonce, aad, text, output, tag),
            );
          } else {
            guarded(world, label('open', algorithm.name), [output], () =>
              session.open(nonce, aad, text, tag, output),
            );
          }
        }
      }
      between();
    }
    if (random.integer(0, 4)) close(session);
  } else {
    const algorithm = kind === 'hash' ? random.pick(HASHES) : random.pick(MACS);
    const secret = () => key(algorithm.kind === 'mac' ? (algorithm.keyBytes ?? random.pick(LENGTHS)) : 0);
    let session = call(label(kind, algorithm.name), () =>
      algorithm.kind === 'hash' ? driver.hash(algorithm) : driver.mac(algorithm, secret()),
    ) as DigestSession | undefined;
    if (!session) return;
    for (let i = 0; i < steps; i++) {
      const output = place(random.pick([algorithm.digestBytes, algorithm.digestBytes, 0, 1, 200]));
      const now: DigestSession = session;
      switch (random.integer(0, 8)) {
        case 0:
          call(label('restart', algorithm.name), () =>
            random.integer(0, 1) ? now.restart() : now.restart(secret()),
          );
          break;
        case 1: {
          const mine = random.bytes(random.pick(LENGTHS));
          later(call(label('updateAsync', algorithm.name), () => now.updateAsync(mine)));
          break;
        }
        case 2:
          session =
            (call(label('clone', algorithm.name), () => now.clone()) as DigestSession | undefined) ?? now;
          break;
        case 3: {
          const input = data();
          guarded(world, label('once', algorithm.name), [output], () => now.once(input, output));
          break;
        }
        case 4: {
          const mine = random.bytes(random.pick(LENGTHS));
          later(
            call(label('onceAsync', algorithm.name), () =>
              now.onceAsync(mine, new Uint8Array(algorithm.digestBytes)),
            ),
          );
          break;
        }
        case 5:
          guarded(world, label('digest', algorithm.name), [output], () => now.digest(output));
          break;
        case 6:
          if (random.integer(0, 2) === 0) close(now);
          break;
        default:
          call(label('update', algorithm.name), () => now.update(data()));
      }
      between();
    }
    if (random.integer(0, 4)) close(session);
  }
}

// ---------------------------------------------------------------------------------------------------------------------

process.on('uncaughtException', (error) => {
  process.stderr.write(`uncaught: ${inspect(error)}\n`);
  process.exit(2);
});

const instances = [
  hwcrypt,
  hwcrypt,
  hwcrypt.open({ drivers: 'libcrypto' }),
  hwcrypt.open({ drivers: ['node'] }),
] as const;
const drivers = [getDriver('libcrypto'), getDriver('node')];

await fc.assert(
  fc.asyncProperty(fc.nat(), fc.nat({ max: 5 }), async (number, what) => {
    const world = new World(new Random('fuzz', number));
    // Several in the same memory, since one may leave it in a state that the next is to survive.
    for (let i = 0; i < 8; i++) {
      if (what < 3) fuzzFunction(world, instances[number % instances.length]!);
      else fuzzSession(world, drivers[number % drivers.length]!);
    }
    await settle();
    if (number % 256 === 0) (globalThis as { gc?: () => void }).gc?.();
  }),
  {
    seed,
    numRuns: 1e9,
    endOnFailure: true,
    includeErrorInReport: true,
    interruptAfterTimeLimit: Math.max(100, end - Date.now()),
    markInterruptAsFailure: false,
  },
);
await settle();
for (const instance of instances) if (instance instanceof hwcrypt.Hwcrypt) instance.close();
(globalThis as { gc?: () => void }).gc?.();
await new Promise((resolve) => setTimeout(resolve, 50));
process.stdout.write(`done: ${calls} calls, ${thrown} of them threw\n`);
// Streams that were left alone and timers of idle sessions need not be waited for.
process.exit(0);
