import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { randomBytes, randomInt } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { algorithms } from '#src/algorithms.js';
import { getDriver } from '#src/drivers/registry.js';
import { type EncOptions, runEnc } from '#src/enc/run.js';
import { cipher, DATA, hooks, noOpenssl, openssl, scratch, withPassphrase } from './helpers.js';

const folder = scratch();
const file = (name: string): string => join(folder, name);
const LEGACY = ['-provider', 'legacy', '-provider', 'default'];
const SALT = '0102030405060708';

/** Encrypts or decrypts from file to file and returns what came out. */
async function run(options: EncOptions): Promise<Buffer> {
  await runEnc({ ...options, output: file('out') }, hooks());
  return readFileSync(file('out'));
}

/** Lengths around blocks, base64 lines, the first look at the input, and the buffers. */
const LENGTHS = [0, 1, 15, 16, 17, 47, 48, 65_519, 65_520, 65_536, 262_143, 262_144, 300_001, 1_100_000];

test('every cipher, both directions, against openssl', { skip: noOpenssl }, async () => {
  let at = 0;
  for (const algorithm of algorithms('cipher')) {
    const { name, mode, names } = algorithm;
    if (mode === 'xts' || names.openssl === undefined) continue;
    if (!getDriver('libcrypto').supports(algorithm).supported) continue;
    const plain = randomBytes(LENGTHS[at++ % LENGTHS.length] as number);
    writeFileSync(file('plain'), plain);
    const base64 = at % 3 === 0;
    const oneLine = at % 6 === 0;
    const flags = [...(base64 ? ['-a'] : []), ...(oneLine ? ['-A'] : [])];
    const common = withPassphrase('pw', { direction: 'encrypt', cipher: algorithm, base64, oneLine });
    const label = `${name}, ${plain.length} bytes ${flags.join(' ')}`;

    const theirs = openssl([
      'enc',
      `-${name}`,
      ...LEGACY,
      '-k',
      'pw',
      '-S',
      SALT,
      '-in',
      file('plain'),
      ...flags,
    ]);
    const ours = await run({ ...common, input: file('plain'), saltHex: SALT });
    assert.ok(ours.equals(theirs), `encrypt ${label}`);

    writeFileSync(file('theirs'), theirs);
    const back = await run({ ...common, direction: 'decrypt', input: file('theirs'), saltHex: SALT });
    assert.ok(back.equals(plain), `decrypt ${label}`);
  }
  assert.ok(at > 60, `${at} ciphers`);
});

test('headers: openssl reads ours, we read those of openssl', { skip: noOpenssl }, async () => {
  const plain = randomBytes(1000);
  writeFileSync(file('plain'), plain);
  for (const base64 of [false, true]) {
    const common = { direction: 'encrypt', cipher: cipher('aes-256-cbc'), base64 } as const;
    await run({
      ...withPassphrase('pw', common),
      input: file('plain'),
      kdf: { kind: 'pbkdf2', digest: 'sha512', iterations: 10 },
    });
    const back = openssl([
      ...['enc', '-d', '-aes-256-cbc', '-k', 'pw', '-iter', '10', '-md', 'sha512', '-in', file('out')],
      ...(base64 ? ['-a'] : []),
    ]);
    assert.deepEqual(back, plain);

    const theirs = [...['enc', '-aes-256-cbc', '-k', 'pw', '-in', file('plain')], ...(base64 ? ['-a'] : [])];
    writeFileSync(file('theirs'), openssl(theirs));
    const ours = withPassphrase('pw', { ...common, direction: 'decrypt', input: file('theirs') });
    assert.deepEqual(await run(ours), plain);
  }
});

test('long files in odd pieces, every length of salt, every driver', async () => {
  const plain = randomBytes(2_000_003);
  writeFileSync(file('plain'), plain);
  for (const driver of ['libcrypto', 'node']) {
    if (!getDriver(driver).probe().available) continue;
    for (const saltBytes of [1, 8, 16]) {
      const common = {
        ...withPassphrase('pw', {
          direction: 'encrypt',
          cipher: cipher('aes-128-cbc'),
          routing: { drivers: driver },
          saltBytes,
        }),
        kdf: { kind: 'pbkdf2', digest: 'sha256', iterations: 2 },
      } as const;
      await runEnc({ ...common, input: file('plain'), output: file('encrypted') }, hooks());
      const encrypted = readFileSync(file('encrypted'));
      assert.equal(encrypted.length, 8 + saltBytes + 2_000_016, driver);
      assert.ok((await run({ ...common, direction: 'decrypt', input: file('encrypted') })).equals(plain));
    }
  }
});

test('through pipes of every rhythm', async () => {
  const plain = randomBytes(500_000);
  const fifo = file('fifo');
  execFileSync('mkfifo', [fifo]);
  const common = withPassphrase('pw', { direction: 'encrypt', cipher: cipher('aes-256-cbc') });
  for (const size of [1000, 4096, 65_536, 100_003]) {
    const writer = spawn('sh', ['-c', `dd bs=${size} of=${fifo} 2>&-`], {
      stdio: ['pipe', 'ignore', 'inherit'],
    });
    writer.stdin.end(plain);
    await runEnc({ ...common, input: fifo, output: file('encrypted') }, hooks());
    const back = await run({ ...common, direction: 'decrypt', input: file('encrypted') });
    assert.ok(back.equals(plain), `pieces of ${size}`);
  }
});

test('the files of case 48 are read with -a, with or without -A', async () => {
  for (const name of ['oneline-hello-pbkdf2.b64', 'wrapped-crlf-hello-pbkdf2.b64']) {
    for (const oneLine of [false, true]) {
      const plain = await run({
        ...withPassphrase('hello', {
          direction: 'decrypt',
          cipher: cipher('aes-256-cbc'),
          base64: true,
          oneLine,
        }),
        kdf: { kind: 'pbkdf2', digest: 'sha256', iterations: 10000 },
        input: join(DATA, name),
      });
      assert.deepEqual(plain, Buffer.alloc(600));
    }
  }
});

test('-K and -iv: warnings as openssl gives them, keys as it makes them', { skip: noOpenssl }, async () => {
  writeFileSync(file('plain'), 'hello');
  const heard = hooks();
  await runEnc(
    {
      direction: 'encrypt',
      cipher: cipher('aes-128-cbc'),
      kdf: { kind: 'bytes-to-key', digest: 'sha256' },
      salt: true,
      padding: true,
      keyHex: '012',
      ivHex: '0203040506070809101112131415161718',
      input: file('plain'),
      output: file('out'),
      print: 'also',
    },
    heard,
  );
  assert.deepEqual(heard.warnings, [
    'hex string is too long, ignoring excess',
    'hex string is too short, padding with zero bytes to length',
  ]);
  assert.deepEqual(heard.printed, [
    'key=01200000000000000000000000000000\niv =02030405060708091011121314151617\n',
  ]);
  assert.deepEqual(
    readFileSync(file('out')),
    openssl(
      ['enc', '-aes-128-cbc', '-K', '012', '-iv', '0203040506070809101112131415161718'],
      Buffer.from('hello'),
    ),
  );
});

test('-K, -iv, -S: what is missing or wrong', async () => {
  const common = {
    direction: 'encrypt',
    cipher: cipher('aes-128-cbc'),
    kdf: { kind: 'bytes-to-key', digest: 'sha256' },
    salt: true,
    padding: true,
    input: '/dev/null',
    output: file('never'),
  } as const;
  await assert.rejects(runEnc({ ...common, keyHex: '00' }, hooks()), {
    code: 'USAGE',
    message: /^iv undefined/,
  });
  await assert.rejects(runEnc({ ...common, keyHex: '0x11', ivHex: '00' }, hooks()), {
    code: 'USAGE',
    message: 'invalid hex key value: non-hex digit',
  });
  await assert.rejects(runEnc({ ...common, keyHex: '00', ivHex: 'zz' }, hooks()), /invalid hex iv value/);
  await assert.rejects(
    runEnc({ ...withPassphrase('p', common), saltHex: '0g' }, hooks()),
    /invalid hex salt value/,
  );
  await assert.rejects(runEnc(common, hooks()), { code: 'PASSPHRASE' });
  const heard = hooks();
  const ecb = { ...common, cipher: cipher('aes-128-ecb'), keyHex: '00'.repeat(16), ivHex: '00' };
  await runEnc({ ...ecb, output: file('out') }, heard);
  assert.equal(existsSync(file('never')), false);
  assert.deepEqual(heard.warnings, ['warning: iv not used by this cipher']);
});

/**
 * A file with a header and a salt that is always the same: with a random one, a wrong key's padding would be right in one
 * run of 256.
 */
async function writeHeaded(path: string, options: EncOptions): Promise<void> {
  const { base64, ...rest } = options;
  const body = await run({ ...rest, saltHex: SALT });
  const whole = Buffer.concat([Buffer.from('Salted__'), Buffer.from(SALT, 'hex'), body]);
  writeFileSync(path, base64 ? `${whole.toString('base64').replace(/.{64}/g, '$&\n')}\n` : whole);
}

const GIBBERISH = 'U2FsdGVkX1+21O5RB08bavFTq7Yq/gChmXrO3f00tvJaT55A5pPvqw0zFVnHSW1o\n';
const LOL = 'U2FsdGVkX1913Wiht6GTal3Fi2TAAlNMue381sAJoaY=\n';

test('case 44: the derivation that fits is named, and used when asked for', async () => {
  writeFileSync(file('gibberish'), GIBBERISH);
  writeFileSync(file('lol'), LOL);
  for (const [name, algorithm, wanted] of [
    ['gibberish', 'aes-256-cbc', 'Made with Gibberish\n'],
    ['lol', 'aes-128-cbc', 'lol\n'],
  ] as const) {
    const common = withPassphrase('password', {
      direction: 'decrypt',
      cipher: cipher(algorithm),
      base64: true,
      input: file(name),
      output: file('never'),
    });
    await assert.rejects(runEnc(common, hooks()), {
      code: 'BAD_DECRYPT',
      message: /^bad decrypt: the passphrase fits with -md md5 \(OpenSSL before 1\.1\.0/,
    });
    assert.equal(existsSync(file('never')), false);
    const heard = hooks();
    const result = await runEnc({ ...common, output: file('out'), autoKdf: true }, heard);
    assert.equal(readFileSync(file('out'), 'utf8'), wanted);
    assert.deepEqual(result.kdf, { kind: 'bytes-to-key', digest: 'md5' });
    assert.match(heard.notes.join(), /fits with -md md5/);
    assert.deepEqual(
      await run({ ...common, kdf: { kind: 'bytes-to-key', digest: 'md5' } }),
      Buffer.from(wanted),
    );
  }
});

test('a wrong passphrase is noticed before anything is written, however long the file', async () => {
  const plain = Buffer.alloc(3_000_000, 'text that is long ');
  writeFileSync(file('plain'), plain);
  for (const base64 of [false, true]) {
    const common = withPassphrase('right', { direction: 'encrypt', cipher: cipher('aes-256-cbc'), base64 });
    const pbkdf2 = { kind: 'pbkdf2', digest: 'sha256', iterations: 10000 } as const;
    await writeHeaded(file('long'), { ...common, kdf: pbkdf2, input: file('plain') });
    const wrong = { ...common, direction: 'decrypt', input: file('long'), output: file('never') } as const;
    // Long base64 is decoded a second time only where somebody asks for it; the cause is named all the same.
    await assert.rejects(
      runEnc(wrong, hooks()),
      /^HwcryptError: bad decrypt: the passphrase fits with -pbkdf2 -iter 10000 -md sha256/,
    );
    await assert.rejects(
      runEnc({ ...wrong, passphrase: async () => Buffer.from('left') }, hooks()),
      /no other usual key derivation fits either/,
    );
    assert.equal(existsSync(file('never')), false);
    assert.ok((await run({ ...wrong, autoKdf: true })).equals(plain));
  }
});

test('through a pipe only the beginning can be tried', async () => {
  writeFileSync(file('plain'), Buffer.alloc(200_000, 'x'));
  const common = withPassphrase('right', { direction: 'encrypt', cipher: cipher('aes-256-cbc') });
  await writeHeaded(file('long'), {
    ...common,
    kdf: { kind: 'bytes-to-key', digest: 'md5' },
    input: file('plain'),
  });
  const fifo = file('fifo2');
  execFileSync('mkfifo', [fifo]);
  const writer = spawn('sh', ['-c', `cat ${file('long')} > ${fifo}`], { stdio: 'ignore' });
  await assert.rejects(
    runEnc({ ...common, direction: 'decrypt', input: fifo, output: file('never') }, hooks()),
    /bad decrypt.*only the first 64 KiB of a pipe are kept: use -in FILE/,
  );
  writer.kill();
  assert.equal(existsSync(file('never')), false);
});

test('a header where none is expected is pointed out', async () => {
  const heard = hooks();
  writeFileSync(file('headed'), Buffer.concat([Buffer.from('Salted__'), randomBytes(24)]));
  const common = {
    direction: 'decrypt',
    cipher: cipher('aes-128-ctr'),
    input: file('headed'),
    output: file('out'),
  } as const;
  await runEnc({ ...withPassphrase('p', common), salt: false }, heard);
  assert.match(
    heard.notes.join(),
    /has a header \(Salted__\), which with -nosalt is decrypted as if it were data/,
  );
});

test('-P in decryption does not wait for input that it does not need', async () => {
  const heard = hooks();
  const fifo = file('fifo3');
  execFileSync('mkfifo', [fifo]);
  const holder = spawn('sh', ['-c', `exec sleep 20 3<>${fifo}`], { stdio: 'ignore' });
  await runEnc(
    {
      ...withPassphrase('password123', {
        direction: 'decrypt',
        cipher: cipher('aes-256-cbc'),
        input: fifo,
        print: 'only',
      }),
      kdf: { kind: 'bytes-to-key', digest: 'md5' },
      salt: false,
    },
    heard,
  );
  holder.kill();
  assert.equal(
    heard.printed.join(),
    'key=482C811DA5D5B4BC6D497FFA98491E38B07B0EB6035570ADE095CEA982C8B1EB\niv =DDE18819E08AF0DDD1E3E87BE5DC0C59\n',
  );
});

test('secrets are wiped: the passphrase that was handed over is zero afterwards', async () => {
  const passphrase = Buffer.from('secret');
  writeFileSync(file('plain'), 'x');
  const common = {
    direction: 'encrypt',
    cipher: cipher('aes-128-cbc'),
    input: file('plain'),
    output: file('out'),
  } as const;
  await runEnc({ ...withPassphrase('', common), passphrase: async () => passphrase }, hooks());
  assert.deepEqual(passphrase, Buffer.alloc(6));
  const again = Buffer.from('secret');
  await assert.rejects(
    runEnc({ ...withPassphrase('', common), direction: 'decrypt', passphrase: async () => again }, hooks()),
  );
  assert.deepEqual(again, Buffer.alloc(6));
});

test('damage anywhere: an error or other bytes, never a crash, and no file on an error', async () => {
  const plain = randomBytes(5000);
  writeFileSync(file('plain'), plain);
  const common = withPassphrase('p', { direction: 'encrypt', cipher: cipher('aes-128-cbc') });
  await runEnc({ ...common, input: file('plain'), output: file('good') }, hooks());
  const good = readFileSync(file('good'));
  let failures = 0;
  for (let i = 0; i < 60; i++) {
    const bad = Buffer.from(good);
    const at = i % 3 === 0 ? good.length - 1 - randomInt(16) : randomInt(good.length);
    bad[at] = (bad[at] as number) ^ (1 + randomInt(255));
    writeFileSync(file('bad'), i % 4 === 0 ? bad.subarray(0, randomInt(bad.length)) : bad);
    const output = file(`damaged-${i}`);
    try {
      await runEnc({ ...common, direction: 'decrypt', input: file('bad'), output }, hooks());
      assert.ok(existsSync(output));
    } catch (error) {
      failures++;
      assert.match((error as { code: string }).code, /^(BAD_DECRYPT|BAD_MAGIC|TRUNCATED_INPUT)$/);
      assert.equal(existsSync(output), false);
    }
  }
  assert.ok(failures > 20, `${failures} failures`);
});

test('progress begins with 0 when the passphrase is there', async () => {
  writeFileSync(file('plain'), randomBytes(3_000_000));
  const order: string[] = [];
  await runEnc(
    {
      ...withPassphrase('p', { direction: 'encrypt', cipher: cipher('aes-128-cbc') }),
      passphrase: async () => {
        order.push('passphrase');
        return Buffer.from('p');
      },
      input: file('plain'),
      output: file('out'),
    },
    { ...hooks(), progress: (bytes, total) => void order.push(`${bytes} of ${total}`) },
  );
  assert.deepEqual(order.slice(0, 2), ['passphrase', '0 of 3000000']);
  assert.equal(order.at(-1), '3000000 of 3000000');
});
