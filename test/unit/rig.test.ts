/** The parts of the rig that need no guest: its command line, the quoting, the archive it boots from. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { parseRigArguments, UsageError } from '../../rig/args.js';
import { cpioArchive } from '../../rig/cpio.js';
import { guestEnvironment, isCovered, jobScript } from '../../rig/job.js';
import { kernelParameter, qemuValue, shellCommand, shellQuote } from '../../rig/quote.js';

describe('rig arguments', () => {
  test('everything after the first -- is the command, options of its own included', () => {
    const parsed = parseRigArguments([
      'uml',
      '--timeout',
      '1.5',
      '--',
      'sh',
      '-c',
      'x',
      '--',
      '--memory',
      '1',
    ]);
    assert.ok(!parsed.help);
    assert.deepEqual(parsed.options.command, ['sh', '-c', 'x', '--', '--memory', '1']);
    assert.equal(parsed.options.timeoutSeconds, 1.5);
    assert.equal(parsed.options.memoryMiB, undefined);
  });

  test('options that repeat keep their order; values may hold = and spaces', () => {
    const parsed = parseRigArguments([
      ...['qemu', '--env', 'A=1=2', '--env', 'B=', '--module', 'aesni_intel', '--module', 'cuse'],
      ...['--modprobe-conf', 'install algif_skcipher /bin/false', '--modprobe-conf', 'blacklist x'],
      ...[
        '--cpu',
        'max,-aes',
        '--smp',
        '2',
        '--memory',
        '2048',
        '--no-accelerator',
        '--verbose',
        '--',
        'true',
      ],
    ]);
    assert.ok(!parsed.help);
    assert.ok(parsed.verbose);
    assert.deepEqual(parsed.options, {
      kind: 'qemu',
      command: ['true'],
      env: { A: '1=2', B: '' },
      modules: ['aesni_intel', 'cuse'],
      modprobeConf: ['install algif_skcipher /bin/false', 'blacklist x'],
      memoryMiB: 2048,
      cpu: 'max,-aes',
      processors: 2,
      accelerator: false,
    });
  });

  test('--cryptodev puts its provider before the command', () => {
    const knobs = '{"maxSessions":1}';
    const parsed = parseRigArguments(['uml', '--cryptodev', '--knobs', knobs, '--', 'ls', '-l']);
    assert.ok(!parsed.help);
    const provider = ['node', 'build/rig/cryptodev/main.js', '--knobs', knobs];
    assert.deepEqual(parsed.options.command, [...provider, '--', 'ls', '-l']);
  });

  test('help needs nothing else', () => {
    assert.deepEqual(parseRigArguments(['--help']), { help: true });
  });

  for (const [what, args, message] of [
    ['no guest', [], /uml or qemu/],
    ['an unknown guest', ['xen', '--', 'true'], /'xen'/],
    ['no --', ['uml', 'true'], /put -- before/],
    ['no command', ['uml', '--'], /no command/],
    ['an unknown option', ['uml', '--fast', '--', 'true'], /--fast/],
    ['an option without its value', ['uml', '--timeout', '--', 'true'], /timeout/],
    ['an option of the other guest', ['uml', '--smp', '2', '--', 'true'], /--smp is for qemu/],
    ['no number', ['uml', '--memory', '1G', '--', 'true'], /--memory/],
    ['too little memory', ['uml', '--memory', '1', '--', 'true'], /--memory/],
    ['a time that is none', ['uml', '--timeout', '0', '--', 'true'], /--timeout/],
    ['a time beyond a timer’s reach', ['uml', '--timeout', '1e9', '--', 'true'], /--timeout/],
    ['a variable without a value', ['uml', '--env', 'A', '--', 'true'], /NAME=VALUE/],
    ['a variable without a name', ['uml', '--env', '=1', '--', 'true'], /NAME=VALUE/],
    ['knobs of nothing', ['uml', '--knobs', '{}', '--', 'true'], /--cryptodev/],
    ['knobs that are no JSON', ['uml', '--cryptodev', '--knobs', '{', '--', 'true'], /--knobs: .*JSON/],
    ['a knob that is none', ['uml', '--cryptodev', '--knobs', '{"delay":1}', '--', 'true'], /'delay'/],
    [
      'a knob of the wrong type',
      ['uml', '--cryptodev', '--knobs', '{"maxSessions":"1"}', '--', 'true'],
      /number/,
    ],
    ['a module that is a command', ['uml', '--module', 'a; reboot', '--', 'true'], /module/],
  ] as const) {
    test(`refused: ${what}`, () => {
      assert.throws(
        () => parseRigArguments(args),
        (error) => error instanceof UsageError && message.test(error.message),
      );
    });
  }
});

describe('quoting', () => {
  // No C string holds a NUL, and execve takes none.
  const word = fc.string({ unit: 'grapheme', maxLength: 30 }).map((text) => text.replaceAll('\0', ''));

  test('sh gets back any words that were quoted', () => {
    fc.assert(
      fc.property(fc.array(word, { minLength: 1, maxLength: 8 }), (words) => {
        const script = `for word in ${shellCommand(words)}; do printf '%s\\0' "$word"; done`;
        const seen = execFileSync('/bin/sh', ['-c', script], { encoding: 'utf8' });
        assert.deepEqual(seen.split('\0').slice(0, -1), words);
      }),
      { numRuns: 30 },
    );
  });

  test('plain words stay readable', () => {
    assert.equal(shellQuote('/usr/bin/node'), '/usr/bin/node');
    assert.equal(shellQuote(''), "''");
    assert.equal(shellQuote("it's"), "'it'\\''s'");
  });

  test('the kernel’s command line: quotes around white space, and none inside', () => {
    assert.equal(kernelParameter('init', '/tmp/x/init'), 'init=/tmp/x/init');
    assert.equal(kernelParameter('init', '/tmp/a b/init'), 'init="/tmp/a b/init"');
    assert.throws(() => kernelParameter('init', '/tmp/"/init'), RangeError);
  });

  test('QEMU’s lists: commas doubled', () => {
    assert.equal(qemuValue('/a,b/c'), '/a,,b/c');
  });
});

describe('the job of a guest', () => {
  const boot = {
    options: {
      kind: 'uml',
      command: ['echo', "it's $HOME"],
      env: { X: 'a b' },
      modules: ['cuse', 'loop'],
    },
    runFolder: '/tmp/r',
    resultsFolder: '/tmp/re sults',
    memoryMiB: 512,
  } as const;

  test('is a script that sh can read, with the command in it as it was given', () => {
    // All but the last line, which sources the part that mounts and powers off.
    const settings = jobScript(boot, '/m').split('\n').slice(0, -2).join('\n');
    const seen = execFileSync(
      '/bin/sh',
      ['-c', `${settings}\n(rig_command)\necho "$rig_results|$rig_load"`],
      // As if it were in the shell that it looks for.
      { encoding: 'utf8', env: { ...process.env, rig_inner: '1' } },
    );
    assert.equal(seen, "it's $HOME\n/tmp/re sults|cuse loop\n");
  });

  test('has a small environment: its own, and what was asked for', () => {
    const environment = guestEnvironment(boot.options, boot.resultsFolder);
    const { PATH, ...rest } = environment;
    assert.deepEqual(rest, {
      HOME: '/tmp',
      LANG: 'C.UTF-8',
      TERM: 'dumb',
      HWCRYPT_RIG: 'uml',
      HWCRYPT_RESULTS: '/tmp/re sults',
      X: 'a b',
    });
    assert.ok(PATH?.split(':').includes('/usr/sbin'));
  });

  test('knows which folders a guest covers with its own', () => {
    assert.ok(isCovered('/tmp/clone') && isCovered('/run') && isCovered('/var/tmp/x'));
    assert.ok(!isCovered('/tmpfoo') && !isCovered('/home/me/tmp') && !isCovered('/'));
  });
});

test('the archive that a guest boots from: aligned records of the newc format', () => {
  const archive = cpioArchive([
    { path: 'bin', mode: 0o755 },
    { path: 'bin/x', mode: 0o644, data: Buffer.from('hello') },
  ]);
  const seen: unknown[] = [];
  for (let at = 0; at < archive.length; ) {
    const field = (index: number) =>
      Number.parseInt(archive.toString('latin1', at + 6 + 8 * index, at + 14 + 8 * index), 16);
    assert.equal(archive.toString('latin1', at, at + 6), '070701');
    assert.equal(at % 4, 0);
    const name = archive.toString('latin1', at + 110, at + 110 + field(11) - 1);
    const data = Math.ceil((at + 110 + field(11)) / 4) * 4;
    seen.push([name, field(1).toString(8), archive.toString('latin1', data, data + field(6))]);
    at = Math.ceil((data + field(6)) / 4) * 4;
  }
  assert.deepEqual(seen, [
    ['bin', '40755', ''],
    ['bin/x', '100644', 'hello'],
    ['TRAILER!!!', '0', ''],
  ]);
});
