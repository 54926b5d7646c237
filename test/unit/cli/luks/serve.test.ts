/** `luks serve` as qemu's tools use it. */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { Random } from '../../../helpers/random.js';
import { ended, hwcrypt, scratch, start } from '../helpers.js';

const folder = scratch();
const path = (name: string): string => join(folder, name);
const skip = spawnSync('qemu-io', ['--version']).error ? 'qemu-io is not installed: it is the client' : false;

const PASS = ['-pass', 'pass:p'];
const uri = `nbd+unix:///?socket=${path('s')}`;

/** Where the last server said that it is. */
let told = '';

/** A server that says where it is. */
async function serving(...args: string[]): Promise<ReturnType<typeof start>> {
  const child = start(['luks', 'serve', path('img'), ...PASS, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const line = await new Promise<string>((resolve, reject) => {
    child.stdout?.once('data', (chunk) => resolve(String(chunk)));
    child.stderr?.once('data', (chunk) => reject(new Error(String(chunk))));
  });
  assert.match(line, /^nbd(\+unix)?:\/\//);
  told = line.trim();
  return child;
}

/** Not spawnSync: nothing else here needs to run meanwhile, but the server is another process anyway. */
const qemu = (tool: string, ...args: string[]): string => {
  const { status, stdout, stderr } = spawnSync(tool, args, { encoding: 'utf8', timeout: 60_000 });
  assert.equal(status, 0, `${tool} ${args.join(' ')}: ${stdout}${stderr}`);
  return stdout;
};

test('qemu reads what is in it, writes into it, and what it wrote is there', { skip }, async () => {
  const plain = Buffer.from(new Random('serve').bytes(3 * 2 ** 20));
  writeFileSync(path('plain'), plain);
  const cheap = ['--pbkdf-memory', '64', '--pbkdf-force-iterations', '4', '--offset', '1M'];
  assert.equal(hwcrypt(['luks', 'format', path('img'), '--size', '3M', ...cheap, ...PASS]).stderr, '');
  assert.equal(hwcrypt(['luks', 'write', path('img'), '-in', path('plain'), ...PASS]).stderr, '');

  const child = await serving('--socket', path('s'));
  assert.equal(statSync(path('s')).mode & 0o777, 0o600);
  qemu('qemu-img', 'convert', '-f', 'raw', '-O', 'raw', uri, path('copy'));
  assert.ok(readFileSync(path('copy')).equals(plain));
  // Off every alignment, zeros, and a flush.
  qemu('qemu-io', '-f', 'raw', '-c', 'write -P 0x5a 1000 5001', '-c', 'write -z 1M 64k', '-c', 'flush', uri);
  const busy = hwcrypt(['luks', 'serve', path('img'), '--socket', path('t'), ...PASS]);
  assert.match(busy.stderr, /it is served or being changed by another process/);
  child.kill('SIGTERM');
  assert.deepEqual(await ended(child), { status: 0, signal: null });
  plain.fill(0x5a, 1000, 6001);
  plain.fill(0, 2 ** 20, 2 ** 20 + 65536);
  assert.ok(hwcrypt(['luks', 'cat', path('img'), ...PASS]).bytes.equals(plain));

  const before = readFileSync(path('img'));
  const once = await serving('--socket', path('s'), '--read-only', '--once', '--export', 'disk');
  const refused = spawnSync('qemu-io', [
    '-f',
    'raw',
    '-c',
    'write 0 512',
    `nbd+unix:///disk?socket=${path('s')}`,
  ]);
  assert.notEqual(refused.status, 0);
  assert.deepEqual(await ended(once), { status: 0, signal: null });
  assert.ok(readFileSync(path('img')).equals(before));
});

test('wrong command lines', () => {
  for (const [args, status, says] of [
    [['luks', 'serve', path('img')], 2, /say where to listen/],
    [['luks', 'serve', path('img'), '--socket', 'a', '--port', '1'], 2, /has no effect beside/],
    [
      ['luks', 'serve', path('img'), ...PASS, '--socket', path('s'.repeat(108))],
      1,
      /a socket's has 107 at most/,
    ],
    [['luks', 'serve', path('img'), '--port', '70000'], 2, /0 to 65535/],
  ] as const) {
    const result = hwcrypt(args);
    assert.equal(result.status, status, result.stderr);
    assert.match(result.stderr, says);
  }
});

const noLibnbd = spawnSync('nbdcopy', ['--version']).error
  ? 'libnbd-bin is not installed: its tools are the clients'
  : false;

test('nbdinfo and nbdcopy, by several connections, through a socket and a port', {
  skip: noLibnbd,
}, async () => {
  const plain = Buffer.from(new Random('libnbd').bytes(3 * 2 ** 20));
  writeFileSync(path('plain'), plain);
  const cheap = ['--pbkdf-memory', '64', '--pbkdf-force-iterations', '4', '--offset', '1M', '--force'];
  assert.equal(hwcrypt(['luks', 'format', path('img'), '--size', '3M', ...cheap, ...PASS]).stderr, '');
  for (const address of [
    ['--socket', path('s')],
    ['--port', '0'],
  ]) {
    const child = await serving(...address);
    const at = told;
    const info = JSON.parse(qemu('nbdinfo', '--json', at)).exports[0];
    assert.equal(info['export-size'], plain.length);
    assert.deepEqual(
      [info.is_read_only, info.can_trim, info.can_multi_conn, info.can_fua],
      [false, false, true, true],
    );
    qemu('nbdcopy', '--connections=4', '--request-size=65536', '--flush', path('plain'), at);
    qemu('nbdcopy', '--connections=4', at, path('copy'));
    assert.ok(readFileSync(path('copy')).equals(plain), at);
    child.kill('SIGTERM');
    assert.deepEqual(await ended(child), { status: 0, signal: null });
    assert.ok(hwcrypt(['luks', 'cat', path('img'), ...PASS]).bytes.equals(plain));
    plain.reverse();
    writeFileSync(path('plain'), plain);
  }
});

test('two clients that write halves of the same sectors lose none; kill -9 in the middle leaves an image that opens', {
  skip,
}, async () => {
  const cheap = ['--pbkdf-memory', '64', '--pbkdf-force-iterations', '4', '--offset', '1M', '--force'];
  assert.equal(hwcrypt(['luks', 'format', path('img'), '--size', '1M', ...cheap, ...PASS]).stderr, '');
  const child = await serving('--socket', path('s'));
  const client = (pattern: number, first: number): ReturnType<typeof spawn> => {
    const commands = Array.from({ length: 128 }, (_, i) => [
      '-c',
      `write -q -P ${pattern} ${first + i * 1024} 512`,
    ]);
    return spawn('qemu-io', ['-f', 'raw', ...commands.flat(), uri], { stdio: 'ignore' });
  };
  const results = await Promise.all([client(1, 0), client(2, 512)].map(ended));
  assert.deepEqual(
    results.map(({ status }) => status),
    [0, 0],
  );
  const header = readFileSync(path('img')).subarray(0, 2 ** 20);
  child.kill('SIGKILL');
  await ended(child);
  const after = readFileSync(path('img'));
  assert.ok(after.subarray(0, 2 ** 20).equals(header));
  const seen = hwcrypt(['luks', 'cat', path('img'), '--length', '128K', ...PASS]).bytes;
  assert.ok(seen.every((byte, i) => byte === (i % 1024 < 512 ? 1 : 2)));
  // The socket that it left is in nobody's way.
  const next = await serving('--socket', path('s'));
  next.kill('SIGTERM');
  assert.deepEqual(await ended(next), { status: 0, signal: null });
});
