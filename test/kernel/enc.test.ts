/** `enc` through a real kernel: files, not buffers, and what `list` says of it. */
import assert from 'node:assert/strict';
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { cipherLike } from '#src/algorithms.js';
import { type EncOptions, runEnc } from '#src/enc/run.js';
import { driverInventory, kernelInventory } from '#src/report/inventory.js';
import { loadModulesOnce } from '../helpers/afalg.js';

let undo: (() => void) | undefined;
const folder = mkdtempSync(join(tmpdir(), 'hwcrypt-enc-'));
before(() => {
  undo = loadModulesOnce();
});
after(() => {
  undo?.();
  rmSync(folder, { recursive: true, force: true });
});

async function run(options: Partial<EncOptions> & Pick<EncOptions, 'direction' | 'cipher'>): Promise<string> {
  const result = await runEnc(
    {
      routing: { drivers: 'afalg' },
      kdf: { kind: 'bytes-to-key', digest: 'sha256' },
      salt: false,
      padding: true,
      ...options,
    },
    { warn: () => {}, note: (line) => assert.fail(line), print: () => {} },
  );
  return result.driver ?? '';
}

for (const name of [
  'aes-128-cbc',
  'aes-256-ctr',
  'aes-192-ecb',
  'aes-128-cfb',
  'aes-256-ofb',
  'des-ede3-cbc',
  'camellia-256-cbc',
]) {
  test(`${name}: files of awkward lengths, both ways`, async () => {
    const cipher = cipherLike(name);
    assert.ok(cipher?.kind === 'cipher');
    const key = randomBytes(cipher.keyBytes);
    const iv = randomBytes(cipher.ivBytes);
    const hex = {
      keyHex: key.toString('hex'),
      ...(iv.length > 0 ? { ivHex: iv.toString('hex') } : {}),
    };
    const [plain, encrypted, back] = ['plain', 'encrypted', 'back'].map((file) => join(folder, file)) as [
      string,
      string,
      string,
    ];
    // Around the first look at the input, the buffers, and the 64 KiB that the kernel takes at once.
    for (const length of [0, 1, 16, 65_535, 65_537, 262_144, 700_001]) {
      const data = randomBytes(length);
      writeFileSync(plain, data);
      const used = await run({ direction: 'encrypt', cipher, input: plain, output: encrypted, ...hex });
      assert.match(used, /^afalg:/);
      const node = createCipheriv(name, key, iv.length > 0 ? iv : null);
      const wanted = Buffer.concat([node.update(data), node.final()]);
      assert.ok(readFileSync(encrypted).equals(wanted), `${length} bytes`);
      await run({ direction: 'decrypt', cipher, input: encrypted, output: back, ...hex });
      assert.ok(readFileSync(back).equals(data), `${length} bytes back`);
    }
  });
}

test('a kernel driver is pinned by its name, and one that is not there is refused with what there is', async () => {
  const cipher = cipherLike('aes-128-cbc');
  assert.ok(cipher?.kind === 'cipher');
  const plain = join(folder, 'plain');
  const out = join(folder, 'out');
  const data = randomBytes(5000);
  writeFileSync(plain, data);
  const hex = { keyHex: '00'.repeat(16), ivHex: '00'.repeat(16) };
  const used = await run({
    ...{ direction: 'encrypt', cipher, input: plain, output: out },
    ...hex,
    routing: { drivers: 'afalg:cbc(aes-generic)' },
  });
  assert.equal(used, 'afalg:cbc(aes-generic)');
  const node = createDecipheriv('aes-128-cbc', Buffer.alloc(16), Buffer.alloc(16));
  assert.ok(Buffer.concat([node.update(readFileSync(out)), node.final()]).equals(data));
  await assert.rejects(
    run({
      direction: 'encrypt',
      cipher,
      input: plain,
      output: out,
      ...hex,
      routing: { drivers: 'afalg:cbc-aes-nowhere' },
    }),
    /cbc-aes-nowhere/,
  );
});

test('the inventory tells of the kernel', () => {
  const driver = driverInventory().find(({ name }) => name === 'afalg');
  assert.equal(driver?.available, true);
  assert.match(driver?.version ?? '', /Linux/);
  const kernel = kernelInventory();
  assert.equal(kernel.source, 'netlink');
  const cbc = kernel.implementations.find(({ algorithm, chosen }) => algorithm === 'cbc(aes)' && chosen);
  assert.equal(cbc?.kernelDriver, 'cbc(aes-generic)');
  assert.equal(cbc?.hardware, 'no');
  assert.deepEqual(cbc?.names, ['aes-128-cbc', 'aes-192-cbc', 'aes-256-cbc']);
});
