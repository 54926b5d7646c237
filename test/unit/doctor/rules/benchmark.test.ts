/** What a benchmark says, and what it does not. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bundle, counts, diagnosed, EIP93, ELAPSED, finding, ids, procCrypto, speed } from '../helpers.js';

const software = `$ openssl speed -elapsed -evp aes-128-cbc\n${ELAPSED}${speed('aes-128-cbc', counts(500, 82))}`;
const engine = `$ openssl speed -elapsed -evp aes-128-cbc -engine devcrypto\nEngine "devcrypto" set.\n${ELAPSED}${speed('aes-128-cbc', counts(37_000, 16.4))}`;

test('user time: the factor, and the rate by the clock', () => {
  const text = `$ openssl speed -evp aes-128-cbc -engine devcrypto\nEngine "devcrypto" set.\n${speed('aes-128-cbc', counts(37_000, 16.4), 0.1)}`;
  const found = diagnosed(text).findings[0]!;
  assert.equal(found.id, 'benchmark-by-user-time');
  assert.match(found.verdict, /up to 30\.0x too high/);
  assert.match(found.details[0]!, /16384 B 53\.\d MB\/s/);
  assert.match(found.details[1]!, /no proof of hardware/);
  assert.ok(
    !ids(`$ openssl speed -evp aes-128-cbc\n${speed('aes-128-cbc', counts(500, 82), 2.96)}`).includes(
      'benchmark-by-user-time',
    ),
    'jitter',
  );
});

test('the probe’s own run by user time is no mistake of the owner', () => {
  const text = bundle({
    'speed-engine-user-time openssl speed -evp aes-128-cbc -engine devcrypto': `Engine "devcrypto" set.\n${speed('aes-128-cbc', counts(37_000, 16.4), 0.1)}`,
    crypto: procCrypto(...EIP93),
  });
  assert.ok(!ids(text).includes('benchmark-by-user-time'));
});

test('from which size on the engine wins, what is too small for it, and what a request costs', () => {
  const found = finding('engine-worth-it', software, engine);
  assert.match(found.verdict, /devcrypto wins for aes-128-cbc from about 5[0-9]0 B a request on/);
  assert.match(
    found.details.join(' '),
    /a request costs 37 µs however small it is, and 61\.0 MB\/s is the limit/,
  );
  assert.match(found.details[0]!, /Too small for it: disk sectors of 512 B/);
  assert.match(found.gain!, /disk sectors of 4096 B 39\.\d MB\/s against 12\.2 MB\/s in software/);
});

test('slower everywhere: used, and a loss', () => {
  const loss = diagnosed(
    `$ openssl speed -elapsed -evp aes-128-cbc\n${ELAPSED}${speed('aes-128-cbc', counts(100, 1))}`,
    engine,
  );
  assert.equal(loss.findings[0]!.id, 'engine-worth-it');
  assert.match(loss.verdict, /is a loss: the CPU’s own code is faster at every size/);
  // Two runs of one note, told apart by user time alone.
  const notes = `module off:\n${speed('aes-128-cbc', counts(380, 21), 2.98)}\nmodule on:\n${speed('aes-128-cbc', counts(7000, 45), 0.2)}`;
  assert.match(diagnosed(notes).findings[0]!.details[0]!, /“used, and a loss”/);
});

test('without -evp nobody is asked', () => {
  assert.equal(
    finding(
      'benchmark-without-evp',
      `$ openssl speed -elapsed aes-128-cbc\n${ELAPSED}${speed('aes-128 cbc', counts(500, 82))}`,
      procCrypto(...EIP93),
    ).kind,
    'problem',
  );
});

test('one side alone; a benchmark in 64 KiB; before and after', () => {
  assert.match(finding('one-side-measured', engine).verdict, /software’s are missing beside them/);
  assert.equal(finding('one-side-measured', software).kind, 'fine');
  const table = (cbc: number, xts: number): string =>
    `# Tests are approximate using memory only (no storage IO).\n#     Algorithm |       Key |      Encryption |      Decryption\n        aes-cbc        256b  ${cbc.toFixed(1)} MiB/s  ${cbc.toFixed(1)} MiB/s\n        aes-xts        256b  ${xts.toFixed(1)} MiB/s  ${xts.toFixed(1)} MiB/s\n`;
  assert.equal(finding('benchmark-unlike-disk', table(30, 12), procCrypto(...EIP93)).kind, 'advice');
  assert.match(
    finding('two-states-compared', table(9, 11), table(27, 18)).verdict,
    /aes-cbc with 256 bits 3\.0x, aes-xts with 256 bits 1\.64x/,
  );
});

test('kcapi-speed’s own words', () => {
  assert.match(
    finding('kcapi-speed', 'SHA-256(G)              |d|   65536 bytes|               20.00 MB/s|305 ops/s')
      .verdict,
    /portable C code/,
  );
  assert.match(
    finding('kcapi-speed', 'cryptoperf: could not allocate shash handle for sha1-ssse3', software).verdict,
    /sha1-ssse3 is not on this machine/,
  );
});

test('even figures: not used, or as fast as software; and always faster is worth it', () => {
  const again = engine.replace(
    speed('aes-128-cbc', counts(37_000, 16.4)),
    speed('aes-128-cbc', counts(505, 82)),
  );
  const even = finding('engine-worth-it', software, again);
  assert.equal(even.kind, 'advice');
  assert.match(even.verdict, /makes no difference for aes-128-cbc/);
  const faster = engine.replace(
    speed('aes-128-cbc', counts(37_000, 16.4)),
    speed('aes-128-cbc', counts(300, 8)),
  );
  const won = finding('engine-worth-it', software, faster);
  assert.equal(won.kind, 'fine');
  assert.match(won.verdict, /^It is worth it: .* faster than the CPU’s own code at every size measured/);
  assert.ok(!ids(software).includes('engine-worth-it'), 'one side');
});

test('a table that somebody put together: rows named by what did the work', () => {
  const row = (name: string, fixedNs: number, nsPerByte: number): string =>
    `${name}  ${[16, 64, 256, 1024, 8192, 16384].map((size) => `${((size * 1e6) / (fixedNs + nsPerByte * size)).toFixed(2)}k`).join('  ')}\n`;
  const text = `$ openssl speed -elapsed -evp AES-128-CBC\ntype  16 bytes  64 bytes  256 bytes  1024 bytes  8192 bytes  16384 bytes\n${row('afalg-new', 14_000, 9)}${row('software', 450, 21)}`;
  const found = diagnosed(text).findings[0]!;
  assert.equal(found.id, 'engine-worth-it');
  assert.match(found.verdict, /“afalg-new”|afalg-new/);
  assert.match(found.verdict, /wins for aes-128-cbc from about 1/);
});

test('all lines in one, as a web page leaves them', () => {
  const text = `# openssl speed aes-256-cbc ${speed('aes-256 cbc', counts(450, 21)).replaceAll('\n', ' ')}OpenSSL 1.1.1n 15 Mar 2022`;
  assert.equal(diagnosed(text).findings[0]!.id, 'benchmark-without-evp');
});

test('what somebody loaded by hand before he measured is what he asks about', () => {
  const plain = `$ openssl speed aes-128-cbc\n${speed('aes-128 cbc', counts(500, 82), 2.99)}OpenSSL 1.0.1t  3 May 2016\n`;
  assert.equal(finding('benchmark-without-evp', plain).kind, 'advice');
  const tried = diagnosed(`# modprobe rk_crypto\n${plain}`).findings[0]!;
  assert.equal(tried.id, 'benchmark-without-evp');
  assert.equal(tried.kind, 'problem');
});

test('tables without counts that nothing contradicts are not called wrong', () => {
  const head = 'type  16 bytes  64 bytes  256 bytes  1024 bytes  8192 bytes\n';
  const text = `sh# openssl speed aes-256-cbc\nOpenSSL 1.0.0 29 Mar 2010\n${head}aes-256 cbc  51000.00k  54000.00k  54800.00k  54900.00k  55200.00k\n\nthe same with openssl speed -engine aesni aes-256-cbc\n\nsh# openssl speed -evp aes-256-cbc\n${head}aes-256-cbc  403000.00k  420000.00k  424000.00k  425000.00k  426000.00k\n`;
  assert.ok(!ids(text).includes('benchmark-by-user-time'));
});

test('labels that deny an engine are software’s', () => {
  const head = 'type 16 bytes 64 bytes 256 bytes 1024 bytes 8192 bytes\n';
  const own = 'AES-256-CBC (no engine) 11000.00k 15000.00k 16000.00k 16500.00k 16700.00k\n';
  const handed = 'AES-256-CBC (with afalg) 500.00k 2000.00k 7600.00k 25000.00k 71000.00k\n';
  assert.equal(ids(head + own + handed)[0], 'engine-worth-it');
  assert.ok(!ids(head + handed + handed.replace('with', 'my')).includes('engine-worth-it'));
});

test('without -evp no curve is an engine’s, and an engine that was asked for in vain was asked for', () => {
  const rows = [
    'type             16 bytes     64 bytes    256 bytes   1024 bytes   8192 bytes  16384 bytes',
    'aes-128-cbc       6430.62k     7734.27k     8165.80k     8273.92k     8308.05k     8306.69k',
  ].join('\n');
  const bare = rows.replace('aes-128-cbc ', 'aes-128 cbc ');
  const without = diagnosed(`$ openssl speed aes-128-cbc\nOpenSSL 1.1.1n  15 Mar 2022\n${bare}\n`);
  assert.equal(without.findings[0]!.id, 'benchmark-without-evp');
  assert.doesNotMatch(JSON.stringify(without.findings), /software’s are missing/);
  const vain = diagnosed(
    `$ openssl speed -evp aes-128-cbc -engine devcrypto\ninvalid engine "devcrypto"\nOpenSSL 1.1.1n  15 Mar 2022\n${rows}\n`,
  );
  assert.equal(vain.findings[0]!.id, 'engine-not-loaded');
  assert.doesNotMatch(JSON.stringify(vain.findings), /nothing in the text asked for an engine/);
  const none = diagnosed(`$ openssl speed -evp aes-128-cbc\nOpenSSL 1.1.1n  15 Mar 2022\n${rows}\n`);
  assert.match(JSON.stringify(none.findings), /nothing in the text asked for an engine/);
});
