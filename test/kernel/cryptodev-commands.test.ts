/** The commands with a /dev/crypto: what `list` says of it, files that `enc` and `dgst` put through it, and that `speed` measures it. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createHash, createHmac, randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { CRYPTODEV_IDS } from '#src/drivers/cryptodev/ids.js';
import { importOne } from '#src/interop/index.js';
import type { DriverAlgorithms } from '#src/report/driver-algorithms.js';
import { type Cryptodev, serve } from '../../rig/cryptodev/index.js';
import { projectFolder } from '../../rig/index.js';

const folder = mkdtempSync(join(tmpdir(), 'hwcrypt-cryptodev-'));
/** Longer than two requests, and no whole number of blocks. */
const BYTES = 2_500_003;
const plain = join(folder, 'plain');
const data = randomBytes(BYTES);
let provider: Cryptodev;

before(async () => {
  writeFileSync(plain, data);
  provider = await serve();
});
after(async () => {
  await provider?.stop();
  rmSync(folder, { recursive: true, force: true });
});

function hwcrypt(...argv: string[]): { stdout: string; stderr: string; status: number | null } {
  const file = `${projectFolder}/dist/cli/main.js`;
  return spawnSync(process.execPath, [file, ...argv], { encoding: 'utf8', timeout: 120_000 });
}

function openssl(...argv: string[]): string {
  const { stdout, stderr, status } = spawnSync('openssl', argv, { encoding: 'utf8' });
  assert.equal(status, 0, stderr);
  return stdout;
}

/** What the provider was asked for meanwhile. */
async function requests(act: () => void): Promise<{ requests: number; bytes: number }> {
  const earlier = await provider.counters();
  act();
  const now = await provider.counters();
  return { requests: now.requests - earlier.requests, bytes: now.bytes - earlier.bytes };
}

test('list --driver cryptodev: every number, by whom or why not', async () => {
  await provider.set({ claims: { 'cbc(aes)': { driver: 'cbc-aes-mt7628', hardware: true } } });
  const { stdout, stderr, status } = hwcrypt('list', '--driver', 'cryptodev');
  assert.equal(status, 0, stderr);
  assert.match(stdout, /^cryptodev +yes +\/dev\/crypto/m);
  assert.match(stdout, /^cryptodev: who does what\n *id +CRYPTO_ +algorithm +work +kernel driver, or why/m);
  // The table of the first report from the field: DES, 3DES, AES-CBC, AES-CTR, Blowfish; CAST5 has a number and is not mapped.
  for (const [id, idName, algorithm] of [
    [1, 'DES_CBC', 'des-cbc'],
    [2, '3DES_CBC', 'des-ede3-cbc'],
    [3, 'BLF_CBC', 'bf-cbc'],
    [21, 'AES_CTR', 'aes-256-ctr'],
    [104, 'SHA2_256', 'sha256'],
  ] as const) {
    assert.match(stdout, new RegExp(`^ *${id} +${idName} +${algorithm} +(?:software|unknown) +\\S+`, 'm'));
  }
  for (const bits of [128, 192, 256]) {
    assert.match(stdout, new RegExp(`^ *11 +AES_CBC +aes-${bits}-cbc +hardware +cbc-aes-mt7628`, 'm'));
  }
  assert.match(stdout, /^ *4 +CAST_CBC +cast5-cbc +no +\S+/m);
  assert.match(stdout, /^ *15 +DEFLATE_COMP +- +no +\S+/m);
  await provider.set({});
});

test('list --driver cryptodev --json, and a topic', () => {
  const { stdout, status } = hwcrypt('list', '--driver', 'cryptodev', '--json');
  assert.equal(status, 0);
  const { algorithms: rows } = JSON.parse(stdout) as DriverAlgorithms;
  assert.deepEqual(
    [...new Set(rows.map(({ id }) => id))],
    CRYPTODEV_IDS.map(({ id }) => id),
  );
  for (const { id, idName, supported, kernelDriver, evidence, reason } of rows) {
    assert.equal(kernelDriver !== undefined && (evidence?.length ?? 0) > 0, supported, idName);
    assert.equal(reason === undefined, supported, `${id}`);
  }
});

test('enc: a file that openssl enc reads, one that it wrote, and the same bytes', async () => {
  const key = randomBytes(32).toString('hex');
  const iv = randomBytes(16).toString('hex');
  const [ours, theirs, back] = ['ours', 'theirs', 'back'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  for (const cipher of ['aes-256-cbc', 'aes-256-ctr']) {
    const name = [`-${cipher}`, '-K', key, '-iv', iv];
    const served = await requests(() => {
      const run = hwcrypt('enc', ...name, '-v', '--driver', 'cryptodev', '-in', plain, '-out', ours);
      assert.equal(run.status, 0, run.stderr);
      assert.match(run.stderr, /^driver {7}: cryptodev:\S+$/m);
    });
    // All of it, and not in small pieces: what an engine's fixed cost asks for. Some hundred are the proof before its first use.
    assert.ok(served.bytes >= BYTES - 16 && served.requests <= 200 + BYTES / 65_536, JSON.stringify(served));
    openssl('enc', ...name, '-in', plain, '-out', theirs);
    assert.ok(readFileSync(ours).equals(readFileSync(theirs)), cipher);
  }
  // With a passphrase, from openssl.
  const pass = ['-aes-128-cbc', '-pbkdf2', '-iter', '10', '-k', 'served'];
  openssl('enc', ...pass, '-in', plain, '-out', theirs);
  const run = hwcrypt('enc', '-d', ...pass, '--driver', 'cryptodev', '-in', theirs, '-out', back);
  assert.equal(run.status, 0, run.stderr);
  assert.ok(readFileSync(back).equals(data));
});

test('dgst: the digest and the HMAC of a file', async () => {
  for (const [argv, judge] of [
    [['-sha256'], createHash('sha256')],
    [['-sha1', '-hmac', 'key'], createHmac('sha1', 'key')],
  ] as const) {
    const served = await requests(() => {
      const { stdout, stderr, status } = hwcrypt('dgst', ...argv, '--driver', 'cryptodev', plain);
      assert.equal(status, 0, stderr);
      assert.equal(stdout.trimEnd().split('= ')[1], judge.update(data).digest('hex'));
      assert.equal(stdout, openssl('dgst', ...argv, plain));
    });
    assert.ok(served.bytes >= BYTES, JSON.stringify(served));
  }
});

test('speed -engine devcrypto: measured through the device, with its driver’s name, as openssl prints it', () => {
  const argv = ['-engine', 'devcrypto', '-evp', 'aes-128-cbc', '-seconds', '0.2', '-bytes', '1024'];
  const { stdout, stderr, status } = hwcrypt('speed', ...argv);
  assert.equal(status, 0, stderr);
  assert.match(
    stderr,
    /^hwcrypt: speed: engine "devcrypto": measured is hwcrypt's driver cryptodev, without OpenSSL's engine/m,
  );
  assert.match(stdout, /^options: hwcrypt \S+ driver=cryptodev:\S+ operation=encrypt$/m);
  const [own] = importOne(stderr + stdout).runs[0]!.measurements;
  assert.deepEqual([own?.driver, own?.status, own?.doubts], ['cryptodev', 'ok', []]);
});
