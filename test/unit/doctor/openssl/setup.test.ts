/** Engines weighed by two outputs of openssl speed, and the configuration that comes of it. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { configuration, weigh } from '#src/doctor/index.js';
import { proofWords } from '#src/report/openssl.js';
import { counts, ELAPSED, speed } from '../helpers.js';

const SOFTWARE = `${ELAPSED}${speed('AES-128-CBC', counts(500, 82))}version: 3.0.15\n`;
const engine = (fixedNs: number, nsPerByte: number): string =>
  `Engine "devcrypto" set.\n${ELAPSED}${speed('AES-128-CBC', counts(fixedNs, nsPerByte))}version: 3.0.15\n`;

test('used: other figures than software’s, or interrupts', () => {
  const proof = weigh(SOFTWARE, engine(37_000, 16.4), 'devcrypto', 64_000);
  assert.equal(proof.used, 'yes');
  assert.equal(proof.pair?.crossover.kind, 'crosses');
  assert.match(
    proofWords(proof),
    /^used: 20\.6x slower at 16 B, 4\.\dx as fast at 16384 B; wins from about 5[0-9]0 B on; the hardware interrupted 64000 times meanwhile$/,
  );
  const same = weigh(SOFTWARE, engine(500, 82), 'devcrypto');
  assert.equal(same.used, 'unclear');
  assert.match(proofWords(same), /no difference/);
  assert.equal(
    weigh(SOFTWARE, engine(500, 82), 'devcrypto', 12).used,
    'yes',
    'interrupts are the better proof',
  );
});

test('not used: the engine was not loaded, and the table is software’s', () => {
  const proof = weigh(SOFTWARE, `Invalid engine "devcrypto"\n${SOFTWARE}`, 'devcrypto');
  assert.equal(proof.used, 'no');
  assert.match(proofWords(proof), /not used when it was asked for/);
  assert.equal(weigh(SOFTWARE, '', 'devcrypto').used, 'no');
});

test('openssl.cnf for programs with large requests, with the measured size in it', () => {
  const { worthIt, text } = configuration(
    'cnf',
    'devcrypto',
    weigh(SOFTWARE, engine(37_000, 16.4), 'devcrypto'),
  );
  assert.equal(worthIt, true);
  assert.match(
    text,
    /^# devcrypto on this machine.*faster from about 5[0-9]0 B a request on \(256 B slower, 1024 B faster\)/,
  );
  assert.match(text, /\n\[devcrypto_section\]\nengine_id = devcrypto\n/);
  assert.match(text, /\nDIGESTS = NONE\n/);
  assert.match(text, /\nUSE_SOFTDRIVERS = 2\n/);
  assert.match(text, /\nCIPHERS = AES-128-CBC\n/, 'what was measured, and no more');
  // Engines other than devcrypto refuse commands that they do not know, and OpenSSL with them the whole file.
  assert.doesNotMatch(
    configuration('cnf', 'afalg', weigh(SOFTWARE, engine(37_000, 16.4), 'devcrypto')).text,
    /DIGESTS|USE_SOFT/,
  );
});

test('no configuration for figures that no engine can have', () => {
  const proof = weigh(SOFTWARE, engine(5, 0.01), 'devcrypto');
  assert.equal(proof.used, 'doubtful');
  assert.match(proofWords(proof), /^not to be believed: /);
  const { worthIt, text } = configuration('cnf', 'devcrypto', proof);
  assert.equal(worthIt, false);
  assert.match(
    text,
    /^# Nothing to turn on: devcrypto was measured to be faster than any engine can be\.\n$/,
  );
});

/**
 * What OpenWrt's own openssl.init does with the script: each engine that UCI has needs a section of its name in a file of the folder, and gets a line
 * `name=section` in engines.cnf, which openssl.cnf includes.
 */
function onOpenwrt(script: string, folder: string, suffix: string): string {
  const root = mkdtempSync(join(tmpdir(), 'hwcrypt-uci-'));
  try {
    for (const part of [folder, 'var', 'bin', 'etc/init.d']) mkdirSync(join(root, part), { recursive: true });
    const bin = (name: string, text: string): void => {
      writeFileSync(join(root, name), `#!/bin/sh\n${text}\n`);
      chmodSync(join(root, name), 0o755);
    };
    bin('bin/uci', `echo "$*" >> ${root}/uci`);
    bin(
      'etc/init.d/openssl',
      `sed -n 's/^set openssl[.]\\([a-z]*\\)=engine$/\\1/p' ${root}/uci | while read -r name; do
        grep -q "\\[ *$name""${suffix} *]" ${root}/${folder}/* || { echo "$name: Could not find section"; exit 1; }
        echo "$name=$name""${suffix}" >> ${root}/var/engines.cnf
      done`,
    );
    const env = { ...process.env, PATH: `${root}/bin:${process.env['PATH']}` };
    execFileSync('sh', ['-eu'], {
      input: script.replaceAll(' /etc/', ` ${root}/etc/`).replaceAll(/^\/etc\//gm, `${root}/etc/`),
      env,
    });
    return (
      readFileSync(join(root, 'var/engines.cnf'), 'utf8') +
      readFileSync(join(root, folder, 'devcrypto.cnf'), 'utf8') +
      readFileSync(join(root, 'uci'), 'utf8')
    );
  } finally {
    rmSync(root, { recursive: true });
  }
}

test('UCI of OpenWrt: a script, with folder and section as its OpenSSL has them', () => {
  const proof = weigh(SOFTWARE, engine(37_000, 16.4), 'devcrypto');
  for (const [version, folder, section, suffix] of [
    ['3.0.15', 'etc/ssl/modules.cnf.d', 'devcrypto_sect', '_sect'],
    [undefined, 'etc/ssl/modules.cnf.d', 'devcrypto_sect', '_sect'],
    ['1.1.1w', 'etc/ssl/engines.cnf.d', 'devcrypto', ''],
  ] as const) {
    const made = onOpenwrt(configuration('uci', 'devcrypto', proof, version).text, folder, suffix);
    assert.ok(made.startsWith(`devcrypto=${section}\n[${section}]\n`), made);
    assert.match(made, /\nDIGESTS = NONE\n/);
    assert.match(
      made,
      /\nset openssl\.devcrypto=engine\nset openssl\.devcrypto\.enabled=1\ncommit openssl\n$/,
    );
  }
});

test('nothing to turn on where it never wins, or was not measured', () => {
  const never = configuration('cnf', 'afalg', weigh(SOFTWARE, engine(90_000, 200), 'devcrypto'));
  assert.equal(never.worthIt, false);
  assert.match(
    never.text,
    /^# Nothing to turn on: measured here, afalg is faster .* at no request size\.\n$/,
  );
  assert.match(
    configuration('uci', 'devcrypto', undefined).text,
    /^# Nothing to turn on: no engine could be measured\.\n$/,
  );
});
