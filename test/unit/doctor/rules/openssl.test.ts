/** OpenSSL's way to the engine, link by link. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  bundle,
  counts,
  diagnosed,
  EIP93,
  ELAPSED,
  finding,
  GENERIC,
  ids,
  procCrypto,
  speed,
} from '../helpers.js';

const TABLE = speed('AES-128-CBC', counts(120, 0.8));
const ABSENT =
  '40A7:error:12800067:DSO support routines:dlfcn_load:could not load the shared library:../crypto/dso/dso_dlfcn.c:115:filename(/usr/lib/engines-3/devcrypto.so): cannot open shared object file';
const REFUSED =
  '40A7:error:4080006D:lib(129)::reason(109):../engines/e_afalg.c:859:\n40A7:error:1300006D:engine routines:dynamic_load:init failed:../crypto/engine/eng_dyn.c:502:\n40A7:error:12800067:DSO support routines:dlfcn_load:could not load the shared library:../crypto/dso/dso_dlfcn.c:115:filename(libafalg.so): libafalg.so: cannot open shared object file';

test('Invalid engine: the table is the CPU’s; not installed, refused and removed are told apart', () => {
  const absent = diagnosed(`Invalid engine "devcrypto"\n${ABSENT}\n${ELAPSED}${TABLE}version: 3.0.9\n`);
  assert.match(
    absent.verdict,
    /could not load the engine “devcrypto”: the figures are those of the CPU alone/,
  );
  assert.match(absent.findings[0]!.details[0]!, /not installed/);
  const refused = finding(
    'engine-not-loaded',
    `Invalid engine "afalg"\n${REFUSED}\n${ELAPSED}${TABLE}version: 3.0.9\n`,
  );
  assert.match(refused.details[0]!, /refused to start.*second attempt/);
  const four = finding('engine-not-loaded', `Invalid engine "devcrypto"\n${ELAPSED}${TABLE}version: 4.0.1\n`);
  assert.match(four.details[0]!, /OpenSSL 4\.0\.1 has no engines/);
  assert.match(
    finding('engine-not-loaded', ABSENT).verdict,
    /cannot load the engine “devcrypto”: its library is not installed$/,
  );
});

test('OpenSSL 4', () => {
  assert.equal(
    finding(
      'engine-removed',
      'OpenSSL 4.0.0 14 Apr 2026 (Library: OpenSSL 4.0.0 14 Apr 2026)',
      procCrypto(...EIP93),
    ).kind,
    'problem',
  );
  assert.equal(finding('engine-removed', 'OpenSSL 4.0.0 14 Apr 2026').kind, 'fine');
  assert.match(diagnosed('speed: Unknown option: -engine').verdict, /has no engines/);
});

test('the driver works and OpenSSL has no way to it', () => {
  const log = 'marvell-cesa f1090000.crypto: CESA device successfully registered\n';
  const plain = `${log}$ openssl speed -evp aes-128-cbc\n${speed('aes-128-cbc', counts(460, 23), 2.98)}OpenSSL 1.0.2k  26 Jan 2017\n`;
  const found = diagnosed(plain).findings[0]!;
  assert.equal(found.id, 'no-path-from-openssl');
  assert.match(found.verdict, /driver of your Marvell CESA works, but OpenSSL 1\.0\.2k has no way to it/);
  assert.equal(
    finding(
      'no-path-from-openssl',
      bundle({
        crypto: procCrypto(...GENERIC, ...EIP93),
        openssl: 'OpenSSL 3.0.15 3 Sep 2024',
        'openssl-engines': '(dynamic) Dynamic engine loading support\n[ unavailable ]',
      }),
    ).sureness,
    'certain',
  );
  // Built for it, and not asked: another thing to do.
  const built = plain.replace('OpenSSL 1.0.2k', 'compiler: gcc -DHAVE_CRYPTODEV -O2\nOpenSSL 1.0.2k');
  assert.equal(diagnosed(built).findings[0]!.id, 'engine-not-asked');
});

test('/dev/crypto is missing, the engine is installed, nobody is told to use it', () => {
  const sections = {
    crypto: procCrypto(...GENERIC, ...EIP93),
    openssl: 'OpenSSL 3.0.15 3 Sep 2024',
    'openssl-engine-files': '/usr/lib/engines-3/devcrypto.so',
  };
  const missing = diagnosed(
    bundle({ ...sections, 'dev-crypto': 'ls: /dev/crypto: No such file or directory' }),
  );
  assert.equal(missing.findings[0]!.id, 'cryptodev-absent');
  assert.match(missing.verdict, /has the engine devcrypto, but there is no \/dev\/crypto/);
  const there = bundle({
    ...sections,
    'dev-crypto': 'crw-rw-rw-    1 0        0          10, 121 Nov 30 12:00 /dev/crypto',
  });
  assert.ok(ids(there).includes('engine-not-configured'));
  assert.ok(!ids(`${there}openssl.devcrypto.enabled='1'\n`).includes('engine-not-configured'));
  assert.match(
    finding(
      'engine-for-everything',
      'openssl.cnf: devcrypto = devcrypto\nopenssl.cnf: default_algorithms = ALL',
    ).verdict,
    /digests and requests of a few bytes/,
  );
});

test('software behind the engine: NEON modules, and names in DUMP_INFO', () => {
  const lsmod =
    'Module                  Size  Used by\ncryptodev              57344  0\naes_neon_bs            28672  0\ncryptd                 28672  1 crypto_simd\n';
  const engine = '(devcrypto) /dev/crypto engine\n [AES-128-CBC, AES-256-CBC, AES-128-CTR]\n';
  const neon = diagnosed(
    `${lsmod}\n${engine}\nengine "devcrypto" set.\n${ELAPSED}${speed('aes-256-cbc', counts(4800, 57))}`,
  );
  assert.equal(neon.findings[0]!.id, 'software-behind-engine');
  assert.match(neon.verdict, /no accelerator behind the engine: aes_neon_bs/);
  assert.ok(neon.findings.some(({ id }) => id === 'engine-covers-few'));
  const dump = 'Cipher AES-128-CBC, NID=419, /dev/crypto info: id=11, driver=cbc-aes-neonbs (software)\n';
  assert.equal(diagnosed(dump).findings[0]!.id, 'software-behind-engine');
});

test('what the engine claims about hardware is one flag', () => {
  const line = (driver: string, claim: string): string =>
    `Cipher AES-128-CBC, NID=419, /dev/crypto info: id=11, driver=${driver} (${claim})\n`;
  assert.match(
    finding('hardware-flag-wrong', line('qat_aes_cbc', 'software')).verdict,
    /qat_aes_cbc is hardware.*its flag says software/,
  );
  assert.match(
    finding('hardware-flag-wrong', line('cbc-aes-neonbs', 'hw accelerated')).verdict,
    /cbc-aes-neonbs is software/,
  );
  assert.equal(finding('engine-names-drivers', line('cbc(aes-eip93)', 'hw accelerated')).kind, 'fine');
  const session = 'Got cbc(aes) with driver sahara-cbc-aes\nNote: This is not an accelerated cipher\n';
  assert.match(diagnosed(session).verdict, /sahara-cbc-aes is hardware/);
  assert.equal(
    diagnosed(`${session}ioctl(CIOCCRYPT): Invalid argument\n`).findings[0]!.id,
    'cryptodev-request-limit',
  );
});

test('an engine that nobody asked for', () => {
  const plain = (table: string): string =>
    `$ openssl speed -elapsed -evp aes-256-cbc\n${ELAPSED}${table}version: 3.0.8\n`;
  const found = diagnosed(plain(speed('AES-256-CBC', counts(36_000, 6)))).findings[0]!;
  assert.equal(found.id, 'engine-by-default');
  assert.match(found.verdict, /a request of 16 bytes takes 36 µs/);
  const bare = ids(speed('AES-256-CBC', counts(36_000, 6)));
  assert.ok(!bare.includes('engine-by-default'), 'without its command, nobody knows what it asked for');
  // A slow CPU has no fixed cost beside what it does for each byte.
  assert.ok(!ids(plain(speed('AES-256-CBC', counts(9000, 900)))).includes('engine-by-default'));
  assert.ok(!ids(plain(speed('AES-256-CBC', counts(120, 0.8)))).includes('engine-by-default'));
});

test('QAT: an engine that is listed and not available, and OpenSSL 1.1.0’s words', () => {
  const listed = diagnosed(
    '(qatengine) Reference implementation of QAT crypto engine v0.6.1\n [RSA, AES-128-CBC-HMAC-SHA1]\n     ADF_UIO_PROXY err: icp_adf_userProcessToStart: Cannot open /dev/qat_dev_processes file\n[ unavailable ]\n',
  );
  assert.equal(listed.findings[0]!.id, 'engine-not-loaded');
  assert.match(listed.findings[0]!.details[0]!, /QuickAssist device that is up/);
  assert.match(
    finding('engine-not-loaded', "# openssl speed -engine qat rsa2048\ncan't use that engine\n").verdict,
    /cannot load the engine “qat”, although its library is there/,
  );
  assert.ok(
    !ids('(dynamic) Dynamic engine loading support\n     [ unavailable ]\n', 'Linux version 6.6.1').includes(
      'engine-not-loaded',
    ),
    'dynamic is never available',
  );
});

test('/dev/crypto is not there, says the engine itself; a version that is no OpenSSL’s', () => {
  assert.equal(
    diagnosed(
      `/dev/crypto not present, not enabling devcrypto engine\n${ELAPSED}${TABLE}OpenSSL 1.1.1  11 Sep 2018\n`,
    ).findings[0]!.id,
    'cryptodev-absent',
  );
  assert.ok(!ids('driver: mtk_soc_eth\nversion: 6.6.93\n', procCrypto(...EIP93)).includes('engine-removed'));
});

test('bad decrypt: with an engine in use, and without one', () => {
  const enc = '# openssl enc -d -aes-256-cbc -in file -out out\nbad decrypt\n';
  assert.equal(diagnosed(enc).findings[0]!.id, 'bad-decrypt');
  const engine = diagnosed(`engine "devcrypto" set.\n${enc}`).findings[0]!;
  assert.equal(engine.id, 'engine-wrong-results');
  assert.equal(engine.sureness, 'possible');
  assert.match(
    diagnosed('Since the driver sa2ul is loaded the data integrity of the disk is gone').verdict,
    /wrong or lost data while an engine is in use: take its driver out/,
  );
  assert.ok(
    !ids('marvell-cesa runs for weeks without any data corruption', procCrypto(...EIP93)).includes(
      'engine-wrong-results',
    ),
  );
  assert.ok(
    !ids('the archive is corrupted', 'Linux version 6.6.1').includes('engine-wrong-results'),
    'no engine',
  );
});

test('a QAT device that is down, and an engine that this OpenSSL was not built with', () => {
  assert.equal(
    diagnosed(' icp_dev0 - type=c2xxx, inst_id=0, #accel=1, #engines=1, state=down').findings[0]!.id,
    'engine-not-loaded',
  );
  assert.match(
    diagnosed('error:2606A074:engine routines:ENGINE_by_id:no such engine:eng_list.c:390:id=padlock').verdict,
    /“padlock”: its library is not installed/,
  );
  assert.ok(!ids(' qat_dev0 - type: c6xx, state: up', 'Linux version 6.6.1').includes('engine-not-loaded'));
});
