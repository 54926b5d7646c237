/** Lines, numbers, secrets, command lines: what all importers stand on. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { readCommand } from '#src/interop/command.js';
import { kcapiName, opensslAlgorithm, qemuAlgorithm } from '#src/interop/names.js';
import { readDecimal, readInteger, readSize, unitBytes } from '#src/interop/numbers.js';
import { baseName, redact } from '#src/interop/redact.js';
import { MAX_INPUT, printable, readLines } from '#src/interop/text.js';
import { readTime } from '#src/interop/time.js';

test('lines keep the numbers that they have in the text', () => {
  const lines = (input: string): unknown[] => readLines(input).map(({ number, text }) => [number, text]);
  assert.deepEqual(lines('a\r\nb\r\r\n\n\u2028c'), [
    [1, 'a'],
    [2, 'b'],
    [6, 'c'],
  ]);
  assert.deepEqual(lines('<table><tr><td>a</td>\n<td>b</td></tr>\n<tr><td>c</td></tr></table>\n<none> d'), [
    [1, '| a  | b '],
    [3, '| c '],
    [4, '<none> d'],
  ]);
  assert.deepEqual(
    readLines('>> a\n> b\nc').map(({ quote }) => quote),
    [2, 1, 0],
  );
  assert.deepEqual(lines('Content-Transfer-Encoding: quoted-printable\nab=\nc=3Dd =E2=80=99\n').at(-1), [
    2,
    "abc=d '",
  ]);
  // Padding of base64 at the end of a line is no soft line break.
  assert.deepEqual(lines(`${'a'.repeat(63)}=\nb`).length, 2);
});

test('nothing unseen is left in a line', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 200 }), (input) => {
      for (const text of [printable(input), ...readLines(input).map((line) => line.text)]) {
        assert.doesNotMatch(text, /[\p{Cc}\p{Cs}\u200b-\u200f\u202a-\u202e\u2066-\u2069]/u);
      }
    }),
  );
  assert.throws(() => readLines('a'.repeat(MAX_INPUT + 1)), { code: 'INPUT_FILE' });
});

test('numbers as they are written somewhere, and those that could be two', () => {
  const decimal = (token: string, expected = 2) => readDecimal(token, expected)?.value;
  assert.deepEqual(
    ['1', '1.25', '1,25', '1.234,56', '1,234.56', "1'234.56", '1.234.567,89', '1,234,567', "646'811.75"].map(
      (token) => decimal(token),
    ),
    [1, 1.25, 1.25, 1234.56, 1234.56, 1234.56, 1234567.89, 1234567, 646811.75],
  );
  for (const token of [
    '',
    '1.',
    '.5',
    '1,234',
    '646.811',
    '1..2',
    '12,34.5.6',
    '1e5',
    '-1',
    '1 2',
    'inf',
    "1'2",
    '1.2.3',
    '1'.repeat(30),
  ]) {
    assert.equal(decimal(token), undefined, token);
  }
  assert.equal(decimal('2.980000', 6), 2.98);
  assert.equal(decimal('1,234', 3), 1.234);
  assert.deepEqual(
    ['1365333', '1,365,333', '1.365.333', "1'365'333", '12,34,567', '1,23', '1.2', ''].map(readInteger),
    [1365333, 1365333, 1365333, 1365333, 1234567, undefined, undefined, undefined],
  );
  assert.deepEqual(['16', '16B', '64bytes', '1KB', '8KiB', '1MiB', '0', '16x'].map(readSize), [
    16,
    16,
    64,
    1024,
    8192,
    2 ** 20,
    undefined,
    undefined,
  ]);
  assert.deepEqual(['MiB/s', 'MB/sec', 'kB/s', 'GB', 'B/s', 'Mbps', 'MB/h', 'constructor'].map(unitBytes), [
    2 ** 20,
    1e6,
    1e3,
    1e9,
    1,
    undefined,
    undefined,
    undefined,
  ]);
});

test('secrets, names and addresses do not pass', () => {
  const secret = (text: string, ...parts: string[]): void => {
    const out = redact(text);
    for (const part of parts) assert.ok(!out.includes(part), `${text} -> ${out}`);
  };
  secret('crypt: 0 1 crypt aes-xts-plain64 00112233445566778899aabbccddeeff0011 0 8:1', '00112233');
  secret('UUID: 0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0', '0f1e2d3c');
  secret('Salt:       a0 01 02 03 04 05 06 07 08 09 0a 0b', 'a0 01', '0b');
  secret(
    'openssl enc -aes-128-cbc -K 001122 -iv 334455 -pass pass:hunter2 -S 99',
    '001122',
    '334455',
    'hunter2',
  );
  secret('password: swordfish', 'swordfish');
  secret('key=QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVphYmNkZWZnaGlqa2xtbm9w', 'QUJDREVG');
  secret('key=0123456789ABCDEF', '01234567');
  secret('alice@nas-berlin:~$ openssl speed', 'alice', 'berlin');
  secret('[root@nas-berlin ~]# openssl speed', 'root', 'berlin');
  secret('router:/home/root # openssl speed', 'router');
  secret('link/ether 52:54:00:12:34:56 inet 192.168.1.77/24', '52:54', '192.168');
  secret('cat /home/alice/x', 'alice');
  secret(`${'x'.repeat(300)} 00112233445566778899aabbccddeeff`, '00112233');
  // What is no secret stays: names, bit masks, versions, figures.
  for (const text of [
    'AES-128-CBC',
    'OPENSSL_ia32cap=0xfed83203178bffff:0x18005f42f1bb03a9',
    'OpenSSL 1.1.1b 26 Feb 2019',
    'cbc(aes-generic)',
    'x86_64-linux-gnu-gcc',
  ]) {
    assert.equal(redact(text), text);
  }
  assert.equal(redact('z'.repeat(200)).length, 160);
  assert.deepEqual(['/home/alice/speed.txt', 'C:\\x\\speed.txt', '-', ''].map(baseName), [
    'speed.txt',
    'speed.txt',
    '-',
    '-',
  ]);
});

test('command lines behind prompts, and mentions in sentences', () => {
  for (const prompt of [
    '',
    '$ ',
    '# ',
    'root@host:~# ',
    '[root@host ~]# ',
    'router:/tmp # ',
    'alix:~#  ',
    'C:\\>',
    '### ',
    'user@host:~/src$ apps/',
    '% sudo time -v ',
    'OPENSSL_CONF=/ ',
    'taskset -c 0 ',
    '1. ',
  ]) {
    const command = readCommand(
      `${prompt}openssl speed -elapsed -evp aes-128-cbc -engine devcrypto -multi 4 2>/dev/null | grep evp`,
    );
    assert.equal(command?.text, 'openssl speed -elapsed -evp aes-128-cbc -engine devcrypto -multi 4', prompt);
    assert.equal(command?.strict, true, prompt);
    assert.deepEqual(command?.options, {
      algorithms: [],
      elapsed: true,
      decrypt: false,
      aead: false,
      evp: 'aes-128-cbc',
      engine: 'devcrypto',
      multi: 4,
    });
  }
  const mention = readCommand('I ran openssl speed -evp aes-256-cbc -decrypt and got:');
  assert.deepEqual(
    [mention?.strict, mention?.options.evp, mention?.options.decrypt],
    [false, 'aes-256-cbc', true],
  );
  for (const sentence of [
    'openssl speed without -elapsed lies',
    'the openssl speed is great',
    'full speed ahead',
    'openssl version',
    'Using cryptsetup is easy',
  ]) {
    const command = readCommand(sentence);
    assert.ok(command === undefined || !command.options.elapsed, sentence);
  }
  assert.equal(readCommand('# cryptsetup -v benchmark -c aes-xts-plain64 -s 512')?.options.keyBits, 512);
  assert.equal(readCommand('$ kcapi-speed -c sha256 -b1024 -o 8')?.options.aio, 8);
  assert.equal(readCommand('$ ./speed --kib')?.tool, 'cryptodev speed');
});

test('names of other tools', () => {
  const openssl = (name: string) => opensslAlgorithm(name)?.name;
  assert.deepEqual(
    [
      'aes-128 cbc',
      'AES-256-CBC',
      'des ede3',
      'des cbc',
      'blowfish cbc',
      'hmac(md5)',
      'cmac(AES-128-CBC)',
      'rmd160',
      'chacha20-poly',
      'id-aes128-GCM',
      'evp',
      'ghash',
    ].map(openssl),
    [
      'aes-128-cbc',
      'aes-256-cbc',
      'des-ede3-cbc',
      'des-cbc',
      'bf-cbc',
      'hmac-md5',
      'cmac-aes-128',
      'ripemd160',
      'chacha20-poly1305',
      'aes-128-gcm',
      undefined,
      undefined,
    ],
  );
  assert.deepEqual(
    [
      'cbc(aes128)',
      'aes-128-cbc',
      'cbc-aes-128',
      'hmac(sha256)',
      'sha256',
      'serpent-256-xts',
      'nonsense',
    ].map((name) => qemuAlgorithm(name)?.name),
    ['aes-128-cbc', 'aes-128-cbc', 'aes-128-cbc', 'hmac-sha256', 'sha256', 'serpent-256-xts', undefined],
  );
  assert.deepEqual(
    [
      'SHA3-256(G)',
      'DES3(MV-CESA) CBC(MV-CESA) EDE 168',
      'Serpent(AVX) XTS(AVX) 192',
      'SM4(G) GCM(G)',
      'HMAC MD5(G)',
      'AES(G) LRW(G) 128',
    ].map((name) => kcapiName(name).algorithm?.name),
    ['sha3-256', 'des-ede3-cbc', 'serpent-192-xts', 'sm4-gcm', 'hmac-md5', undefined],
  );
});

test('what time prints', () => {
  assert.deepEqual(readTime('Elapsed (wall clock) time (h:mm:ss or m:ss): 1:02:03'), { elapsedNs: 3723e9 });
  assert.deepEqual(readTime('Elapsed (wall clock) time (h:mm:ss or m:ss): 0:18.03'), { elapsedNs: 18.03e9 });
  assert.deepEqual(readTime('real    0m18.030s'), { elapsedNs: 18.03e9 });
  assert.deepEqual(readTime('user 1m0,5s'), { userNs: 60.5e9 });
  assert.deepEqual(readTime('Swaps: 0'), {});
  assert.equal(readTime('anything else'), undefined);
});

test('numbers before lines are taken away, and those of interrupts and of figures are not', () => {
  const lines = (whole: string): string[] => readLines(whole).map(({ text }) => text.trim());
  assert.deepEqual(lines(' 1  one\n 2  two\n\n 4  four\n'), ['one', 'two', 'four']);
  for (const whole of ['1: 3 GIC\n2: 4 GIC\n3: 5 GIC', '1 100.00\n2 200.00\n3 300.00', '1 one\n2 two\nthree'])
    assert.deepEqual(lines(whole), whole.split('\n'));
  assert.deepEqual(lines('[code]a[/code]\n[[crypto]]'), ['a', '[[crypto]]']);
});
