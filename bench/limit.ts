/** The libcrypto driver against OpenSSL's own C benchmark, turn by turn. */
import { spawnSync } from 'node:child_process';
import crypto from 'node:crypto';

import { cipherLike } from '#src/algorithms.js';
import { median } from '#src/bench/engine/statistics.js';
import { getDriver } from '#src/drivers/registry.js';
import * as hwcrypt from '#src/index.js';
import { ns, ratio, type Section } from './report.js';

/** Nanoseconds a request of `openssl speed -elapsed -evp`, read from its machine-readable count line. */
function opensslNs(algorithm: string, bytes: number): number {
  const run = spawnSync(
    'openssl',
    ['speed', '-elapsed', '-mr', '-seconds', '1', '-bytes', String(bytes), '-evp', algorithm],
    { encoding: 'utf8' },
  );
  const line = /^\+R:(\d+):[^:]+:([\d.]+)/m.exec(`${run.stderr}\n${run.stdout}`);
  if (!line) throw new Error(`openssl speed ${algorithm} printed no result`);
  return (Number(line[2]) * 1e9) / Number(line[1]);
}

function oursNs(work: () => void): number {
  const start = process.hrtime.bigint();
  let count = 0;
  for (;;) {
    for (let i = 0; i < 100; i++) work();
    count += 100;
    const elapsed = Number(process.hrtime.bigint() - start);
    if (elapsed > 1e9) return elapsed / count;
  }
}

export function limits(): Section {
  const key = crypto.randomBytes(32);
  const cases: { algorithm: string; bytes: number; most: number; work: () => void }[] = [];
  {
    const data = crypto.randomBytes(64);
    const iv = crypto.randomBytes(12);
    const output = Buffer.alloc(80);
    cases.push({
      algorithm: 'aes-256-gcm',
      bytes: 64,
      most: 1.5,
      work: () => {
        hwcrypt.encrypt('aes-256-gcm', key, iv, data, { output });
      },
    });
  }
  {
    // As openssl speed has it: text after text in place under one nonce, and never a tag. 2^36 bytes are a nonce's limit, which
    // some seconds do not reach.
    const data = crypto.randomBytes(16384);
    const algorithm = cipherLike('aes-256-gcm');
    if (algorithm?.kind !== 'aead') throw new Error('aes-256-gcm is not in the table');
    const session = getDriver('libcrypto').aead(algorithm, 'encrypt', key);
    session.begin(crypto.randomBytes(12));
    cases.push({
      algorithm: 'aes-256-gcm',
      bytes: 16384,
      most: 1.05,
      work: () => session.update(data, data),
    });
  }
  {
    const data = crypto.randomBytes(16384);
    const algorithm = cipherLike('aes-128-cbc');
    if (algorithm?.kind !== 'cipher') throw new Error('aes-128-cbc is not in the table');
    const session = getDriver('libcrypto').cipher(
      algorithm,
      'encrypt',
      key.subarray(0, 16),
      crypto.randomBytes(16),
    );
    cases.push({
      algorithm: 'aes-128-cbc',
      bytes: 16384,
      most: 1.05,
      work: () => session.update(data, data),
    });
  }
  const rows = cases.map(({ algorithm, bytes, most, work }) => {
    oursNs(work);
    const ours: number[] = [];
    const theirs: number[] = [];
    for (let round = 0; round < 7; round++) {
      ours.push(oursNs(work));
      theirs.push(opensslNs(algorithm, bytes));
    }
    const times = median(ours.map((value, i) => value / theirs[i]!));
    return {
      what: `${algorithm} ${bytes} B`,
      cells: [ns(median(ours)), ns(median(theirs)), ratio(times), `≤ ${most}x`],
      met: times <= most,
    };
  });
  return {
    title: 'Against the C limit',
    command: 'npm run bench -- limit',
    how: 'hwcrypt in turn with `openssl speed -elapsed -evp`, a second each, 7 rounds; hwcrypt’s time divided by OpenSSL’s. 16 KiB: a session’s update in place, which is what OpenSSL times; 64 B: a whole one-shot seal into a caller’s buffer, key and nonce set and the tag taken, where OpenSSL only updates.',
    columns: ['hwcrypt', 'openssl speed', 'times as slow', 'wanted'],
    rows,
  };
}
