/** The doctor on a real kernel: cryptd that looks like hardware, a blacklist, no modules, OpenSSL's engine, and a /dev/crypto that says what it is told to. */
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { release } from 'node:os';
import { join } from 'node:path';
import { before as first, test } from 'node:test';

import {
  configuration,
  type Diagnosis,
  diagnoseFacts,
  gatherFacts,
  LOCAL_SHELL,
  runProbe,
  seenHere,
  surveyOpenssl,
  weigh,
} from '#src/doctor/index.js';
import { AfalgDriver } from '#src/drivers/afalg/index.js';
import { getDriver } from '#src/drivers/registry.js';
import { serve } from '../../rig/cryptodev/index.js';
import { cipherOf } from '../helpers/afalg.js';
import { counts, ELAPSED, speed } from '../unit/doctor/helpers.js';

/** The probe's text: the processes that it starts take some ten seconds here. */
const probed = (): Promise<string> => runProbe(LOCAL_SHELL, true);

/** As `hwcrypt doctor` does it, in this process: a system call costs 50 µs here, and Node's start some seconds. @param text a probe's text of before */
async function look(text?: string): Promise<Diagnosis> {
  for (const name of ['afalg', 'cryptodev']) getDriver(name).reprobe();
  const facts = seenHere(gatherFacts([{ name: LOCAL_SHELL.name, text: text ?? (await probed()) }]));
  return diagnoseFacts(facts);
}

/** What the first test was told, for those that change nothing which the probe looks at. */
let before = '';

// What other files of this layer had the kernel complain about is not this machine's trouble.
first(() => {
  execFileSync('dmesg', ['--clear']);
});

const ids = ({ findings }: Diagnosis): string[] => findings.map(({ id }) => id);

test('no engine, and cryptd that is asynchronous software: no hardware is made out of it', async () => {
  execFileSync('modprobe', ['-a', 'cryptd', 'cbc', 'algif_skcipher']);
  const cryptd = 'cryptd(cbc(aes-generic))';
  assert.deepEqual(new AfalgDriver().supports(cipherOf('aes-128-cbc'), { kernelDriver: cryptd }), {
    supported: true,
  });
  before = await probed();
  const found = await look(before);
  for (const wrong of ['engine-used', 'driver-outranked', 'driver-not-loaded', 'engine-worth-it']) {
    assert.ok(!ids(found).includes(wrong), `${wrong}: ${found.verdict}`);
  }
  assert.ok(ids(found).includes('no-engine'));
  const software = found.findings.find(
    ({ id, verdict }) => id === 'asynchronous-software' && verdict.includes(cryptd),
  );
  assert.match(software?.verdict ?? '', /only queues the work for the CPU/);
  assert.ok(found.machine.kernel?.startsWith('6.'));
  // It has the highest priority now, and the files behind this one expect the plain driver.
  for (const name of ['afalg', 'cryptodev']) getDriver(name).reprobe();
  execFileSync('modprobe', ['-r', 'cryptd']);
  assert.doesNotMatch(readFileSync('/proc/crypto', 'utf8'), /cryptd\(/);
});

test('a blacklist is named with its file', async () => {
  const file = '/etc/modprobe.d/doctor-test.conf';
  writeFileSync(file, 'install algif_skcipher /bin/false\n');
  try {
    const { findings } = await look();
    assert.equal(findings[0]!.id, 'af-alg-blacklisted');
    assert.match(
      findings[0]!.verdict,
      /`install algif_skcipher \/bin\/false` in \/etc\/modprobe\.d\/doctor-test\.conf/,
    );
    assert.match(findings[0]!.details.join(' '), /CVE-2026-31431/);
  } finally {
    rmSync(file);
  }
});

/** A module tree without these, in the place of the kernel's own. */
async function withoutModules(lacking: RegExp, body: () => Promise<void>): Promise<void> {
  const place = `/lib/modules/${release()}`;
  const root = mkdtempSync('/tmp/doctor-modules-');
  const copy = join(root, place);
  mkdirSync(copy, { recursive: true });
  // Of the rest nothing is asked for here, and copying costs guest time.
  for (const folder of ['kernel/crypto'])
    cpSync(join(place, folder), join(copy, folder), {
      recursive: true,
      filter: (path) => !lacking.test(path),
    });
  for (const file of readdirSync(place).filter((name) => /^modules\.(?:builtin|order)/.test(name)))
    cpSync(join(place, file), join(copy, file));
  execFileSync('depmod', ['-b', root, release()]);
  execFileSync('mount', ['--bind', copy, place]);
  try {
    await body();
  } finally {
    execFileSync('umount', [place]);
  }
}

test('AF_ALG’s modules are not there', async () => {
  for (const name of ['afalg', 'cryptodev']) getDriver(name).reprobe();
  execFileSync('modprobe', ['-ra', 'algif_skcipher', 'algif_hash', 'algif_aead', 'algif_rng', 'af_alg']);
  assert.doesNotMatch(readFileSync('/proc/modules', 'utf8'), /^af_alg /m);
  // As the probe would write it: without the files, and without what is loaded.
  const lacking = (modules: RegExp): string =>
    before
      .split('\n')
      .filter((line) => !modules.test(line))
      .join('\n')
      .replace(/^ALG .*$/m, '');
  await withoutModules(/\/(?:af_alg|algif_\w+)\.ko/, async () => {
    const found = await look(lacking(/af_alg|algif_/));
    // Nobody asked for it, and there is no engine: it is told, behind what is of more use here.
    const absent = found.findings.find(({ id }) => id === 'af-alg-absent');
    assert.ok(absent, found.verdict);
    assert.ok(absent.evidence.some(({ text }) => /EAFNOSUPPORT/.test(text)));
    assert.ok(!ids(found).includes('af-alg-blacklisted'));
  });
  // OpenWrt splits them: socket() works, and bind() has no ciphers to give.
  await withoutModules(/\/algif_skcipher\.ko/, async () => {
    execFileSync('modprobe', ['-a', 'af_alg', 'algif_hash']);
    const found = await look(lacking(/algif_skcipher/).replace(/^\[\[af-alg\]\].*$/m, '$&\nALG 1234 0'));
    const absent = found.findings.find(({ id }) => id === 'af-alg-absent');
    assert.match(absent?.verdict ?? found.verdict, /not its part for ciphers: .* no module algif_skcipher/);
    assert.ok(
      absent?.evidence.some(({ text }) => /^bind cbc\(aes\): ENOENT .*without algif_skcipher/.test(text)),
    );
    execFileSync('modprobe', ['-ra', 'algif_hash', 'af_alg']);
  });
});

test('/dev/crypto: hardware with the flag and without, software with the flag and without', async () => {
  const claim = (driver: string, hardware: boolean) => ({ claims: { '*': { driver, hardware } } });
  await using provider = await serve(claim('cbc-aes-mt7628', true));
  // Of the probe's text only the device is new, and cryptd is gone.
  const text = before
    .replaceAll(/^name .*\ndriver +: cryptd\([\s\S]*?\n\n/gm, '')
    .replace(/^(\[\[dev-crypto\]\].*\n).*$/m, '$1crw-rw---- 1 0 0 10, 60 /dev/crypto');
  const flagged = await look(text);
  assert.equal(flagged.findings[0]!.id, 'dev-crypto-reaches-engine', flagged.verdict);
  assert.match(
    flagged.verdict,
    /reaches your MediaTek MT7628\/MT7688 AES engine: cbc\(aes\) by cbc-aes-mt7628/,
  );
  assert.ok(!ids(flagged).includes('hardware-flag-wrong') && !ids(flagged).includes('cryptodev-absent'));
  await provider.set(claim('cbc-aes-mt7628', false));
  const unflagged = await look(text);
  assert.equal(unflagged.findings[0]!.id, 'hardware-flag-wrong', unflagged.verdict);
  assert.match(unflagged.verdict, /cbc-aes-mt7628 is hardware .* although its flag says software/);
  await provider.set(claim('cbc(aes-generic)', true));
  const pretended = await look(text);
  assert.equal(pretended.findings[0]!.id, 'software-behind-engine', pretended.verdict);
  assert.match(
    pretended.findings.find(({ id }) => id === 'hardware-flag-wrong')?.verdict ?? pretended.verdict,
    /cbc\(aes-generic\) is software, although its flag says/,
  );
  await provider.set(claim('cbc(aes-generic)', false));
  const software = await look(text);
  assert.equal(software.findings[0]!.id, 'software-behind-engine', software.verdict);
  assert.ok(
    !ids(software).includes('dev-crypto-reaches-engine') && !ids(software).includes('hardware-flag-wrong'),
  );
});

/** What a process has open of the kinds that OpenSSL's engine for AF_ALG needs: sockets, and an eventfd for its asynchronous requests. */
function openedBy(pid: number): { sockets: number; eventfd: boolean } {
  const links = readdirSync(`/proc/${pid}/fd`).map((fd) => readlinkSync(`/proc/${pid}/fd/${fd}`));
  return {
    sockets: links.filter((link) => link.startsWith('socket:')).length,
    eventfd: links.includes('anon_inode:[eventfd]'),
  };
}

test('the openssl.cnf that is written for an engine: real openssl loads it, and the engine does the work', async () => {
  const found = await surveyOpenssl('/usr/bin/openssl', false);
  assert.equal(found?.engines.find(({ id }) => id === 'afalg')?.state, 'available');
  assert.equal(found?.engines.find(({ id }) => id === 'devcrypto')?.state, 'absent');
  // The figures are made up: those of this kernel depend on the day.
  const { pair } = weigh(
    `${ELAPSED}${speed('AES-128-CBC', counts(500, 82))}`,
    `Engine "afalg" set.\n${ELAPSED}${speed('AES-128-CBC', counts(37_000, 16.4))}`,
    'afalg',
  );
  const file = '/tmp/with-afalg.cnf';
  writeFileSync(file, configuration('cnf', 'afalg', { used: 'yes', pair: pair! }).text);
  const plain = { ...process.env, OPENSSL_CONF: '/dev/null' };
  const configured = { ...process.env, OPENSSL_CONF: file };
  const listed = execFileSync('openssl', ['engine', '-t', '-c'], { env: configured, encoding: 'latin1' });
  assert.match(listed, /^\(afalg\)[^\n]*\n \[AES-128-CBC[^\n]*\n +\[ available \]/m);
  const args = ['enc', '-aes-128-cbc', '-K', '00'.repeat(16), '-iv', '00'.repeat(16)];
  const input = Buffer.alloc(20_000, 'text ');
  const expected = execFileSync('openssl', args, { env: plain, input });
  const opened: ReturnType<typeof openedBy>[] = [];
  for (const env of [plain, configured]) {
    const child = spawn('openssl', args, { env, stdio: ['pipe', 'pipe', 'inherit'] });
    const chunks: Buffer[] = [];
    child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
    child.stdin.write(input);
    // It has encrypted something, and waits for more.
    await once(child.stdout, 'data');
    opened.push(openedBy(child.pid!));
    child.stdin.end();
    await once(child, 'close');
    assert.deepEqual(Buffer.concat(chunks), expected);
  }
  const [software, offloaded] = opened as [(typeof opened)[0], (typeof opened)[0]];
  assert.ok(!software.eventfd && offloaded.eventfd, JSON.stringify(opened));
  assert.equal(offloaded.sockets - software.sockets, 2, 'the bound socket, and the one for requests');
  const measured = execFileSync(
    'openssl',
    ['speed', '-elapsed', '-seconds', '1', '-bytes', '1024', '-evp', 'aes-128-cbc'],
    {
      env: configured,
      encoding: 'latin1',
    },
  );
  assert.match(measured, /^AES-128-CBC +[\d.]+k/m);
});
