import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { command } from '#src/cli/commands/enc.js';
import { failure, hwcrypt, noOpenssl, program, scratch, shell } from './helpers.js';

const cwd = scratch();
const path = (name: string): string => join(cwd, name);
const enc = (args: string, options: Parameters<typeof hwcrypt>[1] = {}) =>
  hwcrypt(['enc', ...args.split(' ')], { cwd, ...options });
const openssl = (args: string, input: string | Uint8Array = '') =>
  program('openssl', ['enc', ...args.split(' ')], { cwd, input });

writeFileSync(path('hello'), 'hello');
writeFileSync(path('large'), randomBytes(400_000));

test('the examples that everybody types, against openssl, standard output and error alike', {
  skip: noOpenssl,
}, () => {
  for (const args of [
    '-aes-128-cbc -k x -P -S 0102030405060708',
    '-aes-128-cbc -k x -P -S 01',
    '-aes-128-cbc -k x -P -S 010203040506070809',
    '-aes-128-cbc -k x -p -S 01 -in hello',
    '-aes-256-cbc -pbkdf2 -iter 5 -k x -S 0102030405060708 -p -a -in hello',
    '-aes-256-cbc -pbkdf2 -k x -S 0102030405060708 -a -in large',
    '-aes-256-cbc -pbkdf2 -k x -S 0102030405060708 -a -A -in large -md sha512',
    '-aes-128-ecb -k a -p -nosalt -in hello',
    '-aes-128-ecb -K 000102030405060708090a0b0c0d0e0f -nosalt -p -iv 00 -in hello',
    '-aes-128-cbc -k x -iv 01 -P -S 01',
    '-aes-128-cbc -K 01 -k x -P -S 01',
    '-AES-128-CBC -nosalt -k x -in hello -e',
    '-e -aes128 -nosalt -k x -in hello',
    '-aes-128-cbc -nosalt -k -in -in hello',
    '-chacha20 -k x -S 00 -in large -bufsize 3k',
    '-rc4 -k x -S 00 -pbkdf2 -in large -provider legacy -provider default',
    '-bf-cbc -k x -S 00 -pbkdf2 -in large -provider legacy -provider default',
    '-a -in hello',
    '-base64 -A -in hello',
    '-none -in hello',
    '-aes-128-cbc -nosalt -k x -nopad -in /dev/null',
  ]) {
    const [ours, theirs] = [enc(args), openssl(args)];
    assert.equal(theirs.status, 0, args);
    assert.deepEqual(ours.bytes, theirs.bytes, args);
    assert.equal(ours.stderr, theirs.stderr, args);
    assert.equal(ours.status, 0, args);
  }
});

test('decryption of what openssl wrote, from a pipe, from a redirected file, with -v', {
  skip: noOpenssl,
}, () => {
  const large = readFileSync(path('large'));
  writeFileSync(path('large.enc'), openssl('-aes-256-cbc -pbkdf2 -k x -in large').bytes);
  assert.deepEqual(
    shell('cat large.enc | hwcrypt enc -d -aes-256-cbc -pbkdf2 -k x | cat', { cwd }).bytes,
    large,
  );
  assert.deepEqual(shell('hwcrypt enc -d -aes-256-cbc -pbkdf2 -k x < large.enc', { cwd }).bytes, large);
  const verbose = enc('-d -aes-256-cbc -pbkdf2 -k x -in large.enc -out large.out -v');
  assert.match(
    verbose.stderr,
    /^bufsize=8192\nbytes read {3}: {3}400032\nbytes written: {3}400000\ndriver {7}: (libcrypto|node)\n$/,
  );
  assert.deepEqual(readFileSync(path('large.out')), large);
  assert.equal(statSync(path('large.out')).mode & 0o777, 0o600);
});

test('passphrases from everywhere', { skip: noOpenssl }, () => {
  writeFileSync(path('pass'), 'pässword \r\nsecond line\n');
  writeFileSync(path('plain.enc'), openssl('-aes-128-cbc -nosalt -k päss -in hello').bytes);
  const wanted = (source: string) => openssl(`-aes-128-cbc -nosalt ${source} -in hello`).bytes;
  for (const source of ['-kfile pass', '-pass file:pass', '-pass pass:x:y', '-pass env:HOME', '-k päss']) {
    assert.deepEqual(enc(`-aes-128-cbc -nosalt ${source} -in hello`).bytes, wanted(source), source);
  }
  // What follows the line is the data.
  const both = enc('-aes-128-cbc -nosalt -pass stdin', { input: 'päss\nhello' });
  assert.deepEqual(both.bytes, readFileSync(path('plain.enc')));
  const descriptor = shell('hwcrypt enc -aes-128-cbc -nosalt -pass fd:3 -in hello 3<<<päss', { cwd });
  assert.deepEqual(descriptor.bytes, readFileSync(path('plain.enc')));
  // -k before -kfile before -pass, wherever they stand.
  const two = enc('-pass pass:no -aes-128-cbc -nosalt -k päss -in hello');
  assert.deepEqual(two.bytes, readFileSync(path('plain.enc')));
  assert.match(two.stderr, /^hwcrypt: enc: warning: -pass has no effect beside -k\n/);
});

test('long passphrases are cut where openssl cuts them', { skip: noOpenssl }, () => {
  writeFileSync(path('longpass'), `${'p'.repeat(200)}\n`);
  for (const source of ['-kfile longpass', '-pass file:longpass']) {
    const ours = enc(`-aes-128-cbc -nosalt ${source} -in hello`);
    assert.deepEqual(ours.bytes, openssl(`-aes-128-cbc -nosalt ${source} -in hello`).bytes, source);
  }
  assert.match(
    enc('-aes-128-cbc -nosalt -kfile longpass -in hello').stderr,
    /cut to 127 bytes, as openssl does/,
  );
});

test('errors: one line, the cause, status 1; no file', async () => {
  // Relative paths, so that messages can be compared.
  process.chdir(cwd);
  writeFileSync(path('short'), 'Salted__12');
  writeFileSync(path('headless'), 'no header at all here');
  writeFileSync(path('empty'), '');
  writeFileSync(path('odd'), `Salted__12345678${'x'.repeat(20)}`);
  writeFileSync(path('text64'), 'U2FsdGVkX1+21O5RB08bavFTq7Yq/gChmXrO3f00tvJaT55A5pPvqw0zFVnHSW1o\n');
  const cases: [args: string, message: RegExp][] = [
    ['-d -aes-128-cbc -k a -in empty', /error reading input file/],
    ['-d -aes-128-cbc -k a -in short', /error reading input file/],
    ['-d -aes-128-cbc -k a -in headless', /bad magic number/],
    ['-d -aes-128-cbc -k a -in text64', /bad magic number: the input is base64: add -a/],
    ['-d -aes-128-cbc -pbkdf2 -k a -in odd', /bad decrypt: wrong final block length/],
    ['-d -aes-128-cbc -pbkdf2 -k a -a -in headless', /input is not base64|only one character/],
    ['-d -aes-256-cbc -pbkdf2 -k a -a -in text64', /bad decrypt/],
    ['-aes-128-cbc -pbkdf2 -k a -nopad -in hello', /bad encrypt: wrong final block length: 5 bytes/],
    ['-aes-128-cbc -pbkdf2 -k a -in nowhere', /cannot open nowhere for reading: no such file or directory/],
    ['-aes-128-cbc -pbkdf2 -k a -in .', /cannot read \.: it is a directory/],
    ['-aes-128-cbc -pbkdf2 -pass env:NOT_THERE -in hello', /there is no environment variable NOT_THERE/],
    ['-aes-128-cbc -pbkdf2 -pass file:nowhere -in hello', /cannot open nowhere for the passphrase/],
    ['-aes-128-cbc -pbkdf2 -pass fd:77 -in hello', /file descriptor 77: bad file descriptor/],
    ['-aes-128-cbc -pbkdf2 -kfile empty -in hello', /cannot read the passphrase from empty: it is empty/],
    ['-aes-128-cbc -pbkdf2 -k a -driver node:thing -in hello', /node has no kernel driver to pin/],
    [
      '-rc4 -pbkdf2 -k a -driver node -in hello',
      /has no rc4 of 128 bits \(.*legacy provider: use the libcrypto/,
    ],
  ];
  for (const [args, message] of cases) {
    const found = await failure(command, `${args} -out never`.split(' '));
    assert.match(found.message, message, args);
    assert.doesNotMatch(found.message, /\n/, args);
    assert.equal(found.status, 1, args);
  }
  for (const [args, message] of [
    ['-out hello', /hello is the input file too/],
    ['-out no/where', /cannot open no\/where for writing: no such file/],
    ['-out .', /cannot write \.: it is a directory/],
    ['-out /dev/full', /cannot write \/dev\/full: no space left on device/],
  ] as const) {
    const found = await failure(command, `-aes-128-cbc -pbkdf2 -k a -in hello ${args}`.split(' '));
    assert.match(found.message, message, args);
    assert.equal(found.status, 1, args);
  }
  const printed = enc('-aes-128-cbc -pbkdf2 -k a -in nowhere -out never');
  assert.equal(printed.stderr, 'hwcrypt: enc: cannot open nowhere for reading: no such file or directory\n');
  assert.equal(printed.stdout, '');
  assert.equal(printed.status, 1);
  assert.equal(existsSync(path('never')), false);
  assert.equal(readFileSync(path('hello'), 'utf8'), 'hello');
  assert.deepEqual(
    readdirSync(cwd).filter((name) => name.endsWith('.tmp')),
    [],
  );
});

test('a wrong command line: one line, status 2', async () => {
  const cases: [args: string, message: RegExp][] = [
    ['-aes-128-foo -k a', /unknown option -aes-128-foo \(did you mean/],
    ['-cipher nope -k a', /Unknown cipher: nope/],
    ['-aes-128-gcm -k a', /AEAD ciphers not supported/],
    ['-aes-128-xts -k a', /XTS ciphers not supported/],
    ['-aes128-wrap -k a', /key wrap ciphers not supported/],
    ['-k a -in hello', /no cipher is given/],
    ['-a -k a -in hello', /no cipher is given/],
    ['-aes-128-cbc -K 00', /iv undefined/],
    ['-aes-128-cbc -K 00 -iv xx', /invalid hex iv value: non-hex digit/],
    ['-aes-128-cbc -k a -iter 0', /-iter takes a whole number, 1 to/],
    ['-aes-128-cbc -pbkdf2 -k a -saltlen 17', /-saltlen takes a whole number, 1 to 16/],
    ['-aes-128-cbc -k a -md nope', /unknown message digest: nope/],
    ['-aes-128-cbc -k a -md md4', /no key can be derived with md4 here: .*openssl enc -provider legacy/],
    ['-aes-128-cbc -pass hunter2', /-pass begins with pass:, env:/],
    ['-aes-128-cbc -k a -engine afalg', /there are no engines here: use --driver/],
    ['-aes-128-cbc -k a -driver nope -in hello', /there is no driver "nope"/],
    ['-aes-128-cbc -k a -bufsize many', /-bufsize takes a number/],
    ['-aes-128-cbc -k a hello', /unexpected argument "hello" \(files are given with -in and -out\)/],
    ['-aes-128-cbc -in', /option -in needs a value/],
  ];
  for (const [args, message] of cases) {
    const found = await failure(command, args.split(' '));
    assert.match(found.message, message, args);
    assert.doesNotMatch(found.message, /\n|hunter2/, args);
    assert.equal(found.status, 2, args);
  }
  const printed = enc('-aes-128-foo -k a');
  assert.match(printed.stderr, /^hwcrypt: enc: unknown option -aes-128-foo \(did you mean [^\n]+\n$/);
  assert.equal(printed.status, 2);
});

test('what a terminal would obey is spelt out in messages', () => {
  const result = hwcrypt(['enc', '-none', '-in', 'no\u001b[31m\nsuch\u0007'], { cwd });
  assert.equal(
    result.stderr,
    'hwcrypt: enc: cannot open no\\x1b[31m\\x0asuch\\x07 for reading: no such file or directory\n',
  );
  assert.match(hwcrypt(['enc', '-\u001b[2J'], { cwd }).stderr, /^hwcrypt: enc: unknown option -\\x1b\[2J/);
});

test('garbage that is already out is called that', () => {
  const wrong = shell(
    'hwcrypt enc -aes-128-cbc -pbkdf2 -k right -in large | hwcrypt enc -d -aes-128-cbc -pbkdf2 -k wrong',
    { cwd },
  );
  // Once in 256 times the padding of a wrong key is right.
  if (wrong.status === 1) {
    assert.match(
      wrong.stderr,
      /what was written to standard output \(\d+ bytes\) is to be thrown away\nhwcrypt: enc: bad decrypt/,
    );
  }
});

test('HWCRYPT_DEBUG shows where an error came from', () => {
  const result = enc('-aes-128-cbc -pbkdf2 -k a -in nowhere', { env: { HWCRYPT_DEBUG: '1' } });
  assert.match(result.stderr, /\n +at .*io\.js/);
  assert.match(result.stderr, /caused by: Error: ENOENT/);
});

test('names that begin with a dash, and standard input and output by their names', () => {
  writeFileSync(path('-dash'), 'dashed');
  assert.equal(enc('-none -in -dash').stdout, 'dashed');
  assert.equal(enc('-none -in - -out -', { input: 'piped' }).stdout, 'piped');
  assert.equal(enc('-none -in /dev/stdin -out /dev/stdout', { input: 'piped' }).stdout, 'piped');
  const appended = shell('printf x > both; hwcrypt enc -none -in hello -out /dev/stdout >> both; cat both', {
    cwd,
  });
  assert.equal(appended.stdout, 'xhello');
});

test('case 46: a header with a salt of zeros, without padding', () => {
  const input = 'U2FsdGVkX1/MAAAAAAAAANcQ3NNYy8zIC9jzcAHAwxNYIM6/88Xdy/eMhRD4kCxh';
  assert.equal(enc('-d -aes-256-cbc -a -k pass -nopad', { input }).stdout, 'ha'.repeat(16));
});

test('case 44 on the command line', () => {
  const input = 'U2FsdGVkX1+21O5RB08bavFTq7Yq/gChmXrO3f00tvJaT55A5pPvqw0zFVnHSW1o\n';
  const failed = enc('-d -aes-256-cbc -a -A -k password', { input });
  assert.equal(failed.status, 1);
  assert.equal(failed.stdout, '');
  assert.match(failed.stderr, /\nhwcrypt: enc: bad decrypt: the passphrase fits with -md md5 /);
  const found = enc('-d -aes-256-cbc -a -A -k password --auto-kdf', { input });
  assert.equal(found.status, 0);
  assert.equal(found.stdout, 'Made with Gibberish\n');
  assert.match(found.stderr, /\nhwcrypt: enc: the passphrase fits with -md md5 .*: using that\n$/);
  const explained = enc('--explain - -k password', { input });
  assert.match(explained.stdout, /-aes-256-cbc +-md md5 .*looks like text/);
  const json = JSON.parse(enc('--explain - -json', { input }).stdout) as { salt: string };
  assert.equal(json.salt, 'b6d4ee51074f1b6a');
});

test('the list of ciphers', () => {
  const { stdout, status } = enc('-list');
  assert.equal(status, 0);
  assert.match(stdout, /^Supported ciphers:\n/);
  assert.match(stdout, /-aes-256-cbc/);
  assert.doesNotMatch(stdout, /gcm|xts/);
});
