/** `hwcrypt doctor` on the command line: files, pipes, ssh, JSON, a page, exit statuses. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { DIAGNOSIS_SCHEMA, type Diagnosis } from '#src/doctor/index.js';
import { conform } from '#src/schema.js';
import { Tree } from '../../helpers/page.js';
import { bundle, EIP93, GENERIC, procCrypto } from '../doctor/helpers.js';
import { hwcrypt, scratch, shell, start } from './helpers.js';

const cwd = scratch();

function file(name: string, text: string): string {
  writeFileSync(join(cwd, name), text);
  return name;
}

const crypto = file('proc-crypto.txt', procCrypto(...GENERIC, ...EIP93));
const table = file('table.txt', 'x: 0 7501344768 crypt aes-xts-plain64 :64:logon:[removed] 0 8:1 32768\n');
const fine = file('fine.txt', procCrypto({ name: 'ctr(aes)', driver: 'ctr-aes-ce', priority: 300 }));
const nothing = file('nothing.txt', 'Dear diary\n');
const router = file(
  'router.txt',
  bundle({
    kernel: 'Linux 6.6.52 mips',
    distribution: "DISTRIB_ID='OpenWrt'",
    crypto: procCrypto(...GENERIC, ...EIP93),
    'dm-crypt': 'x: 0 1 crypt aes-xts-plain64 :64:logon:[removed] 0 8:1 32768',
  }),
);
const VERDICT =
  'Your EIP93 is present and loaded, but dm-crypt does not use it: xts is not among its modes (ecb, cbc and ctr)';
const UTF8 = { LC_ALL: 'C.UTF-8' };

test('files as they were pasted: the verdict first, then what to do, then what it rests on; status 1', () => {
  const { status, stdout, stderr } = hwcrypt(['doctor', crypto, table], { cwd, env: UTF8 });
  assert.equal(stderr, '');
  assert.equal(status, 1);
  assert.ok(stdout.replaceAll('\n', ' ').startsWith(`${VERDICT}.`));
  const [verdict, steps, evidence] = [
    '\n1. Your EIP93',
    '\n   What to do:',
    '\n   It rests on:\n     table.txt:1: 0 7501344768 crypt',
  ].map((part) => stdout.indexOf(part));
  assert.ok(verdict! > 0 && steps! > verdict! && evidence! > steps!, stdout);
  // Commands are whole, whatever the width.
  assert.match(
    stdout,
    /^ +cryptsetup luksFormat --type luks2 -c aes-cbc-essiv:sha256 -s 256 --sector-size 4096 DEVICE {3}# everything on it is lost$/m,
  );
});

test('only the commands of the machine’s own system, unless all are asked for', () => {
  const device = file(
    'idle.txt',
    bundle({
      distribution: "DISTRIB_ID='OpenWrt'",
      crypto: procCrypto(...GENERIC),
      platform: '1e004000.crypto compatible=mediatek,mtk-eip93 driver=none',
    }),
  );
  const own = hwcrypt(['doctor', device], { cwd }).stdout;
  assert.match(own, /opkg install kmod-crypto-hw-eip93/);
  assert.doesNotMatch(own, /linux-menuconfig|modules-load\.d/);
  assert.match(hwcrypt(['doctor', device, '--verbose'], { cwd }).stdout, /linux-menuconfig/);
});

test('standard input, and plain ASCII where the locale shows nothing else', () => {
  const { status, stdout } = hwcrypt(['doctor', '-'], {
    cwd,
    input: readFileSync(join(cwd, router)),
    env: { LC_ALL: 'C' },
  });
  assert.equal(status, 1);
  assert.match(stdout, /^Linux 6\.6\.52, OpenWrt$/m);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: ASCII is what is looked for
  assert.match(stdout, /^[\x00-\x7f]*$/);
});

test('nothing to do is status 0, nothing known 3, a wrong command line 2', () => {
  assert.equal(hwcrypt(['doctor', fine], { cwd }).status, 0);
  for (const wrong of [nothing, 'missing.txt', '.']) {
    const { status, stdout, stderr } = hwcrypt(['doctor', wrong], { cwd });
    assert.equal(status, 3, wrong);
    assert.equal(stdout, '', wrong);
    assert.match(stderr, /^hwcrypt: doctor: [^\n]+\n$/, wrong);
  }
  for (const args of [
    ['--fast'],
    ['--ssh'],
    ['--ssh', '-oProxyCommand=touch pwned'],
    ['--ssh', 'root@router', crypto],
    ['--quick', crypto],
    ['-', '-'],
    ['--json', '-o', 'x.html', crypto],
    ['--json', '--verbose', crypto],
  ]) {
    const { status, stdout } = hwcrypt(['doctor', ...args], { cwd });
    assert.equal(status, 2, args.join(' '));
    assert.equal(stdout, '');
  }
  assert.ok(!existsSync(join(cwd, 'pwned')));
});

test('--json is what the schema says, with everything that the text has', () => {
  const { status, stdout } = hwcrypt(['doctor', router, '--json'], { cwd });
  assert.equal(status, 1);
  const found = JSON.parse(stdout) as Diagnosis;
  assert.deepEqual(conform(DIAGNOSIS_SCHEMA, found, 'diagnosis'), found);
  assert.equal(found.verdict, VERDICT);
  assert.equal(found.healthy, false);
  assert.deepEqual(found.machine, { kernel: '6.6.52', system: 'openwrt' });
  assert.equal(found.sources[0]!.bundle, 'whole');
});

test('a page: whole or not at all, without errors, script or anything to fetch', () => {
  const evil = file(
    'evil.txt',
    `${procCrypto(...EIP93)}\nx: 0 1 crypt aes-xts-plain64 :64:logon:k 0 /dev/<script>alert(1)</script> 32768\n`,
  );
  assert.equal(hwcrypt(['doctor', crypto, evil, '-o', 'page.html'], { cwd }).status, 1);
  const page = readFileSync(join(cwd, 'page.html'), 'utf8');
  const tree = new Tree(page);
  assert.deepEqual(tree.errors, []);
  assert.equal(tree.all('script', 'img', 'iframe', 'object').length, 0);
  assert.match(page, /present and loaded/);
  assert.match(page, /&lt;script&gt;alert/);
  assert.equal(hwcrypt(['doctor', crypto, '-o', '-'], { cwd }).stdout.slice(0, 15), '<!DOCTYPE html>');
  assert.equal(
    hwcrypt(['doctor', crypto, '-o', crypto], { cwd }).status,
    3,
    'the page may not replace what is read',
  );
  assert.match(readFileSync(join(cwd, crypto), 'utf8'), /^name/);
});

test('--ssh: the script through the system’s ssh, its text back, and every way in which that fails', () => {
  const bin = join(cwd, 'bin');
  mkdirSync(bin);
  const ssh = (script: string): void => {
    writeFileSync(join(bin, 'ssh'), `#!/bin/sh\n${script}\n`);
    chmodSync(join(bin, 'ssh'), 0o755);
  };
  const run = (...args: string[]) =>
    hwcrypt(['doctor', '--ssh', 'root@router', ...args], {
      cwd,
      env: { PATH: `${bin}:${process.env['PATH'] ?? ''}`, ...UTF8 },
    });
  ssh(`printf '%s\\n' "$*" > '${cwd}/args'; cat > '${cwd}/script'; cat '${join(cwd, router)}'`);
  const found = run('--quick');
  assert.equal(found.status, 1, found.stderr);
  assert.ok(found.stdout.replaceAll('\n', ' ').startsWith(VERDICT));
  assert.match(found.stdout, /^ +router:\d+: /m);
  assert.equal(
    readFileSync(join(cwd, 'args'), 'utf8'),
    '-T -o ConnectTimeout=20 root@router sh -s -- --quick\n',
  );
  assert.equal(readFileSync(join(cwd, 'script'), 'utf8'), hwcrypt(['probe']).stdout);
  // What the far shell really does with it.
  ssh('shift 4; exec sh -c "$*"');
  assert.notEqual(run('--quick').status, 3);
  for (const [script, message] of [
    ['echo no route >&2; exit 255', /ssh could not connect/],
    // As the real one does when nobody answers within the time that it is given.
    [
      'case $* in *ConnectTimeout=20*) echo "ssh: connect to host router port 22: Connection timed out" >&2; exit 255 ;; esac; exec sleep 300',
      /Connection timed out\n[\s\S]*ssh could not connect, or was cut off before the probe wrote anything/,
    ],
    // The network goes away while the text comes.
    [
      `head -c 1500 '${join(cwd, router)}'; exit 255`,
      /ssh had connected, and then lost the connection, in the middle of the probe/,
    ],
    [`head -c 1500 '${join(cwd, router)}'; kill -9 $$`, /ended with status none, in the middle of the probe/],
    ['echo welcome; exit 0', /before it wrote anything/],
    ["echo 'hwcrypt-probe 1'; exit 1", /in the middle of the probe/],
    ['exit 127', /ended with status 127, before it wrote anything/],
  ] as const) {
    ssh(script);
    const { status, stdout, stderr } = run();
    assert.equal(status, 3, script);
    assert.equal(stdout, '');
    assert.match(stderr, message);
  }
  assert.match(
    hwcrypt(['doctor', '--ssh', 'router'], { cwd, env: { PATH: '/nowhere' } }).stderr,
    /ssh is not installed/,
  );
});

test('SIGINT to hwcrypt alone ends its ssh too', async () => {
  const bin = join(cwd, 'bin-int');
  mkdirSync(bin);
  const pidFile = join(cwd, 'ssh.pid');
  writeFileSync(
    join(bin, 'ssh'),
    `#!/bin/sh\necho $$ > '${pidFile}.new'; mv '${pidFile}.new' '${pidFile}'\nexec sleep 61306\n`,
  );
  chmodSync(join(bin, 'ssh'), 0o755);
  const child = start(['doctor', '--ssh', 'router'], {
    cwd,
    env: { PATH: `${bin}:${process.env['PATH'] ?? ''}` },
    stdio: 'ignore',
  });
  const end = once(child, 'exit');
  while (!existsSync(pidFile)) await setTimeout(20);
  child.kill('SIGINT');
  await end;
  const pid = Number(readFileSync(pidFile, 'utf8'));
  for (let tries = 0; existsSync(`/proc/${pid}`) && tries < 100; tries++) await setTimeout(20);
  assert.equal(existsSync(`/proc/${pid}`), false);
});

test('this machine, whatever it is', () => {
  const { status, stdout, stderr } = hwcrypt(['doctor', '--quick', '--json'], { cwd });
  assert.ok(status === 0 || status === 1, stderr);
  const found = JSON.parse(stdout) as Diagnosis;
  assert.deepEqual(conform(DIAGNOSIS_SCHEMA, found, 'diagnosis'), found);
  assert.equal(found.sources[0]!.bundle, 'whole');
});

test('a reader that has seen enough, terminal sequences, and a text of five megabytes', () => {
  assert.equal(shell(`hwcrypt doctor ${crypto} ${table} | head -1 | wc -l`, { cwd }).stdout.trim(), '1');
  const evil = file(
    'escapes.txt',
    `\u001b]0;owned\u0007${procCrypto(...EIP93)}\u001b[2J\nOpenSSL 1.0.2k \u001b[31m\n`,
  );
  const printed = hwcrypt(['doctor', evil, '--verbose'], { cwd }).stdout;
  assert.ok(![...printed].some((c) => (c < ' ' && c !== '\n') || (c >= '\x7f' && c < '\xa0')), printed);
  const large = file('large.txt', procCrypto(...GENERIC, ...EIP93).repeat(2400));
  const { status, stdout } = hwcrypt(['doctor', large], { cwd });
  assert.equal(status, 1);
  assert.match(stdout, /Of large\.txt only the beginning was read/);
});
