/**
 * The same random calls on node:crypto and on an API of its shape, in lock step. Every answer must be the same: the value
 * to the byte, or the error's class, name, code and message; except for what api-differences.ts lists.
 */
import assert from 'node:assert/strict';
import * as nodeCrypto from 'node:crypto';
import { describe, test } from 'node:test';
import { inspect } from 'node:util';
import fc from 'fast-check';
import { loadEvp } from '#src/drivers/libcrypto/evp.js';
import { type Call, DIFFERENCES } from './api-differences.js';
import { attempt, describeOutcome, type Outcome, sameOutcome } from './api-outcome.js';
import type { ApiObject, CryptoApi } from './api-shape.js';
import { SEED } from './random.js';

const node = nodeCrypto as unknown as CryptoApi;

export interface LockStepOptions {
  readonly runs: number;
  /** Ciphers to try, by node:crypto's names; default: one of every mode and of every family, and names that do not exist. */
  readonly ciphers?: readonly string[];
  readonly hashes?: readonly string[];
  /** AEADs take a message in one piece: their text comes out of `final`. */
  readonly wholeAeads?: boolean;
  /** Is node:crypto out of reach for names that hwcrypt's table lacks? Then key wrap is left out. */
  readonly pinned?: boolean;
}

const CIPHERS = [
  'aes-128-cbc',
  'aes-192-ecb',
  'aes-256-ctr',
  'aes-128-cfb',
  'aes-128-cfb8',
  'aes-128-cfb1',
  'aes-256-ofb',
  'aes-128-gcm',
  'aes-256-gcm',
  'aes-128-ccm',
  'aes-256-ccm',
  'aes-128-ocb',
  'aes-256-xts',
  'chacha20',
  'chacha20-poly1305',
  'des-ede3-cbc',
  'des-ede3',
  'camellia-128-cbc',
  'aria-128-ctr',
  // Other spellings.
  'AES128',
  'id-aes128-GCM',
  'AES-256-CBC',
  'Id-Aes128-CCM',
];
const WRAPS = ['aes128-wrap', 'id-aes256-wrap'];
const NO_CIPHERS = ['aes-127-cbc', '', 'sha256', 'aes'];
const HASHES = [
  'md5',
  'sha1',
  'sha256',
  'SHA512',
  'sha512-256',
  'sha3-256',
  'shake128',
  'SHAKE256',
  'blake2b512',
  'RSA-SHA256',
  'rmd160',
];
const NO_HASHES = ['sha257', '', 'aes-128-cbc', 'SHA-3'];

// ---------------------------------------------------------------------------------------------------------------------
// Values

/** A value with a text by which a failing run can be read. */
class Shown {
  readonly value: unknown;
  readonly text: string;

  constructor(value: unknown, text: string = inspect(value, { breakLength: 200 })) {
    this.value = value;
    this.text = text;
  }

  toString(): string {
    return this.text;
  }
}

const show = (value: unknown, text?: string) => new Shown(value, text);

/** The same bytes in one of the forms in which an API may be given them. */
const FORMS = [
  'buffer',
  'u8',
  'offset',
  'u16',
  'dataview',
  'arraybuffer',
  'shared',
  'text',
  'hex',
  'base64',
] as const;
type Form = (typeof FORMS)[number];

interface Given {
  readonly value: unknown;
  readonly encoding?: string;
  readonly text: string;
}

function give(bytes: Uint8Array, form: Form): Given {
  const buffer = Buffer.from(bytes);
  const hex = buffer.toString('hex');
  switch (form) {
    case 'buffer':
      return { value: buffer, text: `Buffer(${hex})` };
    case 'u8':
      return { value: Uint8Array.from(bytes), text: `Uint8Array(${hex})` };
    case 'offset': {
      const room = new Uint8Array(bytes.length + 7).fill(0xee);
      room.set(bytes, 3);
      return { value: room.subarray(3, 3 + bytes.length), text: `Uint8Array at 3 (${hex})` };
    }
    case 'u16': {
      if (bytes.length % 2 !== 0) return give(bytes, 'u8');
      const copy = Uint8Array.from(bytes);
      return { value: new Uint16Array(copy.buffer), text: `Uint16Array(${hex})` };
    }
    case 'dataview': {
      const copy = Uint8Array.from(bytes);
      return { value: new DataView(copy.buffer), text: `DataView(${hex})` };
    }
    case 'arraybuffer':
      return { value: Uint8Array.from(bytes).buffer, text: `ArrayBuffer(${hex})` };
    case 'shared': {
      const shared = new Uint8Array(new SharedArrayBuffer(bytes.length));
      shared.set(bytes);
      return { value: shared, text: `shared Uint8Array(${hex})` };
    }
    case 'text':
      return { value: buffer.toString('latin1'), encoding: 'latin1', text: `latin1 text(${hex})` };
    case 'hex':
      return { value: hex, encoding: 'hex', text: `hex text(${hex})` };
    case 'base64':
      return { value: buffer.toString('base64'), encoding: 'base64', text: `base64 text(${hex})` };
  }
}

const form = fc.constantFrom(...FORMS);
const publicKey = nodeCrypto.generateKeyPairSync('ed25519').publicKey;

const wrongValue = fc.constantFrom(
  ...[
    undefined,
    null,
    0,
    5,
    Number.NaN,
    true,
    {},
    [],
    12n,
    new Date(0),
    /x/,
    Symbol('s'),
    () => {},
    publicKey,
  ].map((value) => show(value)),
);

const encodingValue = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.constantFrom(
      ...[
        'utf8',
        'hex',
        'base64',
        'latin1',
        'ascii',
        'buffer',
        'ucs2',
        'UTF-8',
        'HEX',
        'base64url',
        'binary',
      ].map((v) => show(v)),
    ),
  },
  { weight: 3, arbitrary: fc.constantFrom(show(undefined), show(null), show('')) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(...['nonsense', 5, {}, true, Symbol('e')].map((value) => show(value))),
  },
);

/** What `update` may be handed besides the planned text. */
const anyData = fc.oneof(
  {
    weight: 3,
    arbitrary: fc
      .tuple(fc.uint8Array({ maxLength: 40 }), form)
      .map(([bytes, as]) => show(give(bytes, as).value, give(bytes, as).text)),
  },
  { weight: 2, arbitrary: fc.string({ maxLength: 12, unit: 'binary' }).map((text) => show(text)) },
  { weight: 1, arbitrary: wrongValue },
);

// ---------------------------------------------------------------------------------------------------------------------
// The two sides

/**
 * What a call leaves in OpenSSL's error queue turns up in the next error that Node makes of something else. Node itself
 * leaves some, so the queue is emptied first.
 */
function tidily<T>(call: () => T): T {
  const { evp } = loadEvp();
  evp?.errClear();
  const result = call();
  assert.equal(Number(evp?.errPeekLast() ?? 0), 0, 'an error was left in the queue of OpenSSL');
  return result;
}

let seen: Map<string, number>;

/** Two objects of the two sides, on which the same is called. */
class Pair {
  node: ApiObject | undefined;
  ours: ApiObject | undefined;
  readonly log: string[] = [];
  updates = 0;
  textCalls = 0;
  aadCalls = 0;
  empty = false;
  finalFailed = false;
  refused = false;
  /** A documented difference has put the two into different states. */
  parted = false;
  /** OCB: the text comes later in ours, so it is compared as a whole at the end. */
  readonly whole: boolean;
  #nodeText = '';
  #oursText = '';
  readonly #forms = new Set<string>();

  constructor(
    readonly kind: Call['kind'],
    readonly mode: string,
    readonly direction: Call['direction'],
    wholeAeads = false,
  ) {
    this.whole = mode === 'ocb' || (wholeAeads && (mode === 'gcm' || mode === 'stream'));
  }

  create(text: string, nodeMake: () => ApiObject, oursMake: () => ApiObject): boolean {
    this.log.push(text);
    const a = attempt(() => {
      this.node = nodeMake();
    });
    const b = tidily(() =>
      attempt(() => {
        this.ours = oursMake();
      }),
    );
    this.#judge('create', a, b);
    return a.error === undefined && b.error === undefined && !this.parted;
  }

  call(method: string, args: readonly unknown[], text: string, carriesText = false): Outcome | undefined {
    const { node: left, ours: right } = this;
    if (this.parted || left === undefined || right === undefined) return undefined;
    this.log.push(text);
    if (method === 'update' && !carriesText) this.empty = true;
    const run = (object: ApiObject) =>
      attempt(
        () => (object[method as 'update'] as (...args: unknown[]) => unknown).apply(object, [...args]),
        object,
      );
    const a = run(left);
    const b = tidily(() => run(right));
    if (this.whole && (method === 'update' || method === 'final') && !a.error && !b.error) {
      this.#compareLate(method, a, b);
    } else {
      // What a call took and then lost in throwing cannot be compared later.
      if (this.whole && method === 'update') this.#forms.add('lost').add('text');
      this.#judge(method, a, b);
    }
    if (method === 'final' && a.error) this.finalFailed = true;
    if (method === 'update' && (a.error || b.error)) this.refused = true;
    if (method === 'update') {
      // Also where it threw: an output encoding is looked at when the text has been taken.
      this.updates++;
      if (carriesText) this.textCalls++;
    }
    if (!a.error && method === 'setAAD') this.aadCalls++;
    return a;
  }

  #compareLate(method: string, a: Outcome, b: Outcome): void {
    const text = (outcome: Outcome) => String(outcome.value).replace(/^Buffer /, '');
    this.#nodeText += text(a);
    this.#oursText += text(b);
    for (const { value } of [a, b]) this.#forms.add(/^Buffer /.test(String(value)) ? 'bytes' : 'text');
    note('ocb-in-one-piece');
    // Where part was asked for as text and part as bytes, how they add up depends on where they were cut.
    if (method === 'final' && this.#forms.size === 1)
      assert.equal(this.#oursText, this.#nodeText, this.log.join('\n  '));
  }

  #judge(method: string, a: Outcome, b: Outcome): void {
    if (sameOutcome(a, b)) return;
    const { kind, mode, direction, updates, textCalls, aadCalls, empty, finalFailed, refused } = this;
    const call: Call = {
      kind,
      mode,
      direction,
      method,
      updates,
      textCalls,
      aadCalls,
      empty,
      finalFailed,
      refused,
    };
    const difference = DIFFERENCES.find(({ applies }) => applies(call, a, b));
    if (difference === undefined) {
      throw new Error(
        `the two differ after\n  ${this.log.join('\n  ')}\n  node:crypto ${describeOutcome(a)}\n  hwcrypt     ${describeOutcome(b)}`,
      );
    }
    note(difference.id);
    if (difference.parts) this.parted = true;
  }
}

function note(id: string): void {
  seen.set(id, (seen.get(id) ?? 0) + 1);
}

// ---------------------------------------------------------------------------------------------------------------------
// Ciphers

interface CipherPlan {
  readonly name: string | Shown;
  readonly direction: 'encrypt' | 'decrypt';
  readonly key: { seed: number; off: number; form: Form | 'keyobject'; wrong: Shown | undefined };
  readonly iv: { off: number; form: Form; wrong: Shown | undefined };
  readonly text: Uint8Array;
  readonly aad: Uint8Array;
  readonly tagBytes: number;
  readonly options: Shown;
  /** Is `authTagLength` named? */
  readonly named: boolean;
  readonly plaintextLength: boolean;
}

type Step =
  | { readonly do: 'feed'; readonly bytes: number; readonly form: Form; readonly out: Shown }
  | { readonly do: 'update'; readonly data: Shown; readonly encoding: Shown; readonly out: Shown }
  | { readonly do: 'aad'; readonly data: Shown; readonly options: Shown }
  | { readonly do: 'planned-aad' }
  | {
      readonly do: 'tag';
      readonly how: 'right' | 'wrong' | 'cut' | 'random';
      readonly bytes: number;
      readonly form: Form;
    }
  | { readonly do: 'any-tag'; readonly data: Shown }
  | { readonly do: 'get-tag' }
  | { readonly do: 'padding'; readonly value: Shown }
  | { readonly do: 'final'; readonly out: Shown };

/** Mostly the one output encoding that a program would keep to. */
const out = fc.oneof(
  { weight: 6, arbitrary: fc.constant(show(undefined)) },
  { weight: 2, arbitrary: fc.constant(show('hex')) },
  { weight: 1, arbitrary: encodingValue },
);

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('feed' as const),
      bytes: fc.integer({ min: 0, max: 40 }),
      form,
      out,
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('update' as const), data: anyData, encoding: encodingValue, out }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('aad' as const),
      data: anyData,
      options: fc.oneof(
        fc.constant(show(undefined)),
        fc
          .record({ plaintextLength: fc.constantFrom<unknown>(0, 1, 16, 65536, 2 ** 24, -1, 1.5, 'x', null) })
          .map((v) => show(v)),
        fc.record({ encoding: fc.constantFrom<unknown>('hex', 'utf8', 'nonsense', 5) }).map((v) => show(v)),
      ),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('planned-aad' as const) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('tag' as const),
      how: fc.constantFrom(
        'right' as const,
        'right' as const,
        'wrong' as const,
        'cut' as const,
        'random' as const,
      ),
      bytes: fc.integer({ min: 0, max: 18 }),
      form,
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('any-tag' as const), data: anyData }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('get-tag' as const) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('padding' as const),
      value: fc.constantFrom(...[undefined, true, false, false, 0, 1, null, 'no'].map((v) => show(v))),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('final' as const), out }) },
);

function cipherPlan(names: readonly string[]): fc.Arbitrary<CipherPlan> {
  const often = <T>(usual: T, other: fc.Arbitrary<T>) =>
    fc.oneof({ weight: 14, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: other });
  const seldom = often<Shown | undefined>(undefined, wrongValue);
  return fc.record({
    name: fc.oneof(
      { weight: 40, arbitrary: fc.constantFrom<string | Shown>(...names) },
      { weight: 1, arbitrary: fc.constantFrom<string | Shown>(...NO_CIPHERS) },
      { weight: 1, arbitrary: wrongValue },
    ),
    direction: fc.constantFrom('encrypt' as const, 'decrypt' as const),
    key: fc.record({
      seed: fc.nat(255),
      off: often(0, fc.integer({ min: -40, max: 300 })),
      form: fc.constantFrom<Form | 'keyobject'>(...FORMS, 'keyobject'),
      wrong: seldom,
    }),
    iv: fc.record({ off: often(0, fc.integer({ min: -16, max: 130 })), form, wrong: seldom }),
    text: fc.uint8Array({ maxLength: 70 }),
    aad: fc.uint8Array({ maxLength: 40 }),
    tagBytes: often(16, fc.integer({ min: 0, max: 20 })),
    options: often(
      show(undefined),
      fc.constantFrom<Shown>(
        ...[
          null,
          7,
          'options',
          {},
          { encoding: 5 },
          { authTagLength: -1 },
          { authTagLength: 'x' },
          { highWaterMark: 3 },
        ].map((v) => show(v)),
      ),
    ),
    named: fc.boolean(),
    plaintextLength: often(true, fc.constant(false)),
  });
}

/** The plan with what follows from it: the arguments, and the right ciphertext and tag where there are any. */
function prepare(plan: CipherPlan): {
  args: unknown[];
  text: string;
  mode: string;
  message: Uint8Array;
  tag: Uint8Array;
} {
  const name = plan.name instanceof Shown ? plan.name.value : plan.name;
  let info: nodeCrypto.CipherInfo | undefined;
  try {
    info = nodeCrypto.getCipherInfo(name as string);
  } catch {
    // A name of a wrong type.
  }
  const mode = info?.mode ?? '';
  const keyBytes = new Uint8Array(Math.max(0, (info?.keyLength ?? 16) + plan.key.off));
  for (let i = 0; i < keyBytes.length; i++) keyBytes[i] = (plan.key.seed + i * 37) & 255;
  const ivBytes = new Uint8Array(Math.max(0, (info?.ivLength ?? 0) + plan.iv.off)).fill(plan.key.seed ^ 0x55);
  const key =
    plan.key.form === 'keyobject'
      ? { value: nodeCrypto.createSecretKey(keyBytes), text: `KeyObject of ${keyBytes.length}` }
      : give(keyBytes, plan.key.form);
  const iv = give(
    ivBytes,
    plan.iv.form === 'text' || plan.iv.form === 'hex' || plan.iv.form === 'base64' ? 'u8' : plan.iv.form,
  );
  const options = new Map<string, unknown>();
  if ('encoding' in key && key.encoding) options.set('encoding', key.encoding);
  if (plan.named) options.set('authTagLength', plan.tagBytes);
  const given =
    plan.options.value === undefined
      ? options.size > 0
        ? show(Object.fromEntries(options))
        : plan.options
      : plan.options;
  const keyValue = plan.key.wrong ? plan.key.wrong : show(key.value, key.text);
  const ivValue =
    plan.iv.wrong ??
    (info?.ivLength === undefined && ivBytes.length === 0 ? show(null) : show(iv.value, iv.text));
  const args = [name, keyValue.value, ivValue.value, given.value];
  let message = plan.text;
  let tag = new Uint8Array(plan.tagBytes);
  if (plan.direction === 'decrypt') {
    try {
      const cipher = node.createCipheriv(...(args as [unknown, unknown, unknown, unknown]));
      if (isAead(mode, name)) cipher.setAAD(plan.aad, { plaintextLength: plan.text.length });
      const parts = [cipher.update(plan.text) as unknown as Buffer, cipher.final()];
      message = Buffer.concat(parts);
      if (isAead(mode, name)) tag = Uint8Array.from(cipher.getAuthTag());
    } catch {
      // It cannot be encrypted: any bytes will do.
    }
  }
  return {
    args,
    text: `${plan.direction} ${inspect(name)} key ${keyValue} iv ${ivValue} options ${given}`,
    mode,
    message,
    tag,
  };
}

/** Is there any text in this? */
function carries(data: unknown, encoding: unknown): boolean {
  if (typeof data !== 'string') return (data as { byteLength?: number } | undefined)?.byteLength !== 0;
  return Buffer.from(data, Buffer.isEncoding(encoding as string) ? (encoding as 'hex') : 'utf8').length > 0;
}

const isAead = (mode: string, name: unknown) =>
  ['gcm', 'ccm', 'ocb'].includes(mode) || (typeof name === 'string' && /poly1305/i.test(name));

function runCipher(
  api: CryptoApi,
  plan: CipherPlan,
  steps: readonly Step[],
  complete: boolean,
  after: readonly Step[],
  wholeAeads: boolean,
): void {
  const { args, text, mode, message, tag } = prepare(plan);
  const pair = new Pair('cipher', mode, plan.direction, wholeAeads);
  const method = plan.direction === 'encrypt' ? 'createCipheriv' : 'createDecipheriv';
  const made = pair.create(
    text,
    () => node[method](...(args as [unknown, unknown, unknown, unknown])),
    () => api[method](...(args as [unknown, unknown, unknown, unknown])),
  );
  if (!made) return;
  let at = 0;
  const take = (one: Step): void => {
    switch (one.do) {
      case 'feed': {
        const piece = message.subarray(at, at + one.bytes);
        at += piece.length;
        const { value, encoding, text: shown } = give(piece, one.form === 'arraybuffer' ? 'u8' : one.form);
        pair.call(
          'update',
          [value, encoding, one.out.value],
          `update(${shown}, ${one.out})`,
          piece.length > 0,
        );
        break;
      }
      case 'update':
        pair.call(
          'update',
          [one.data.value, one.encoding.value, one.out.value],
          `update(${one.data}, ${one.encoding}, ${one.out})`,
          carries(one.data.value, one.encoding.value),
        );
        break;
      case 'aad':
        pair.call('setAAD', [one.data.value, one.options.value], `setAAD(${one.data}, ${one.options})`);
        break;
      case 'planned-aad': {
        const options = plan.plaintextLength ? { plaintextLength: message.length } : undefined;
        pair.call('setAAD', [plan.aad, options], `setAAD(the planned, ${inspect(options)})`);
        break;
      }
      case 'tag': {
        let bytes = Uint8Array.from(tag);
        if (one.how === 'wrong' && bytes.length > 0) bytes[0]! ^= 1;
        if (one.how === 'cut') bytes = bytes.slice(0, one.bytes);
        if (one.how === 'random') bytes = new Uint8Array(one.bytes).fill(7);
        const { value, encoding, text: shown } = give(bytes, one.form);
        if (plan.direction === 'decrypt') pair.call('setAuthTag', [value, encoding], `setAuthTag(${shown})`);
        break;
      }
      case 'any-tag':
        if (plan.direction === 'decrypt')
          pair.call('setAuthTag', [one.data.value], `setAuthTag(${one.data})`);
        break;
      case 'get-tag':
        if (plan.direction === 'encrypt') pair.call('getAuthTag', [], 'getAuthTag()');
        break;
      case 'padding':
        pair.call('setAutoPadding', [one.value.value], `setAutoPadding(${one.value})`);
        break;
      case 'final':
        pair.call('final', [one.out.value], `final(${one.out})`);
        break;
    }
  };
  for (const one of steps) take(one);
  if (complete) {
    take({ do: 'feed', bytes: message.length, form: 'buffer', out: show(undefined) });
    take({ do: 'final', out: show(undefined) });
    take({ do: 'get-tag' });
    for (const one of after) take(one);
  }
}

// ---------------------------------------------------------------------------------------------------------------------
// Digests

type DigestStep =
  | { readonly do: 'update'; readonly data: Shown; readonly encoding: Shown }
  | { readonly do: 'digest'; readonly out: Shown }
  | { readonly do: 'copy'; readonly options: Shown; readonly follow: boolean };

const hashOptions = fc.oneof(
  { weight: 5, arbitrary: fc.constant(show(undefined)) },
  {
    weight: 3,
    arbitrary: fc
      .record({
        outputLength: fc.constantFrom<unknown>(
          0,
          1,
          16,
          20,
          32,
          33,
          64,
          200,
          -1,
          1.5,
          '5',
          2 ** 32,
          undefined,
          null,
          Number.NaN,
        ),
      })
      .map((v) => show(v)),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom(...[null, 'text', 5, [], { highWaterMark: 2 }].map((v) => show(v))),
  },
);

const digestStep: fc.Arbitrary<DigestStep> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ do: fc.constant('update' as const), data: anyData, encoding: encodingValue }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('digest' as const), out: encodingValue }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('copy' as const), options: hashOptions, follow: fc.boolean() }),
  },
);

function runDigest(pair: Pair, steps: readonly DigestStep[]): void {
  for (const one of steps) {
    switch (one.do) {
      case 'update':
        pair.call('update', [one.data.value, one.encoding.value], `update(${one.data}, ${one.encoding})`);
        break;
      case 'digest':
        pair.call('digest', [one.out.value], `digest(${one.out})`);
        break;
      case 'copy': {
        if (pair.kind !== 'hash') break;
        const { node: left, ours: right } = pair;
        const copies = new Pair('hash', '', 'encrypt');
        copies.log.push(...pair.log);
        const made = copies.create(
          `copy(${one.options})`,
          () => left!.copy(one.options.value),
          () => right!.copy(one.options.value),
        );
        if (made && one.follow) {
          pair.node = copies.node;
          pair.ours = copies.ours;
        }
        break;
      }
    }
  }
}

const hashName = (names: readonly string[]) =>
  fc.oneof(
    { weight: 20, arbitrary: fc.constantFrom<string | Shown>(...names) },
    { weight: 1, arbitrary: fc.constantFrom<string | Shown>(...NO_HASHES) },
    { weight: 1, arbitrary: wrongValue },
  );

const plainName = (name: string | Shown) => (name instanceof Shown ? name.value : name);

// ---------------------------------------------------------------------------------------------------------------------

export function lockStep(label: string, api: CryptoApi, options: LockStepOptions): void {
  const { runs, pinned = false } = options;
  const ciphers = options.ciphers ?? (pinned ? CIPHERS : [...CIPHERS, ...WRAPS]);
  const hashes = options.hashes ?? HASHES;
  const parameters = { seed: SEED, numRuns: runs, includeErrorInReport: true };
  describe(`${label} in lock step with node:crypto`, () => {
    test('ciphers', (t) => {
      seen = new Map();
      fc.assert(
        fc.property(
          cipherPlan(ciphers),
          fc.array(step, { maxLength: 7 }),
          fc.boolean(),
          fc.array(step, { maxLength: 3 }),
          (plan, steps, complete, after) =>
            runCipher(api, plan, steps, complete, after, options.wholeAeads ?? false),
        ),
        parameters,
      );
      t.diagnostic(`documented differences met: ${inspect(Object.fromEntries(seen), { breakLength: 300 })}`);
    });

    test('hashes', () => {
      seen = new Map();
      fc.assert(
        fc.property(
          hashName(hashes),
          hashOptions,
          fc.array(digestStep, { maxLength: 7 }),
          (name, given, steps) => {
            const pair = new Pair('hash', '', 'encrypt');
            const made = pair.create(
              `createHash(${inspect(plainName(name))}, ${given})`,
              () => node.createHash(plainName(name), given.value),
              () => api.createHash(plainName(name), given.value),
            );
            if (made) runDigest(pair, steps);
          },
        ),
        parameters,
      );
    });

    test('MACs', () => {
      seen = new Map();
      const key = fc.oneof(
        {
          weight: 8,
          arbitrary: fc.tuple(fc.uint8Array({ maxLength: 300 }), form).map(([bytes, as]) => give(bytes, as)),
        },
        {
          weight: 1,
          arbitrary: fc
            .uint8Array({ maxLength: 40 })
            .map((bytes) => ({ value: nodeCrypto.createSecretKey(bytes), text: 'KeyObject' })),
        },
        { weight: 1, arbitrary: wrongValue },
      );
      fc.assert(
        fc.property(
          hashName(hashes.filter((name) => !/shake/i.test(name))),
          key,
          fc.constantFrom(
            ...[undefined, null, {}, 5, { encoding: 'hex' }, { encoding: 5 }].map((v) => show(v)),
          ),
          fc.array(digestStep, { maxLength: 7 }),
          (name, given, other, steps) => {
            const encoding = (given as Given).encoding;
            const used = encoding && other.value === undefined ? show({ encoding }) : other;
            const pair = new Pair('hmac', '', 'encrypt');
            const made = pair.create(
              `createHmac(${inspect(plainName(name))}, ${given.text}, ${used})`,
              () => node.createHmac(plainName(name), given.value, used.value),
              () => api.createHmac(plainName(name), given.value, used.value),
            );
            if (made) runDigest(pair, steps);
          },
        ),
        parameters,
      );
    });

    test('hash() and getCipherInfo()', () => {
      seen = new Map();
      fc.assert(
        fc.property(hashName(hashes), anyData, encodingValue, (name, data, encoding) => {
          const args = [plainName(name), data.value, encoding.value] as const;
          const [a, b] = [attempt(() => node.hash(...args)), attempt(() => api.hash(...args))];
          assert.ok(
            sameOutcome(a, b),
            `hash(${inspect(args)})\n  node:crypto ${describeOutcome(a)}\n  hwcrypt     ${describeOutcome(b)}`,
          );
        }),
        parameters,
      );
      const length = fc.constantFrom<unknown>(undefined, 0, 8, 12, 16, 24, 32, -1, 1.5, 'x', null, 2 ** 31);
      fc.assert(
        fc.property(
          fc.oneof(
            fc.constantFrom<unknown>(...ciphers, ...NO_CIPHERS, 418, 419, 31, -1, 0, 1.5),
            wrongValue.map((v) => v.value),
          ),
          fc.oneof(
            fc.constantFrom<unknown>(undefined, null, {}, 5, 'x', []),
            fc.record({ keyLength: length, ivLength: length }),
            fc.record({ keyLength: length }),
          ),
          (name, given) => {
            const ask = (of: CryptoApi) => attempt(() => JSON.stringify(of.getCipherInfo(name, given)));
            const [a, b] = [ask(node), ask(api)];
            assert.ok(
              sameOutcome(a, b),
              `getCipherInfo(${inspect(name)}, ${inspect(given)})\n  node:crypto ${describeOutcome(a)}\n  hwcrypt     ${describeOutcome(b)}`,
            );
          },
        ),
        { ...parameters, numRuns: Math.min(runs, 1000) },
      );
    });
  });
}
