/**
 * `luks plan` as a user calls it; and its commands as the real cryptsetup takes them: what was promised is what is there afterwards. Files are used, on
 * which cryptsetup works without root.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { Device } from '#src/luks/device.js';
import { currentOf, PLAN_SCHEMA, type Plan } from '#src/planning/index.js';
import { conform } from '#src/schema.js';
import { CHEAP, cryptsetup, format, noCryptsetup, PASSPHRASE, SMALL } from '../../../helpers/luks.js';
import { Random } from '../../../helpers/random.js';
import { bundle, counts, EIP93, ELAPSED, GENERIC, procCrypto, speed } from '../../doctor/helpers.js';
import { cryptsetupBenchmark } from '../../planning/helpers.js';
import { hwcrypt, scratch, shell } from '../helpers.js';

const folder = scratch();
const path = (name: string): string => join(folder, name);

/** An engine for CBC that is several times as fast as XTS in software, on a machine of 64 MB. */
const ROUTER = bundle({
  kernel: 'Linux 6.6.30 mips',
  'cpuinfo /proc/cpuinfo': 'processors: 1',
  memory: 'MemTotal:         59000 kB',
  crypto: procCrypto(...EIP93, ...GENERIC),
  'speed-devcrypto openssl speed -elapsed -evp aes-256-cbc -engine devcrypto': `engine "devcrypto" set.\n${ELAPSED}${speed('AES-256-CBC', counts(40_000, 18))}`,
  'benchmark cryptsetup benchmark': cryptsetupBenchmark(
    ['aes-xts', 256, 6.8, 6.7],
    ['aes-xts', 512, 5.2, 5.1],
  ),
});
/** XTS in software, and nothing else. */
const PLAIN = `MemTotal:         59000 kB\n${cryptsetupBenchmark(['aes-xts', 256, 45, 45], ['aes-xts', 512, 42, 42])}`;
writeFileSync(path('router.txt'), ROUTER);
writeFileSync(path('plain.txt'), PLAIN);

function plan(...args: string[]): Plan {
  const { status, stdout, stderr } = hwcrypt(['luks', 'plan', ...args, '--json']);
  assert.equal(status, 0, stderr);
  return conform(PLAN_SCHEMA, JSON.parse(stdout), 'the plan') as Plan;
}

/** A command of the plan, by a shell as it stands, but that nobody types and no time is taken for Argon2. */
function run(steps: Plan['steps'], purpose: string, which = 0): void {
  const command = steps.filter((step) => step.purpose === purpose).flatMap(({ commands }) => commands)[which];
  assert.ok(command, purpose);
  const quick = /--pbkdf argon2id/.test(command) ? ' --pbkdf-force-iterations 4' : '';
  const { status, stderr } = spawnSync('sh', ['-c', `${command} --batch-mode${quick} --key-file key`], {
    cwd: folder,
    encoding: 'utf8',
    timeout: 60_000,
  });
  assert.equal(status, 0, `${command}: ${stderr}`);
}

const facts = (name: string): ReturnType<typeof currentOf> => {
  const device = Device.open(path(name));
  try {
    return currentOf(device);
  } finally {
    device.close();
  }
};
const decrypted = (name: string): Buffer => {
  const { status, bytes, stderr } = hwcrypt([
    'luks',
    'open',
    path(name),
    '-pass',
    `pass:${PASSPHRASE}`,
    '-o',
    '-',
  ]);
  assert.equal(status, 0, stderr);
  return bytes;
};

writeFileSync(path('key'), PASSPHRASE);

test('luksFormat as it is printed makes what was promised', { skip: noCryptsetup }, () => {
  for (const text of ['router.txt', 'plain.txt']) {
    writeFileSync(path('new.img'), '');
    truncateSync(path('new.img'), 20 * 2 ** 20);
    const { steps, recommended } = plan(path(text), '--device', 'new.img');
    run(steps, 'format');
    const { cipher, keyBits, sectorBytes } = recommended.row;
    const made = facts('new.img');
    assert.deepEqual(
      [made.kind, made.cipher, made.keyBits, made.sectorBytes, made.memoryKiB],
      ['luks2', cipher, keyBits, sectorBytes, 12_288],
    );
  }
});

test('reencrypt as it is printed makes what was promised, of LUKS2 and of LUKS1, and the data is the same', {
  skip: noCryptsetup,
}, () => {
  const images: readonly (readonly [string, readonly string[]])[] = [
    ['two.img', [...CHEAP.argon2id, ...SMALL, '-c', 'aes-xts-plain64', '-s', '256', '--sector-size', '512']],
    ['one.img', ['--type', 'luks1', '--pbkdf-force-iterations', '1000', '-c', 'aes-cbc-plain', '-s', '128']],
  ];
  for (const [name, args] of images) {
    format(path(name), 20 * 2 ** 20, args);
    const data = new Random(name).bytes(300_000);
    writeFileSync(path('data'), data);
    const written = hwcrypt([
      'luks',
      'write',
      path(name),
      '-in',
      path('data'),
      '-pass',
      `pass:${PASSPHRASE}`,
    ]);
    assert.equal(written.status, 0, written.stderr);
    const before = readFileSync(path(name));
    const { steps, recommended, current } = plan(path('router.txt'), '--for', path(name));
    assert.ok(before.equals(readFileSync(path(name))), 'planning changes nothing');
    assert.equal(current?.kind, name === 'one.img' ? 'luks1' : 'luks2');
    assert.equal(recommended.row.cipher, 'aes-cbc-essiv:sha256');
    run(steps, 'backup');
    assert.ok(statSync(path('luks-header.img')).size > 4096);
    spawnSync('rm', ['-f', path('luks-header.img')]);
    if (current?.kind === 'luks1') for (const which of [0, 1]) run(steps, 'convert', which);
    run(steps, 'reencrypt');
    const made = facts(name);
    const { cipher, keyBits, sectorBytes } = recommended.row;
    assert.deepEqual(
      [made.kind, made.cipher, made.keyBits, made.sectorBytes],
      ['luks2', cipher, keyBits, sectorBytes],
    );
    assert.ok(decrypted(name).subarray(0, data.length).equals(data));
  }
});

const noExt = spawnSync('mkfs.ext4', ['-V']).error ? 'e2fsprogs is not installed' : noCryptsetup;

test('a file system that is there is made shorter and encrypted in place, in sectors that its blocks allow', {
  skip: noExt,
}, () => {
  const made = (blockBytes: number): Plan => {
    writeFileSync(path('fs.img'), '');
    truncateSync(path('fs.img'), 80 * 2 ** 20);
    const options = ['-q', '-F', '-O', '^has_journal', '-b', String(blockBytes)];
    assert.equal(spawnSync('mkfs.ext4', [...options, path('fs.img')]).status, 0);
    const own = plan(path('router.txt'), '--for', path('fs.img'));
    assert.deepEqual(own.current?.fileSystem, { type: 'ext', blockBytes });
    return own;
  };
  assert.equal(made(1024).recommended.row.sectorBytes, 1024);
  const { steps, recommended } = made(4096);
  assert.equal(recommended.row.sectorBytes, 4096);
  const shorter = steps
    .flatMap(({ commands }) => commands)
    .filter((command) => /^(?:e2fsck|resize2fs) /.test(command));
  assert.equal(shorter.length, 2);
  for (const command of shorter) {
    const { status, stderr } = spawnSync('sh', ['-c', command.replace('e2fsck', 'e2fsck -y')], {
      cwd: folder,
      encoding: 'utf8',
    });
    assert.equal(status, 0, `${command}: ${stderr}`);
  }
  run(steps, 'encrypt');
  assert.equal(facts('fs.img').sectorBytes, 4096);
  writeFileSync(path('fs.plain'), decrypted('fs.img'));
  assert.equal(spawnSync('e2fsck', ['-fn', path('fs.plain')]).status, 0, 'e2fsck finds it clean');
});

test('what cryptsetup knows no option of is not printed', { skip: noCryptsetup }, () => {
  const known = cryptsetup(['--help']);
  for (const args of [[path('router.txt')], [path('plain.txt'), '--physical-sector', '512']]) {
    for (const command of plan(...args).steps.flatMap(({ commands }) => commands)) {
      if (!command.startsWith('cryptsetup ')) continue;
      for (const [option] of command.matchAll(/--[a-z][\w-]*/g))
        assert.ok(known.includes(option), `${command}: ${option}`);
    }
  }
});

test('this machine, with a profile of its own or without', () => {
  const env = { HWCRYPT_PROFILE: path('none.json') };
  const without = hwcrypt(['luks', 'plan', '--device', '/dev/nothing'], { env });
  assert.equal(without.status, 0, without.stderr);
  assert.match(without.stdout, /^Nothing here says how fast/);
  assert.match(without.stdout.replaceAll('\n', ' '), /hwcrypt +calibrate aes-128-xts/);
  assert.match(without.stdout, /cryptsetup open \/dev\/nothing NAME/);
});

test('texts from a pipe, in several files, with what is there now', () => {
  const dump =
    'LUKS header information\nVersion:        2\nData segments:\n  0: crypt\n        cipher: aes-xts-plain64\n        sector: 512 [bytes]\n';
  writeFileSync(path('dump.txt'), dump);
  const { status, stdout, stderr } = shell(`cd ${folder}; hwcrypt luks plan - --for dump.txt < router.txt`);
  assert.equal(status, 0, stderr);
  // What it does now is a bound, so what it would gain is one, too.
  assert.match(
    stdout.replace(/\n/g, ' '),
    /^Re-encrypt it with aes-cbc-essiv:sha256 .*reading at most 4\.46 MB\/s, writing at most 4\.54 MB\/s, at least 8\.0 times as fast/,
  );
  assert.match(stdout, /Now \(dump\.txt:1\): LUKS2, aes-xts-plain64,\ssectors of 512/);
  const closed = shell(`cd ${folder}; hwcrypt luks plan router.txt | head -1; echo \${PIPESTATUS[0]}`);
  assert.match(closed.stdout, /^Take .*\n(?:0|141)\n$/s);
  assert.equal(closed.stderr, '');
});

test('wrong arguments, and files in which nothing is known', () => {
  writeFileSync(path('noise'), 'hello\n');
  const refused: readonly (readonly [readonly string[], number, RegExp])[] = [
    [['--measure', path('router.txt')], 2, /--measure has no effect on files/],
    [['--physical-sector', '1000'], 2, /power of two/],
    [['--physical-sector', '4k'], 2, /-physical-sector takes/],
    [['-', '--for', '-'], 2, /standard input can be read once/],
    [['--fro', 'x'], 2, /--for/],
    [[path('absent')], 1, /absent/],
    [[path('noise')], 1, /nothing in .*noise is known/],
    [[path('router.txt'), '--for', path('noise')], 1, /no image, and there is no luksDump/],
    [[path('router.txt'), '--for', path('absent')], 1, /absent/],
  ];
  for (const [args, status, message] of refused) {
    const result = hwcrypt(['luks', 'plan', ...args]);
    assert.equal(result.status, status, `${args.join(' ')}: ${result.stderr}`);
    assert.match(result.stderr, message);
    assert.equal(result.stdout, '');
  }
  assert.match(hwcrypt(['luks', 'plan', '--help']).stdout, /--physical-sector N/);
});
