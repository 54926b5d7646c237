/** Is the uml guest what the other tests of this layer take it for? */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createConnection, createServer } from 'node:net';
import { release } from 'node:os';
import { describe, test } from 'node:test';
import { projectFolder } from '../../rig/index.js';

const results = process.env['HWCRYPT_RESULTS'] ?? '';

describe('the uml guest', () => {
  test('runs a kernel of its own, with the modules of that kernel', () => {
    assert.equal(process.env['HWCRYPT_RIG'], 'uml');
    assert.match(readFileSync('/proc/cpuinfo', 'utf8'), /User Mode Linux/);
    assert.ok(existsSync(`/lib/modules/${release()}/modules.dep`));
  });

  test('has AF_ALG as a module, which takes its place in the protocols', () => {
    execFileSync('modprobe', ['af_alg']);
    assert.match(readFileSync('/proc/modules', 'utf8'), /^af_alg /m);
    assert.match(readFileSync('/proc/net/protocols', 'utf8'), /^ALG /m);
  });

  test('lists its crypto', () => {
    assert.match(readFileSync('/proc/crypto', 'utf8'), /^driver +: sha256-generic$/m);
  });

  test('sees none of the host’s modprobe.d', () => {
    assert.deepEqual(readdirSync('/etc/modprobe.d'), []);
    assert.ok(!existsSync('/run/modprobe.d'));
  });

  test('shares the project read-only and the results folder read-write', () => {
    const file = `${projectFolder}/written-by-a-guest`;
    assert.throws(() => writeFileSync(file, ''), { code: 'EROFS' });
    assert.throws(() => writeFileSync('/etc/written-by-a-guest', ''), { code: 'EROFS' });
    const ours = `${results}/written-by-a-guest`;
    writeFileSync(ours, 'yes');
    assert.equal(readFileSync(ours, 'utf8'), 'yes');
    rmSync(ours);
  });

  test('has a /tmp of its own, in memory', () => {
    assert.match(readFileSync('/proc/mounts', 'utf8'), /^tmpfs \/tmp tmpfs /m);
    writeFileSync('/tmp/x', '');
  });

  test('has devices for the fake /dev/crypto, device-mapper and loop', () => {
    for (const [module, device] of [
      ['cuse', '/dev/cuse'],
      ['dm-mod', '/dev/mapper/control'],
      ['loop', '/dev/loop-control'],
    ] as const) {
      execFileSync('modprobe', [module]);
      assert.ok(statSync(device).isCharacterDevice(), device);
    }
  });

  test('has a loopback interface that is up', async () => {
    const server = createServer((socket) => socket.end('hello')).listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const { port } = server.address() as { port: number };
    let text = '';
    for await (const piece of createConnection(port, '127.0.0.1')) text += piece;
    server.close();
    assert.equal(text, 'hello');
  });
});
