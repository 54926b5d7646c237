/** Options that cannot have an effect together: refused with both names, or a warning where OpenSSL takes them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { command as demo } from '#src/cli/commands/demo.js';
import { command as dgst } from '#src/cli/commands/dgst.js';
import { command as enc } from '#src/cli/commands/enc.js';
import { command as list } from '#src/cli/commands/list.js';
import { command as rand } from '#src/cli/commands/rand.js';
import { parse } from '#src/cli/options.js';
import { failure, hwcrypt } from './helpers.js';

const COMMANDS = { demo, dgst, enc, list, rand };

test('every rule speaks of options that there are, by their first name', () => {
  for (const { name, options, rules = [] } of Object.values(COMMANDS)) {
    const known = new Set(options.map(({ names }) => names[0]));
    for (const { of, needs = [], beside = [], only = [] } of rules) {
      for (const option of [of, ...needs, ...beside, ...only])
        assert.ok(known.has(option), `${name} ${option}`);
    }
  }
});

test('refused: both options are named, status 2', async () => {
  const cases: [line: string, options: string[]][] = [
    ['enc --json -aes-128-cbc -k x', ['--json', '--explain']],
    ['enc -aes-128-cbc -k x -saltlen 4', ['-saltlen', '-pbkdf2']],
    ['enc -aes-128-cbc -pbkdf2 -k x -saltlen 4 -nosalt', ['-saltlen', '-nosalt']],
    ['enc -aes-128-cbc -k x -S 00 -nosalt', ['-S', '-nosalt']],
    ['enc -aes-128-cbc -k x -A', ['-A', '-a']],
    ['enc -aes-128-cbc -k x --auto-kdf', ['--auto-kdf', '-d']],
    ['enc -d -aes-128-cbc -k x --auto-kdf -nopad', ['--auto-kdf', '-nopad']],
    ['enc -aes-128-cbc -none', ['-aes-128-cbc', '-none']],
    ['enc -none -k x', ['-k', '-none']],
    ['enc -none -pbkdf2', ['-pbkdf2', 'cipher']],
    ['enc -none -d', ['-d', '-a']],
    ['enc -a --driver node', ['--driver', 'cipher']],
    ['enc -a -nopad', ['-nopad', 'cipher']],
    ['enc -P -aes-128-cbc -k x --driver node', ['--driver', '-P']],
    ['enc -list -in x', ['-in', '-list']],
    ['enc --explain x -in y', ['-in', '--explain']],
    ['enc --explain x -out y', ['-out', '--explain']],
    ['dgst --quiet x', ['--quiet', '-c']],
    ['dgst --ignore-missing x', ['--ignore-missing', '-c']],
    ['dgst --status x', ['--status', '-c']],
    ['dgst --strict x', ['--strict', '-c']],
    ['dgst -w x', ['-w', '-c']],
    ['dgst -c -out y x', ['-out', '-c']],
    ['dgst -c -colons x', ['-colons', '-c']],
    ['dgst -c --sum x', ['--sum', '-c']],
    ['dgst --json --sum x', ['--sum', '--json']],
    ['dgst --json -z x', ['-z', '--json']],
    ['dgst -binary -hex x', ['-hex', '-binary']],
    ['dgst -binary -r x', ['-binary', '-r']],
    ['dgst --sum --tag x', ['--sum', '--tag']],
    ['dgst -c --json --quiet x', ['--quiet', '--json']],
    ['dgst -macopt key:k x', ['-macopt', '-mac']],
    ['dgst -hmac k -mac HMAC x', ['-mac', '-hmac']],
    ['dgst -list -r', ['-r', '-list']],
    ['rand -hex -base64 4', ['-hex', '-base64']],
    ['list --all --json', ['--all', '--json']],
    ['list drivers --all', ['--all', 'drivers']],
    ['demo -q --json', ['-q', '--json']],
  ];
  for (const [line, options] of cases) {
    const [name, ...argv] = line.split(' ') as [keyof typeof COMMANDS, ...string[]];
    const { message, status } = await failure(COMMANDS[name], argv);
    assert.match(message, /has no effect (?:beside|without)/, line);
    for (const option of options) assert.ok(message.split(/[ :]/).includes(option), `${line}: ${message}`);
    assert.equal(status, 2, line);
  }
});

test('taken with a warning, where OpenSSL or sha256sum take it', () => {
  const cases: [line: string, warning: string][] = [
    ['enc -aes-128-cbc -k x -P -out y', '-out has no effect beside -P'],
    ['enc -aes-128-cbc -k x -aes-256-cbc', '-aes-128-cbc has no effect beside -aes-256-cbc'],
    ['enc -aes-128-cbc -k x -writerand y', '-writerand has no effect here'],
    ['dgst -c --status --quiet x', '--quiet has no effect beside --status'],
    ['rand -rand y 4', '-rand has no effect here'],
  ];
  for (const [line, warning] of cases) {
    const [name, ...argv] = line.split(' ') as [keyof typeof COMMANDS, ...string[]];
    assert.deepEqual(parse(COMMANDS[name], argv).warnings, [warning], line);
  }
  const key = '00112233445566778899aabbccddeeff';
  const printed = (line: string) => hwcrypt(line.split(' ')).stderr;
  assert.equal(
    printed(`enc -aes-128-ctr -K ${key} -iv ${key} -md md5 -nopad -nosalt -in /dev/null`),
    'hwcrypt: enc: warning: -nopad has no effect beside -aes-128-ctr, which pads nothing\n' +
      'hwcrypt: enc: warning: -md has no effect beside -K without a passphrase\n',
  );
  assert.match(
    printed(`enc -aes-128-ctr -K ${key} -iv ${key} -k x -pbkdf2 -in /dev/null`),
    /^hwcrypt: enc: warning: the passphrase has no effect on key and IV beside -K/,
  );
  // What is the case anyway may be said.
  for (const line of ['enc -e -salt -aes-128-cbc -k x -pbkdf2 -in /dev/null', 'dgst -hex -r /dev/null']) {
    assert.equal(printed(line), '', line);
  }
});

test('rand: how many bytes', async () => {
  for (const [amount, why] of [
    ['0', 'at least 1 is needed'],
    ['4k', 'did you mean 4K?'],
    ['-5', 'a whole number such as 16, 4K or 1M'],
    ['1.5', 'a whole number such as 16, 4K or 1M'],
    ['99999999999999999999', 'it is too large'],
  ] as const) {
    const { message, status } = await failure(rand, [amount]);
    assert.equal(message, `"${amount}" is not a number of bytes to make: ${why}`);
    assert.equal(status, 2);
  }
});
