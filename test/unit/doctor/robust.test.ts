/** A bundle cut off anywhere, in CRLF, given twice, quoted in a mail, full of noise or of terminal sequences: findings or a typed error, never a crash. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type Diagnosis, diagnose, diagnoseFacts, gatherFacts } from '#src/doctor/index.js';
import { diagnosisPage } from '#src/report/html/diagnosis.js';
import { bundle, counts, diagnosed, EIP93, ELAPSED, GENERIC, procCrypto, speed } from './helpers.js';

const WHOLE = bundle({
  kernel: 'Linux 6.6.52 mips',
  distribution: "DISTRIB_ID='OpenWrt'",
  cpuinfo: 'system type\t\t: MediaTek MT7621\ncpu model\t\t: MIPS 1004Kc V2.15\nprocessors\t: 4',
  memory: 'MemTotal:         509000 kB\nMemAvailable:     400000 kB',
  crypto: procCrypto(...GENERIC, ...EIP93),
  modules: 'crypto_hw_eip93 28672 0 - Live',
  platform: '1e004000.crypto compatible=mediatek,mtk-eip93 driver=mtk-eip93',
  'af-alg': 'protocol  size sockets  memory\nALG       1234      0\nSeccomp:\t0',
  openssl: 'OpenSSL 3.0.15 3 Sep 2024',
  'openssl-engines': '(devcrypto) /dev/crypto engine\n [AES-128-CBC, AES-256-CBC]\n     [ available ]',
  'dm-crypt': '0 7501344768 crypt aes-xts-plain64 :64:logon:[removed] 0 8:1 32768',
  block: 'sda logical=512 physical=4096 rotational=1 sectors=1000',
  luks: 'Version:       \t2\n  0: crypt\n\tcipher: aes-xts-plain64\n\tsector: 512 [bytes]\n  0: luks2\n\tMemory:     65536',
  log: 'mtk-eip93 1e004000.crypto: EIP93 Crypto Engine Initialized.',
  'interrupts-before': '           CPU0\n 25:      7   MIPS GIC  19  1e004000.crypto',
  'speed-software openssl speed -elapsed -evp aes-128-cbc': `${ELAPSED}${speed('aes-128-cbc', counts(500, 82))}`,
  'speed-engine openssl speed -elapsed -evp aes-128-cbc -engine devcrypto': `Engine "devcrypto" set.\n${ELAPSED}${speed('aes-128-cbc', counts(37_000, 16.4))}`,
  'interrupts-after': '           CPU0\n 25:      9007   MIPS GIC  19  1e004000.crypto',
});

/** What is found, by name; a typed error is fine where nothing is left to read. */
function survive(text: string | Uint8Array): string[] | 'INPUT_FILE' {
  try {
    return diagnose([{ name: 'bundle', text }]).findings.map(({ id }) => id);
  } catch (error) {
    assert.equal((error as { code?: string }).code, 'INPUT_FILE', String((error as Error).stack));
    return 'INPUT_FILE';
  }
}

const expected = survive(WHOLE);

test('the whole bundle says what is wrong', () => {
  assert.ok(expected.includes('mode-lacking'));
  assert.equal(
    diagnosed(WHOLE).verdict,
    'Your EIP93 is present and loaded, but dm-crypt does not use it: xts is not among its modes (ecb, cbc and ctr)',
  );
});

test('CRLF, a byte order mark, UTF-16, given twice, quoted in a mail, in another bundle’s company', () => {
  for (const [name, text] of Object.entries({
    crlf: WHOLE.replaceAll('\n', '\r\n'),
    bom: `\ufeff${WHOLE}`,
    utf16: Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from(WHOLE, 'utf16le')]),
    twice: WHOLE + WHOLE,
    mail: WHOLE.replaceAll(/^/gm, '> '),
    talk: `Hello,\nhere is what my router says, I hope it helps:\n\n${WHOLE}\nregards\n`,
  })) {
    assert.deepEqual(survive(text), expected, name);
  }
});

test('cut off anywhere', () => {
  // Every seventh byte: each line is hit at several places, and the whole stays below two seconds.
  for (let end = 0; end < WHOLE.length; end += 7) survive(WHOLE.slice(0, end));
  for (let begin = 0; begin < WHOLE.length; begin += 41) survive(WHOLE.slice(begin));
});

test('what is cut off is not taken for absent', () => {
  const cut = WHOLE.slice(0, WHOLE.indexOf('sha512-generic'));
  assert.ok(!JSON.stringify(survive(cut)).includes('driver-not-loaded'));
});

test('lines changed, dropped, repeated and mixed with noise', () => {
  const lines = WHOLE.split('\n');
  const noise = fc.oneof(
    fc.string({ maxLength: 60, unit: 'binary' }),
    fc.constantFrom(
      'name : ',
      ': : :',
      '[[x]]',
      '[[end]]',
      'hwcrypt-probe 1',
      '0 1 crypt',
      'Doing x for 3s on',
    ),
  );
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.nat(lines.length - 1), fc.nat(lines.length - 1), noise), { maxLength: 30 }),
      (changes) => {
        const own = [...lines];
        for (const [at, other, text] of changes) {
          own[at] = text;
          [own[at], own[other]] = [own[other]!, own[at]!];
        }
        survive(own.join('\n'));
      },
    ),
    { numRuns: 60 },
  );
});

test('five megabytes cost no minute', { timeout: 60_000 }, () => {
  const cpu = (text: string): number => {
    const before = process.cpuUsage();
    survive(text);
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1e6;
  };
  const fill = (text: string): string => text.repeat(Math.ceil(5e6 / text.length));
  // The bound is generous: what is quadratic takes minutes. By CPU time, since other tests run beside.
  for (const text of [
    fill(WHOLE),
    fill('  25:  1  2 x crypto\n'),
    `name : ${'a('.repeat(2.5e6)}`,
    fill('Doing AES-128-CBC for 1s on 16 size blocks: 6021 AES-128-CBC’s in 0.89s\n'),
  ])
    assert.ok(cpu(text) < 12, `${text.slice(0, 40)}…`);
});

test('terminal sequences and secrets do not come out again', () => {
  const evil = '\u001b]0;owned\u0007\u001b[2J\u0007';
  const text = `${evil}name : xts(aes)\ndriver : xts${evil}-aes-caam\npriority : 3000\ntype : skcipher\nmodule : a4:5e:60:c1:02:f7${evil}\n\nOpenSSL 1.0.2k ${evil} admin@example.org\n$ openssl speed -evp aes-128-cbc ${evil}\n${speed('aes-128-cbc', counts(500, 82))}`;
  const found: Diagnosis = diagnosed(text);
  const out = JSON.stringify(found);
  assert.doesNotMatch(out, /\\u001b|\\u0007|\\u009b/);
  assert.ok(!out.includes('a4:5e:60:c1:02:f7') && !out.includes('admin@example.org'));
});

test('nothing known is a typed error that names the text', () => {
  assert.throws(
    () => diagnose([{ name: '/home/anna/secret/notes.txt', text: 'Dear diary' }]),
    (error: Error & { code?: string }) => {
      assert.equal(error.code, 'INPUT_FILE');
      return true;
    },
  );
  assert.equal(survive(''), 'INPUT_FILE');
});

test('the page draws the figures of the texts, each once, and none where there are none', async () => {
  const facts = gatherFacts([{ name: 'bundle', text: WHOLE }]);
  const page = await diagnosisPage(diagnoseFacts(facts), facts.results.sets);
  const charts = [...page.matchAll(/<svg\b[^>]*class="chart (\w+)"/g)].map(([, format]) => format);
  assert.ok(charts.length > 0 && charts.length % 2 === 0, 'for a page and for a phone');
  assert.equal(charts.filter((format) => format === 'wide').length, charts.length / 2);
  const identifiers = [...page.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id);
  assert.equal(new Set(identifiers).size, identifiers.length, 'no two parts of the page have one name');
  for (const name of ['software', 'devcrypto']) assert.ok(page.includes(`>${name}<`), name);
  assert.doesNotMatch(await diagnosisPage(diagnoseFacts(facts)), /<svg/);
});
