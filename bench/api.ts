/** The API against node:crypto, call by call in one process. */
import crypto from 'node:crypto';

import * as hwcrypt from '#src/index.js';

import { ns, ratio, type Section } from './report.js';
import { compare } from './rounds.js';

const key32 = crypto.randomBytes(32);
const key16 = key32.subarray(0, 16);
const iv12 = crypto.randomBytes(12);
const iv16 = crypto.randomBytes(16);
const COMMAND = (name: string): string => `npm run bench -- ${name}`;

/** One-shot messages: what a program that encrypts many small things does. */
export function oneShots(): Section {
  const cases: { what: string; least?: number; ours: () => unknown; theirs: () => unknown }[] = [];
  const gcm = (size: number, least?: number): void => {
    const data = crypto.randomBytes(size);
    cases.push({
      what: `AES-256-GCM seal ${size} B`,
      ...(least === undefined ? {} : { least }),
      ours: () => hwcrypt.encrypt('aes-256-gcm', key32, iv12, data),
      theirs: () => {
        const cipher = crypto.createCipheriv('aes-256-gcm', key32, iv12);
        return [Buffer.concat([cipher.update(data), cipher.final()]), cipher.getAuthTag()];
      },
    });
  };
  const cbc = (size: number, least?: number): void => {
    const data = crypto.randomBytes(size);
    cases.push({
      what: `AES-128-CBC encrypt ${size} B`,
      ...(least === undefined ? {} : { least }),
      ours: () => hwcrypt.encrypt('aes-128-cbc', key16, iv16, data),
      theirs: () => {
        const cipher = crypto.createCipheriv('aes-128-cbc', key16, iv16);
        return Buffer.concat([cipher.update(data), cipher.final()]);
      },
    });
  };
  const sha = (size: number, least?: number): void => {
    const data = crypto.randomBytes(size);
    cases.push({
      what: `SHA-256 ${size} B`,
      ...(least === undefined ? {} : { least }),
      ours: () => hwcrypt.digest('sha256', data),
      theirs: () => crypto.createHash('sha256').update(data).digest(),
    });
  };
  const hmac = (size: number): void => {
    const data = crypto.randomBytes(size);
    cases.push({
      what: `HMAC-SHA-256 ${size} B`,
      ours: () => hwcrypt.hmac('sha256', key32, data),
      theirs: () => crypto.createHmac('sha256', key32).update(data).digest(),
    });
  };
  gcm(64, 8);
  gcm(1024);
  gcm(16384);
  cbc(16, 8);
  cbc(1024);
  cbc(16384);
  sha(64, 5);
  sha(1024);
  hmac(64);
  const rows = cases.map(({ what, least, ours, theirs }) => {
    const result = compare(ours, theirs);
    return {
      what,
      cells: [
        ns(result.oursNs),
        ns(result.theirsNs),
        ratio(result.ratio),
        `${ratio(result.lowest)}…${ratio(result.highest)}`,
        least === undefined ? '' : `≥ ${least}x`,
      ],
      ...(least === undefined ? {} : { met: result.ratio >= least }),
    };
  });
  return {
    title: 'One message, one call',
    command: COMMAND('one-shot'),
    how: 'hwcrypt.encrypt / digest / hmac against createCipheriv, createHash and createHmac of node:crypto in the same process, 11 interleaved rounds; the ratio is the median of the rounds’ ratios.',
    columns: ['hwcrypt', 'node:crypto', 'times as fast', 'range', 'wanted'],
    rows,
  };
}

/** `createCipheriv().update()`: never slower at any size. */
export function updates(): Section {
  const rows = [];
  for (const [algorithm, key, iv] of [
    ['aes-128-cbc', key16, iv16],
    ['aes-256-ctr', key32, iv16],
    ['aes-256-gcm', key32, iv12],
  ] as const) {
    const ours = hwcrypt.createCipheriv(algorithm, key, iv);
    const theirs = crypto.createCipheriv(algorithm, key, iv);
    for (const size of [1, 16, 17, 64, 256, 1000, 1024, 4096, 8192, 16384, 65536, 262144, 1048576]) {
      const data = crypto.randomBytes(size);
      const result = compare(
        () => ours.update(data),
        () => theirs.update(data),
        { rounds: 9, roundMs: size < 65536 ? 50 : 200 },
      );
      rows.push({
        what: `${algorithm} ${size} B`,
        cells: [
          ns(result.oursNs),
          ns(result.theirsNs),
          ratio(result.ratio),
          `${ratio(result.lowest)}…${ratio(result.highest)}`,
        ],
        // Where both are bound by AES itself, a few per cent are the noise of the machine.
        met: result.ratio >= 0.97,
      });
    }
  }
  return {
    title: 'createCipheriv().update()',
    command: COMMAND('update'),
    how: 'The same call on hwcrypt’s and node:crypto’s object, 9 interleaved rounds. Wanted: never slower (0.97x counts as equal, the machine’s noise).',
    columns: ['hwcrypt', 'node:crypto', 'times as fast', 'range'],
    rows,
  };
}

/** The whole life of an object: create, update, final. */
export function objects(): Section {
  const data = crypto.randomBytes(64);
  const pairs: [string, () => unknown, () => unknown][] = [
    [
      'createCipheriv aes-128-cbc, 64 B',
      () => {
        const cipher = hwcrypt.createCipheriv('aes-128-cbc', key16, iv16);
        return [cipher.update(data), cipher.final()];
      },
      () => {
        const cipher = crypto.createCipheriv('aes-128-cbc', key16, iv16);
        return [cipher.update(data), cipher.final()];
      },
    ],
    [
      'createCipheriv aes-256-gcm, 64 B',
      () => {
        const cipher = hwcrypt.createCipheriv('aes-256-gcm', key32, iv12);
        return [cipher.update(data), cipher.final(), cipher.getAuthTag()];
      },
      () => {
        const cipher = crypto.createCipheriv('aes-256-gcm', key32, iv12);
        return [cipher.update(data), cipher.final(), cipher.getAuthTag()];
      },
    ],
    [
      'createHash sha256, 64 B',
      () => hwcrypt.createHash('sha256').update(data).digest(),
      () => crypto.createHash('sha256').update(data).digest(),
    ],
    [
      'createHmac sha256, 64 B',
      () => hwcrypt.createHmac('sha256', key32).update(data).digest(),
      () => crypto.createHmac('sha256', key32).update(data).digest(),
    ],
  ];
  return {
    title: 'Objects, from creation to result',
    command: COMMAND('objects'),
    how: 'create…, update, final or digest, with hwcrypt and with node:crypto, 11 interleaved rounds.',
    columns: ['hwcrypt', 'node:crypto', 'times as fast', 'range'],
    rows: pairs.map(([what, ours, theirs]) => {
      const result = compare(ours, theirs);
      return {
        what,
        cells: [
          ns(result.oursNs),
          ns(result.theirsNs),
          ratio(result.ratio),
          `${ratio(result.lowest)}…${ratio(result.highest)}`,
        ],
        met: result.ratio >= 0.97,
      };
    }),
  };
}
