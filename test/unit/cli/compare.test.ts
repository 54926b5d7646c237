/** `hwcrypt compare` on the command line. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import fc from 'fast-check';
import { compareCommand, command as liveCompare } from '#src/cli/commands/compare.js';
import type { Measure } from '#src/cli/live.js';
import { parse } from '#src/cli/options.js';
import { importResults, writeJson } from '#src/interop/index.js';
import { curve, GNUBEE, MT7688, QEMU } from '../bench/results.js';
import { fixture, fixtures } from '../interop/fixtures.js';
import { failure, hwcrypt, MAIN, noTerminal, scratch, shell } from './helpers.js';

const cwd = scratch();

function file(name: string, text: string | Uint8Array): string {
  writeFileSync(join(cwd, name), text);
  return name;
}

const software = file('mt7688-software.txt', MT7688.software);
const engine = file('mt7688-mtk-aes.txt', MT7688.engine);
const qemu = file('qemu.txt', QEMU);
const before = file('before.txt', GNUBEE.before);
const prose = file('prose.txt', 'Nothing here.\nIs a result.\nAt all.\nOf anything.\n');
const json = file('own.json', writeJson(curve('this machine', { 16: 1e6, 8192: 9e6 })));

test('two texts', () => {
  const { status, stdout, stderr } = hwcrypt(['compare', software, engine], { cwd });
  assert.equal(status, 0);
  assert.equal(stderr, '');
  assert.match(stdout, /^Below about 8\d B software is faster, above it mtk-aes/m);
  assert.match(stdout, /15\.5x/);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: colours would be such
  assert.doesNotMatch(stdout, /\u001b/);
  assert.doesNotMatch(stdout, /^MB\/s$/m, 'no plot in a pipe');
});

test('standard input, JSON and text in any mix; one file with several runs', () => {
  const mixed = hwcrypt(['compare', json, '-'], { cwd, input: MT7688.software });
  assert.equal(mixed.status, 0, mixed.stderr);
  assert.match(mixed.stdout, /^A {2}own: own\.json, hwcrypt$/m);
  assert.match(mixed.stdout, /^B {2}stdin: standard input, openssl speed/m);
  const one = hwcrypt(['compare', qemu], { cwd });
  assert.equal(one.status, 0);
  assert.match(one.stdout, /^Below about 1\.9 KiB nettle is faster, above it afalg/m);
});

test('--baseline by number, driver, label and file; --algorithm by name and family', () => {
  const ratio = (args: string[]): string | undefined =>
    /^ +512 B +\S+ +\S+ +(\S+)$/m.exec(hwcrypt(['compare', qemu, ...args], { cwd }).stdout)?.[1];
  assert.equal(ratio([]), '2.00x');
  assert.equal(ratio(['--baseline', '2']), '0.50x');
  assert.equal(ratio(['--baseline', 'nettle']), '0.50x');
  assert.equal(ratio(['--baseline', '1', '--algorithm', 'hmac-sha256']), '2.32x');
  const of = (which: string): string =>
    hwcrypt(['compare', software, engine, '--baseline', which], { cwd }).stdout;
  for (const which of ['2', 'mtk-aes', engine, 'B', 'b']) assert.match(of(which), /A\/B$/m, which);
  assert.match(
    hwcrypt(['compare', qemu, '--algorithm', 'aes'], { cwd }).stdout,
    /^aes-128-cbc, direction not said$/m,
  );
  const wrong = hwcrypt(['compare', qemu, '--baseline', 'netle'], { cwd });
  assert.equal(wrong.status, 2);
  assert.match(
    wrong.stderr,
    /: it may be the number of a run \(1 to 2\), a letter \(A to B\), a label \(afalg, nettle\), a file name \(/,
  );
  assert.match(wrong.stderr, /there is no "netle" for a baseline \(did you mean nettle\?\)/);
});

test('nothing to compare is status 1, and for each file what could be read', () => {
  const none = hwcrypt(['compare', software, prose], { cwd });
  assert.equal(none.status, 1);
  assert.equal(none.stdout, '');
  assert.match(
    none.stderr,
    /prose\.txt: 4 lines not read, or not in full: 1, 2, 3 … \(--verbose tells why\)/,
  );
  assert.match(none.stderr, /nothing to compare: there are no two results of one algorithm and operation/);
  assert.match(none.stderr, /mt7688-software\.txt: openssl speed: aes-128-cbc, 16 B to 8 KiB/);
  assert.match(none.stderr, /prose\.txt: no benchmark output that is known/);
  const apart = hwcrypt(['compare', software, before], { cwd });
  assert.equal(apart.status, 1);
  assert.match(apart.stderr, /nothing to compare: there is no request size in common/);
  assert.match(apart.stdout, /^No size in common/m);
  assert.equal(hwcrypt(['compare', software], { cwd }).status, 1);
  const other = hwcrypt(['compare', qemu, '--algorithm', 'rc4'], { cwd });
  assert.equal(other.status, 1);
  assert.match(other.stderr, /nothing there is rc4/);
});

test('key derivations alone are something to compare', () => {
  const [a, b] = ['4000000', '125000'].map((rate, i) =>
    file(`kdf-${'ab'[i]}.txt`, `PBKDF2-sha256     ${rate} iterations per second for 256-bit key\n`),
  ) as [string, string];
  const { status, stdout } = hwcrypt(['compare', a, b], { cwd });
  assert.equal(status, 0);
  assert.match(stdout, /^PBKDF2 sha256, 256 bits +4000000 +125000 +0\.031x$/m);
});

test('--verbose tells each line that could not be read', () => {
  const { stderr } = hwcrypt(['compare', software, prose, '--verbose'], { cwd });
  assert.match(stderr, /prose\.txt: line 4: not a line of a known benchmark: Of anything\./);
});

test('--json and --csv', () => {
  const { stdout, status } = hwcrypt(['compare', '--json', software, engine], { cwd });
  assert.equal(status, 0);
  const parsed = JSON.parse(stdout) as { subjects: { pairs: { ratios: { ratio: number }[] }[] }[] };
  assert.equal(parsed.subjects[0]!.pairs[0]!.ratios.at(-1)!.ratio.toFixed(1), '15.5');
  const csv = hwcrypt(['compare', '--csv', software, engine], { cwd }).stdout;
  assert.match(csv, /^algorithm,operation,.*\r\naes-128-cbc,encrypt,128,16,software,mtk-aes,/);
});

test('wrong command lines are status 2', async () => {
  mkdirSync(join(cwd, 'live'), { recursive: true });
  for (const [argv, message] of [
    [[], /nothing to compare: name files/],
    [['-', '-'], /standard input can be read once only/],
    [['live'], /live needs a file of results beside it/],
    [['live', 'live:afalg', 'x'], /this machine can be compared once only/],
    [['live:', 'x'], /"live:" names no driver/],
    [['--json', '--csv', 'x'], /--json has no effect beside --csv/],
    [['--no-plot', '--json', 'x'], /--no-plot has no effect beside --json/],
    [['--basline', '1', 'x'], /did you mean --baseline\?/],
    [['--baseline'], /needs a value/],
  ] as const) {
    const found = await failure(liveCompare, argv);
    assert.equal(found.status, 2, argv.join(' '));
    assert.match(found.message, message);
  }
});

test('files that cannot be read are status 1, with their name', async () => {
  const broken = file('broken.json', '{"format": "hwcrypt-results", "version": 1');
  for (const [name, message] of [
    ['no-such-file', /^cannot open no-such-file for reading: no such file or directory$/i],
    ['.', /^cannot read \.: it is a directory$/],
    [join(cwd, broken), /broken\.json: .*not whole JSON$/],
    ['', /the file name is empty/],
  ] as const) {
    const found = await failure(liveCompare, [name]);
    assert.equal(found.status, 1, name);
    assert.match(found.message, message);
  }
});

test('a device without an end is given up', () => {
  const { status, stderr } = hwcrypt(['compare', '/dev/zero']);
  assert.equal(status, 1);
  assert.match(stderr, /^hwcrypt: compare: \/dev\/zero is larger than 64 MiB$/m);
});

test('a closed pipe ends it without a word', () => {
  const { stderr, stdout } = shell(`hwcrypt compare ${software} ${engine} | true; echo "\${PIPESTATUS[0]}"`, {
    cwd,
  });
  assert.deepEqual([stderr, stdout], ['', '1\n']);
});

test('in a terminal: a plot, within its columns, in ASCII where the locale is no UTF-8', {
  skip: noTerminal,
}, () => {
  const out = (columns: number, locale: string): string[] =>
    spawnSync(
      'script',
      [
        '-qec',
        `stty cols ${columns}; '${process.execPath}' '${MAIN}' compare ${software} ${engine}`,
        '/dev/null',
      ],
      { cwd, env: { ...process.env, LC_ALL: locale, TERM: 'xterm', COLUMNS: undefined } },
    )
      .stdout.toString()
      .split('\r\n');
  for (const columns of [40, 80]) {
    const lines = out(columns, 'C');
    assert.ok(lines.includes('MB/s'), lines.join('\n'));
    assert.ok(Math.max(...lines.map(({ length }) => length)) <= Math.max(columns, 44), lines.join('\n'));
    assert.ok(lines.some((line) => line.includes('++-')));
  }
  assert.ok(out(80, 'C.UTF-8').some((line) => line.includes('└┬')));
});

test('live: this machine at what the files measured, in its place', async () => {
  const asked: unknown[] = [];
  const measure: Measure = async (subjects, drivers) => {
    asked.push(
      subjects.map(({ algorithm, operation, sizes }) => [algorithm.name, operation, sizes]),
      drivers,
    );
    return { set: curve('this machine', { 16: 5e6, 8192: 9e6 }, { driver: 'afalg' }), status: 130 };
  };
  const command = compareCommand(measure);
  const { given, operands } = parse(command, ['live:afalg,node', join(cwd, engine), '--csv']);
  const printed = await captured(() => command.run(given, operands));
  assert.deepEqual(asked, [[['aes-128-cbc', 'encrypt', [16, 64, 256, 8192]]], ['afalg', 'node']]);
  assert.equal(printed.status, 130, 'what a signal made of it');
  assert.match(printed.text, /^aes-128-cbc,encrypt,128,16,live,mt7688-mtk-aes,5000000,/m);
});

test('whatever is in a file, it ends with 0 or 1 and the typed error', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...fixtures),
      fc.nat(),
      fc.array(fc.tuple(fc.nat(), fc.integer({ min: 0, max: 255 })), { maxLength: 8 }),
      async (name, cut, edits) => {
        const bytes = Buffer.from(fixture(name));
        const text = bytes.subarray(0, cut % (bytes.length + 1));
        for (const [at, value] of edits) if (text.length > 0) text[at % text.length] = value;
        file('edited', text);
        const { given, operands } = parse(liveCompare, [join(cwd, 'edited'), join(cwd, engine), '--json']);
        try {
          const { status } = await captured(() => liveCompare.run(given, operands));
          assert.ok(status === 0 || status === 1);
        } catch (error) {
          assert.equal((error as { code?: string }).code, 'INPUT_FILE');
        }
      },
    ),
    { numRuns: 100 },
  );
});

test('hwcrypt’s own JSON of an importer’s result is the same result', () => {
  const { sets } = importResults(QEMU, { source: 'qemu.txt' });
  file('qemu.json', writeJson(sets));
  const numbers = (name: string): string => hwcrypt(['compare', '--csv', name], { cwd }).stdout;
  assert.equal(numbers('qemu.json'), numbers('qemu.txt'));
});

/** What a command writes to standard output: it writes to the descriptor itself. */
async function captured(
  work: () => Promise<number | undefined>,
): Promise<{ readonly status: number | undefined; readonly text: string }> {
  const fs = (await import('node:fs')).default;
  const { syncBuiltinESMExports } = await import('node:module');
  const original = fs.writeSync;
  let text = '';
  fs.writeSync = ((fd: number, bytes: Uint8Array, offset?: number | null, size?: number | null) => {
    const at = offset ?? 0;
    const length = size ?? bytes.length - at;
    if (fd === 1) text += Buffer.from(bytes.subarray(at, at + length)).toString();
    return length;
  }) as typeof fs.writeSync;
  syncBuiltinESMExports();
  try {
    return { status: await work(), text };
  } finally {
    fs.writeSync = original;
    syncBuiltinESMExports();
  }
}
