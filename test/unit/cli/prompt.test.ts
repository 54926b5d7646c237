/** The passphrase at the terminal, on a real pseudo-terminal. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { hwcrypt, MAIN, noTerminal, program, scratch } from './helpers.js';

const cwd = scratch();
writeFileSync(join(cwd, 'hello'), 'hello');

const quoted = (words: readonly string[]): string =>
  words.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(' ');

interface Step {
  /** Wait until the terminal shows this … */
  readonly shows: string;
  /** … and type that. */
  readonly type: string;
}

/** Runs a command line at a terminal; returns all that it showed. */
function atTerminal(
  command: string,
  steps: readonly Step[],
): Promise<{ shown: string; status: number | null }> {
  return new Promise((resolve, reject) => {
    const child = spawn('script', ['-q', '-e', '-c', command, '/dev/null'], {
      cwd,
      stdio: ['pipe', 'pipe', 'inherit'],
      env: { ...process.env, SHELL: '/bin/sh' },
    });
    let shown = '';
    let fresh = '';
    const left = [...steps];
    const timer = setTimeout(() => {
      child.kill('SIGKILL');
      reject(new Error(`timed out; the terminal showed ${JSON.stringify(shown)}`));
    }, 60_000);
    child.stdout.on('data', (data: Buffer) => {
      shown += data;
      fresh += data;
      const step = left[0];
      if (step && fresh.includes(step.shows)) {
        left.shift();
        fresh = '';
        child.stdin.write(step.type);
      }
    });
    child.on('close', (status) => {
      clearTimeout(timer);
      resolve({ shown, status });
    });
  });
}

const encrypt = quoted([
  process.execPath,
  MAIN,
  'enc',
  '-aes-256-cbc',
  '-pbkdf2',
  '-in',
  'hello',
  '-out',
  'out',
]);
const ASK = 'enter AES-256-CBC encryption password:';
const VERIFY = `Verifying - ${ASK}`;

function decrypted(passphrase: string): string {
  return hwcrypt(['enc', '-d', '-aes-256-cbc', '-pbkdf2', '-in', 'out', '-k', passphrase], { cwd }).stdout;
}

test('asked for twice, without echo', { skip: noTerminal }, async () => {
  const { shown, status } = await atTerminal(encrypt, [
    { shows: ASK, type: 'geheim ä\r' },
    { shows: VERIFY, type: 'geheim ä\r' },
  ]);
  assert.equal(status, 0, shown);
  assert.equal(shown.replaceAll('\r', ''), `${ASK}\n${VERIFY}\n`);
  assert.equal(decrypted('geheim ä'), 'hello');
});

test('erasing and starting again work, also over a character of two bytes', {
  skip: noTerminal,
}, async () => {
  const { status, shown } = await atTerminal(encrypt, [
    { shows: ASK, type: 'wrong\u0015secä\u007fret\u007f\u007ft\r' },
    { shows: VERIFY, type: 'secrt\n' },
  ]);
  assert.equal(status, 0, shown);
  assert.equal(decrypted('secrt'), 'hello');
});

test('asked for once to decrypt, while the data comes from a pipe', { skip: noTerminal }, async () => {
  hwcrypt(['enc', '-aes-256-cbc', '-pbkdf2', '-in', 'hello', '-out', 'out', '-k', 'pw'], { cwd });
  const command = `cat out | ${quoted([process.execPath, MAIN, 'enc', '-d', '-aes-256-cbc', '-pbkdf2'])} > plain`;
  const { status } = await atTerminal(command, [
    { shows: 'enter AES-256-CBC decryption password:', type: 'pw\r' },
  ]);
  assert.equal(status, 0);
  assert.equal(readFileSync(join(cwd, 'plain'), 'utf8'), 'hello');
});

test('two that differ, an empty one, and the end of input are refused', { skip: noTerminal }, async () => {
  for (const [steps, message] of [
    [
      [
        { shows: ASK, type: 'one\r' },
        { shows: VERIFY, type: 'two\r' },
      ],
      /the two are not the same/,
    ],
    [
      [
        { shows: ASK, type: '\r' },
        { shows: VERIFY, type: '\r' },
      ],
      /it is empty/,
    ],
    [[{ shows: ASK, type: '\u0004' }], /no passphrase was typed/],
  ] as const) {
    const { shown, status } = await atTerminal(encrypt.replace(`'out'`, `'never'`), steps);
    assert.match(shown, message);
    assert.equal(status, 1);
  }
  assert.equal(existsSync(join(cwd, 'never')), false);
});

for (const [name, key, ends] of [
  ['Ctrl-C', '\u0003', /status 130/],
  ['Ctrl-\\', '\u001c', /status 131/],
] as const) {
  test(`${name} ends it and gives the terminal back its echo`, { skip: noTerminal }, async () => {
    const { shown } = await atTerminal(`${encrypt}; echo "status $?"; stty -a`, [
      { shows: ASK, type: `secret${key}` },
    ]);
    assert.match(shown, ends);
    assert.match(shown, /[^-]icanon/);
    assert.match(shown, / echo /);
    assert.doesNotMatch(shown, /secret/);
  });
}

test('no terminal: said, with what to do', () => {
  const { status, stderr } = program('setsid', ['-w', process.execPath, MAIN, 'enc', '-aes-256-cbc'], {
    cwd,
  });
  assert.equal(status, 1);
  assert.match(stderr, /^hwcrypt: enc: there is no terminal to ask for the passphrase: give it with -pass/);
});

test('a progress bar is for a terminal, for work that takes more than a second', {
  skip: noTerminal,
}, async () => {
  const feed =
    '(head -c 300000 /dev/zero; sleep 1.5; head -c 300000 /dev/zero; sleep 0.5; head -c 300000 /dev/zero)';
  const command = `${feed} | ${quoted([process.execPath, MAIN, 'enc', '-aes-256-cbc', '-pbkdf2', '-k', 'x'])} > out`;
  const { shown } = await atTerminal(command, []);
  assert.match(shown, /enc .*[MG]B/);
  // Of two in a row the last one: it would be one line for both.
  const inner = quoted([process.execPath, MAIN, 'enc', '-aes-256-cbc', '-pbkdf2', '-k', 'x']);
  const pair = await atTerminal(`${feed} | ${inner} | ${quoted([process.execPath, MAIN, 'dgst'])} > out`, []);
  assert.match(pair.shown, /dgst .*[MG]B/);
  assert.doesNotMatch(pair.shown, /enc /);
  const quick = await atTerminal(quoted([process.execPath, MAIN, 'enc', '-none', '-in', 'hello']), []);
  assert.equal(quick.shown, 'hello');
});
