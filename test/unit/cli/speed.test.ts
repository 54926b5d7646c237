/** `hwcrypt speed`: OpenSSL's options and layout, what stands beside it, and what becomes of a run that ends early. No time is asserted. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ResultSet } from '#src/bench/model.js';
import { command } from '#src/cli/commands/speed.js';
import { getDriver } from '#src/drivers/index.js';
import { importOne, importResults, readJson } from '#src/interop/index.js';
import { ended, failure, hwcrypt, noOpenssl, program, shell, start } from './helpers.js';

const SHORT = ['speed', '-seconds', '0.03'];
const HERE = getDriver('libcrypto').probe().available ? 'libcrypto' : 'node';
const ONE = [...SHORT, '--driver', HERE];

function only<T>(list: readonly T[]): T {
  assert.equal(list.length, 1);
  return list[0] as T;
}

/** Every doubt in a set, by code. */
function doubts({ runs }: ResultSet): string[] {
  return runs.flatMap((run) => [
    ...run.doubts.map(({ code }) => code),
    ...run.measurements.flatMap((own) => own.doubts.map(({ code }) => code)),
  ]);
}

test('one driver: standard output is openssl’s table and nothing else', () => {
  const { status, stdout, stderr } = hwcrypt([...ONE, '-elapsed', '-evp', 'aes-128-cbc']);
  assert.equal(status, 0, stderr);
  assert.match(
    stdout,
    /^version: \S+\noptions: hwcrypt \S+ driver=\S+ operation=encrypt\nThe 'numbers' are in 1000s of bytes per second processed\.\ntype {13}16 bytes {5}64 bytes {4}256 bytes {3}1024 bytes {3}8192 bytes {2}16384 bytes\nAES-128-CBC {2}(?: +\d+\.\d\dk){6}\n$/,
  );
  assert.match(stderr, /^You have chosen to measure elapsed time instead of user CPU time\.\n/);
  const steps = stderr.match(
    /^Doing AES-128-CBC for 0\.03s on \d+ size blocks: \d+ AES-128-CBC's in 0\.\d\ds$/gm,
  );
  assert.equal(steps?.length, 6);
  // What openssl does not tell is beside it.
  assert.match(stderr, /^# request +\S+ +CPU$/m);
  assert.match(stderr, new RegExp(`^# ${HERE}: \\S+; software on the CPU$`, 'm'));
});

test('our own importer reads it without a doubt: text, -mr, -multi, with the command line above or not', () => {
  for (const [options, name, operation, sizes] of [
    [['-evp', 'aes-128-cbc'], 'aes-128-cbc', 'encrypt', 6],
    [['-evp', 'aes-128-cbc', '-decrypt', '-bytes', '4096'], 'aes-128-cbc', 'decrypt', 1],
    [['aes-256-cbc', '-bytes', '64'], 'aes-256-cbc', 'encrypt', 1],
    [['-hmac', 'sha256', '-bytes', '64'], 'hmac-sha256', 'mac', 1],
    [['sha256', '-bytes', '1000'], 'sha256', 'digest', 1],
    [['-evp', 'aes-128-gcm', '-aead'], 'aes-128-gcm', 'encrypt', 6],
    [['-evp', 'aes-128-cbc', '-multi', '2', '-bytes', '1024'], 'aes-128-cbc', 'encrypt', 1],
  ] as const) {
    for (const form of [[], ['-mr']]) {
      // Both streams in the order in which a terminal has them.
      const { stdout: whole, status } = shell(`hwcrypt ${[...ONE, ...options, ...form].join(' ')} 2>&1`);
      const what = [...options, ...form].join(' ');
      assert.equal(status, 0, what);
      const told = `$ hwcrypt speed ${options.join(' ')}\n${whole}`;
      // With -mr there is nothing but the command line to tell the direction.
      for (const text of form.length === 0 ? [told, whole] : [told]) {
        const set = importOne(text);
        assert.equal(set.tool, 'openssl speed');
        assert.deepEqual(doubts(set), [], `${what}\n${text}`);
        assert.deepEqual(set.skipped, []);
        const { measurements } = only(set.runs);
        assert.equal(measurements.length, sizes, what);
        for (const own of measurements) {
          assert.deepEqual(
            [own.algorithm, own.operation, own.basis, own.status],
            [name, operation, 'elapsed', 'ok'],
          );
          assert.ok(own.bytesPerSecond! > 0 && own.requests! > 0);
        }
      }
      if (form.length === 0) {
        const [own] = only(importOne(whole).runs).measurements;
        assert.equal(own?.driver, HERE);
        assert.ok(own?.kernelDriver);
      }
    }
  }
});

test('the same lines as openssl prints, but for the digits', { skip: noOpenssl }, (t) => {
  const version = program('openssl', ['version']).stdout;
  if (!version.startsWith('OpenSSL 3.0.')) return t.skip(version);
  const shape = (text: string): string[] =>
    text
      .split('\n')
      .filter((line) => !/^(?:version|built on|options|compiler|CPUINFO):/.test(line))
      .map((line) => line.replace(/for [\d.]+s/, 'for Ns').replace(/(\+DT:.*?:)[\d.]+:/, '$1N:'))
      .map((line) => line.replace(/ *\d+\.\d{2,6}[ks]?|\d+(?= \S+'s in)|(?<=\+R:)\d+/g, '#').trimEnd());
  for (const options of [
    ['-evp', 'aes-128-cbc', '-bytes', '1024'],
    ['-evp', 'aes-128-cbc', '-bytes', '1024', '-mr'],
    ['-evp', 'sha256', '-bytes', '1024', '-mr'],
    ['-hmac', 'sha256', '-bytes', '64'],
    ['-cmac', 'aes-128-cbc', '-bytes', '64'],
    ['-evp', 'chacha20-poly1305', '-aead', '-bytes', '64'],
    ['-bytes', '1024', 'aes-128-cbc'],
    ['-evp', 'aes-128-cbc', '-bytes', '1024', '-multi', '2', '-mr'],
    ['-evp', 'aes-128-cbc', '-bytes', '1024', '-multi', '2'],
  ]) {
    const theirs = program('openssl', ['speed', '-elapsed', '-seconds', '1', ...options]);
    const ours = hwcrypt([...ONE, ...options]);
    assert.deepEqual(shape(ours.stdout), shape(theirs.stdout), options.join(' '));
    const wanted = shape(theirs.stderr).filter((line) => line !== '');
    // The children's lines come in any order there.
    assert.deepEqual(shape(ours.stderr).slice(0, wanted.length).sort(), wanted.sort(), options.join(' '));
  }
});

test('-engine devcrypto is the driver cryptodev: where there is none, its cause and its cure', {
  skip: existsSync('/dev/crypto') && 'there is one here',
}, () => {
  const { stdout, stderr, status } = hwcrypt([...SHORT, '-engine', 'devcrypto', '-evp', 'aes-128-cbc']);
  assert.deepEqual([stdout, status], ['', 1]);
  assert.match(
    stderr,
    /engine "devcrypto": measured is hwcrypt's driver cryptodev, without OpenSSL's engine/,
  );
  assert.match(stderr, /^hwcrypt: speed: .*\/dev\/crypto/m);
});

test('several drivers: the first one’s table, a blank line, and all of them side by side', (t) => {
  if (HERE !== 'libcrypto') return t.skip('one driver here');
  const { stdout, stderr, status } = hwcrypt([
    ...SHORT,
    ...['--driver', 'libcrypto,node', '-evp', 'aes-128-cbc'],
  ]);
  assert.equal(status, 0, stderr);
  const [table, section, ...rest] = stdout.split('\n\n');
  assert.deepEqual(rest, []);
  assert.match(table!, /^AES-128-CBC .*k$/m);
  assert.match(section!, /^# aes-128-cbc, encrypt: MB\/s/);
  assert.match(section!, /^# request +libcrypto +CPU +node +ratio +CPU$/m);
  assert.match(section!, /^# +1 KiB( +[\d.]+!?){3} +[\d.]+x +[\d.]+$/m);
  assert.match(section!, /libcrypto|node/);
  assert.ok(
    section!
      .trimEnd()
      .split('\n')
      .every((line) => line.startsWith('# ')),
  );
  // The lines of the others are none of openssl's.
  assert.equal(stderr.match(/^Doing /gm)?.length, 6);
  assert.equal(stderr.match(/^ {2}node: \d+ of \d+ bytes in \d\.\d\ds$/gm)?.length, 6);
  const set = importOne(stderr + stdout);
  assert.deepEqual(
    set.runs.map(({ label, measurements }) => [label, measurements.length]),
    [
      ['AES-128-CBC', 6],
      ['node', 6],
    ],
  );
  assert.deepEqual(new Set(doubts(set)), new Set(['FROM_COUNTS']));

  const raw = hwcrypt([
    ...SHORT,
    ...['--driver', 'node,libcrypto', '-evp', 'aes-128-cbc', '-mr', '-bytes', '64'],
  ]);
  assert.match(raw.stdout, /^(?:\+H:64\n\+F:25:AES-128-CBC:\d+\.\d\d\n){2}$/);
  assert.match(raw.stderr, /in order: node, libcrypto$/m);
});

test('--json is the result model, --csv a line for each figure', () => {
  const { stdout, stderr } = hwcrypt([...ONE, '--json', 'aes-128-cbc', 'sha256', '-bytes', '64']);
  assert.equal(stderr, '');
  const set = only(readJson(stdout));
  assert.equal(set.tool, 'hwcrypt');
  assert.match(set.toolVersion!, /^\d/);
  const { measurements, label, command: line } = only(set.runs);
  assert.equal(label, HERE);
  assert.match(line!, /^hwcrypt speed -seconds 0\.03 /);
  assert.deepEqual(
    measurements.map(({ algorithm, operation, requestBytes, status }) => [
      algorithm,
      operation,
      requestBytes,
      status,
    ]),
    [
      ['aes-128-cbc', 'encrypt', 64, 'ok'],
      ['sha256', 'digest', 64, 'ok'],
    ],
  );
  for (const own of measurements) assert.ok(own.userNs! + own.systemNs! > 0 && own.latency && own.rounds);
  const csv = hwcrypt([...ONE, '--csv', 'aes-128-cbc', '-bytes', '64']).stdout;
  assert.equal(csv.trimEnd().split(/\r?\n/).length, 2);
});

test('--chunks: QEMU’s sizes and tables; with -mr its lines', () => {
  const { stdout, status } = hwcrypt([...ONE, '--chunks', 'aes-128-cbc', 'sha256', '-hmac', 'sha256']);
  assert.equal(status, 0);
  assert.match(
    stdout,
    /^enc\(aes-128-cbc\)\nchunk_size\(bytes\) {3}MB\/sec\(\w+:\w+\)\n +512 +\d+\.\d\d\n +1024 /m,
  );
  const { sets, unread } = importResults(stdout);
  assert.deepEqual(unread, []);
  const set = only(sets);
  assert.equal(set.tool, 'qemu benchmark-crypto');
  assert.deepEqual(doubts(set), []);
  const sizes = (name: string): (number | undefined)[] =>
    set.runs.flatMap(({ measurements }) =>
      measurements.filter(({ algorithm }) => algorithm === name).map(({ requestBytes }) => requestBytes),
    );
  assert.deepEqual(sizes('aes-128-cbc'), [512, 1024, 4096, 16384, 65536]);
  assert.deepEqual(sizes('sha256'), [512, 1024, 4096, 16384, 65536]);
  assert.deepEqual(sizes('hmac-sha256'), [512, 1024, 2048, 4096, 8192, 16384, 32768, 65536]);
  const [table] = only(set.runs).measurements;
  assert.deepEqual([table?.driver, table?.operation], [HERE, 'mac']);

  const raw = hwcrypt([...ONE, '--chunks', '-mr', '-decrypt', 'aes-128-xts', 'sha256']).stdout;
  assert.match(
    raw,
    /^(?:dec\(aes-128-xts\) chunk \d+ bytes \d+\.\d\d MB\/sec \n){5}(?:hash\(sha256\): chunk \d+ bytes \d+\.\d\d MB\/sec\n){5}$/,
  );
  const lines = importOne(raw);
  assert.deepEqual(doubts(lines), []);
  assert.equal(only(lines.runs).measurements[0]?.operation, 'decrypt');
});

test('wrong command lines: one line that says what is measured, status 2', async () => {
  for (const [argv, message] of [
    [
      ['rsa2048'],
      /public-key cryptography: hwcrypt measures ciphers, AEADs, hashes and MACs; openssl speed rsa2048/,
    ],
    [['ecdhp256'], /public-key/],
    [['-primes', '3', 'rsa'], /-primes is not supported: it is for RSA/],
    [['-async_jobs', '4', 'sha256'], /use -multi N/],
    [['aes-128-cbb'], /there is no algorithm "aes-128-cbb" \(did you mean aes-128-cbc/],
    [['-hmac', 'sha265'], /there is no hash for -hmac "sha265" \(did you mean/],
    [['-evp', 'sha256', '-decrypt'], /-decrypt has no effect: sha256 has no direction/],
    [
      ['-aead', '-evp', 'aes-128-cbc'],
      /-aead measures AEAD ciphers such as aes-128-gcm, and aes-128-cbc is none/,
    ],
    [['-aead', '-hmac', 'sha1'], /-aead needs an AEAD cipher/],
    [['-bytes', '1000', 'aes-128-cbc'], /-bytes 1000: aes-128-cbc takes whole blocks of 16 bytes/],
    [['-bytes', '0', 'sha256'], /-bytes takes a whole number, 1 to/],
    [['-seconds', '0', 'sha256'], /-seconds takes a number above 0 .*, not "0"/],
    [['-seconds', 'x', 'sha256'], /-seconds takes a number .*, not "x"/],
    [['-seconds', '1e9', 'sha256'], /at most 99999\.999, in plain decimals \(.*\), not "1e9"/],
    [['-multi', '0', 'sha256'], /-multi takes a whole number/],
    [['-engine', 'padlock', 'sha256'], /there are no engines here: name a driver with --driver/],
    [['-engine', 'afalg', '--driver', 'node', 'sha256'], /-engine has no effect beside --driver/],
    [['--driver', 'libcrypt', 'sha256'], /there is no driver "libcrypt" \(did you mean libcrypto\?\)/],
    [['--driver', ',', 'sha256'], /--driver needs a name/],
    [['--json', '--csv', 'sha256'], /--json has no effect beside --csv/],
    [['-aes-128-cbc'], /unknown option -aes-128-cbc \(did you mean -evp aes-128-cbc/],
    [['-sconds', '3'], /unknown option -sconds \(did you mean -seconds\?\)/],
  ] as const) {
    const found = await failure(command, argv);
    assert.equal(found.status, 2, argv.join(' '));
    assert.match(found.message, message);
    assert.doesNotMatch(found.message, /\n/);
  }
});

test('what nobody here can do is said before anything is measured, status 1', async () => {
  const lacking = await failure(command, ['--driver', 'node', '-evp', 'serpent-128-cbc']);
  assert.equal(lacking.status, 1);
  assert.match(lacking.message, /node: serpent-128-cbc: node:crypto has no serpent/);
  const pinned = await failure(command, ['--driver', 'afalg:no-such-driver', 'aes-128-cbc']);
  assert.equal(pinned.status, 1);
});

test('what a driver lacks is no row, and no zero', () => {
  const { stdout, stderr, status } = hwcrypt([
    ...SHORT,
    ...['--driver', 'node', '-bytes', '64', 'aes-128-cbc', 'serpent-128-cbc'],
  ]);
  assert.equal(status, 0);
  assert.match(stdout, /^aes-128-cbc /m);
  assert.doesNotMatch(stdout, /serpent/);
  assert.match(stderr, /^hwcrypt: speed: node: serpent-128-cbc: node:crypto has no serpent/m);
});

test('groups, several names, each once', () => {
  const { stdout } = hwcrypt([
    ...ONE,
    '-mr',
    '-bytes',
    '64',
    'aes',
    'aes-128-cbc',
    '-evp',
    'sha256',
    '-evp',
    'sha1',
  ]);
  assert.match(
    stdout,
    /^\+H:64\n\+F:25:sha256:.*\n\+F:25:sha1:.*\n\+F:25:aes-128-cbc:.*\n\+F:25:aes-192-cbc:.*\n\+F:25:aes-256-cbc:.*\n$/,
  );
});

for (const [signal, wanted] of [
  ['SIGINT', 130],
  ['SIGTERM', 143],
  ['SIGQUIT', 131],
] as const) {
  test(`${signal} prints what is finished, and exits with ${wanted}`, async () => {
    const child = start(['speed', '-seconds', '1', '--driver', HERE, '-evp', 'aes-128-cbc'], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let [stdout, stderr] = ['', ''];
    child.stdout?.on('data', (data) => {
      stdout += data;
    });
    child.stderr?.on('data', (data) => {
      stderr += data;
    });
    const end = ended(child);
    for (let i = 0; i < 400 && !/on 64 size blocks/.test(stderr); i++) await sleep(25);
    child.kill(signal);
    const { status } = await end;
    assert.equal(status, wanted);
    assert.match(stderr, /^hwcrypt: speed: interrupted after [1-5] of 6 measurements$/m);
    assert.match(stdout, /^type {13}16 bytes/m);
    assert.match(stdout, /^AES-128-CBC +\d+\.\d\dk/m);
    assert.doesNotMatch(stdout, / 0\.00 /);
    // The row is whole, if short: the importer has no doubt about it.
    const { sets } = importResults(stdout);
    assert.deepEqual(
      doubts(only(sets)).filter((code) => code !== 'BASIS_UNKNOWN'),
      [],
    );
  });
}

test('a closed pipe is nobody’s concern', () => {
  const result = shell(
    `exec 3> >(:); sleep 0.2; hwcrypt ${[...ONE, '-bytes', '64', 'sha256', '--json'].join(' ')} >&3`,
  );
  assert.equal(result.stderr, '');
});
