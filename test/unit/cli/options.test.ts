import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { helpText } from '#src/cli/help.js';
import { type CommandSpec, nearest, parse } from '#src/cli/options.js';

const spec: CommandSpec = {
  name: 'try',
  summary: 'For the test.',
  usage: '[options]',
  operands: 2,
  options: [
    { names: ['-in'], value: 'FILE', help: 'Input' },
    { names: ['-e'], help: 'Encrypt', sets: ['direction', 'encrypt'], lastCounts: true },
    { names: ['-d'], help: 'Decrypt', sets: ['direction', 'decrypt'], lastCounts: true },
    { names: ['-hex'], help: 'Hex', sets: ['form', 'hex'] },
    { names: ['-r'], help: 'Reversed', sets: ['form', 'r'] },
    { names: ['-k'], value: 'TEXT', help: 'Passphrase' },
    { names: ['-K'], value: 'HEX', help: 'Key' },
    { names: ['-a', '-base64'], help: 'Base64' },
    { names: ['--auto-kdf'], help: 'Try' },
    { names: ['-iter'], value: 'N', help: 'Rounds' },
    { names: ['-opt'], value: 'X', help: 'More than once', repeats: true },
    { names: ['-secretly'], help: '', hidden: true },
  ],
  resolve: (name) => (name === 'aes-128-cbc' ? ['cipher', name] : undefined),
  suggest: (name) => (name.startsWith('aes') ? ['aes-128-cbc'] : []),
  run: async () => undefined,
};

const values = (...argv: string[]) => parse(spec, argv).given;

test('one dash or two, with the value after a blank or an equals sign', () => {
  for (const argv of [['-in', 'f'], ['--in', 'f'], ['-in=f'], ['--in=f']]) {
    assert.equal(values(...argv).get('in'), 'f', argv.join(' '));
  }
  assert.equal(values('-base64').has('a'), true);
  assert.equal(values('--auto-kdf').has('auto-kdf'), true);
  assert.equal(values('-auto-kdf').has('auto-kdf'), true);
});

test('letters differ by case', () => {
  const given = values('-k', 'text', '-K', 'hex');
  assert.equal(given.get('k'), 'text');
  assert.equal(given.get('K'), 'hex');
});

test('a value may look like an option, be empty, or hold an equals sign', () => {
  assert.equal(values('-k', '-in').get('k'), '-in');
  assert.equal(values('-k', '--').get('k'), '--');
  assert.equal(values('-k', '').get('k'), '');
  assert.equal(values('-k=').get('k'), '');
  assert.equal(values('-k=a=b').get('k'), 'a=b');
  assert.equal(values('-k', 'a\nb').get('k'), 'a\nb');
});

test('the last one counts, and a warning says which does not', () => {
  const warnings = (...argv: string[]) => parse(spec, argv).warnings;
  assert.deepEqual(warnings('-e', '-d'), ['-e has no effect beside -d']);
  assert.deepEqual(warnings('-in', 'a', '--in', 'b'), ['of several -in only the last has an effect']);
  assert.deepEqual(warnings('-in', 'a', '-in', 'a', '-opt', 'a', '-opt', 'b', '-d', '-d'), []);
  assert.throws(() => parse(spec, ['-hex', '-r']), {
    code: 'USAGE',
    message: '-hex has no effect beside -r',
  });
  assert.equal(values('-e', '-d').get('direction'), 'decrypt');
  assert.equal(values('-d', '-e').get('direction'), 'encrypt');
  assert.equal(values('-in', 'a', '-in', 'b').get('in'), 'b');
  assert.deepEqual(values('-opt', 'a', '-opt', 'b').all('opt'), ['a', 'b']);
});

test('operands: a dash alone, and whatever follows two', () => {
  assert.deepEqual(parse(spec, ['-']).operands, ['-']);
  assert.deepEqual(parse(spec, ['x', '-a', '--', '-in']).operands, ['x', '-in']);
  assert.throws(() => parse(spec, ['1', '2', '3']), { code: 'USAGE', message: /one argument too many: "3"/ });
});

test('what is neither is resolved by the command, or refused with a suggestion', () => {
  assert.equal(values('-aes-128-cbc').get('cipher'), 'aes-128-cbc');
  assert.throws(() => values('-aes-128-cbd'), { code: 'USAGE', message: /did you mean -aes-128-cbc\?/ });
  assert.throws(() => values('--auto-kfd'), /unknown option --auto-kfd \(did you mean --auto-kdf\?\)/);
  assert.throws(() => values('-zzzzzz'), /see hwcrypt try --help/);
  assert.throws(
    () => values('-secretl'),
    (error: Error) => !error.message.includes('-secretly'),
  );
  // What follows an equals sign may be a passphrase.
  assert.throws(
    () => values('--pasword=hunter2'),
    (error: Error) => !error.message.includes('hunter2'),
  );
  assert.throws(() => values('-in'), { code: 'USAGE', message: 'option -in needs a value: -in FILE' });
  assert.throws(() => values('-a=1'), { code: 'USAGE', message: 'option -a takes no value' });
});

test('numbers', () => {
  assert.equal(values('-iter', '10').number('iter', 1), 10);
  assert.equal(values().number('iter', 1), undefined);
  for (const text of ['0', '-1', '1.5', '1e3', '', ' 1', '0x10', '99999999999999999999']) {
    assert.throws(() => values('-iter', text).number('iter', 1), { code: 'USAGE' }, text);
  }
});

test('the help fits into 80 columns and hides what is hidden', () => {
  assert.equal(parse(spec, ['-h']).help, true);
  assert.equal(parse(spec, ['x', 'y', 'z', '--help']).help, true);
  const text = helpText(spec);
  assert.ok(text.split('\n').every((line) => line.length <= 80));
  assert.ok(!text.includes('secretly'));
  assert.match(text, /-a, -base64 +Base64/);
});

test('slips of the finger', () => {
  assert.deepEqual(nearest('ecn', ['enc', 'list']), ['enc']);
  assert.deepEqual(nearest('encc', ['enc', 'list']), ['enc']);
  assert.deepEqual(nearest('lsit', ['enc', 'list']), ['list']);
  assert.deepEqual(nearest('frobnicate', ['enc', 'list']), []);
  assert.deepEqual(nearest('auto-kfd', ['auto-kdf']), ['auto-kdf']);
});

test('no command line is more than it can read: an answer or a usage error', () => {
  const word = fc.oneof(
    fc.string(),
    fc.constantFrom('-in', '--in=', '-k', '-', '--', '-d', '---', '-=', '--=x', '-h'),
  );
  fc.assert(
    fc.property(fc.array(word, { maxLength: 8 }), (argv) => {
      try {
        parse(spec, argv);
      } catch (error) {
        assert.equal((error as { code?: string }).code, 'USAGE');
      }
    }),
    { numRuns: 1000 },
  );
});
