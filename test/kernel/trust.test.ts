/** A kernel's own C code is trusted, by the check before first use and by the fuzz. A request costs 50 µs here: few of each. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { findAlgorithm } from '#src/algorithms.js';
import { allDrivers } from '#src/drivers/registry.js';
import { selftest } from '#src/routing/selftest.js';
import { checkImplementation } from '#src/routing/trust/index.js';
import { loadModulesOnce, openSockets } from '../helpers/afalg.js';
import { SEED } from '../helpers/random.js';

/** One of each mode and kind. */
const NAMES =
  'aes-128-cbc aes-256-ctr aes-256-xts aes-128-gcm aes-256-ccm des-ede3 serpent-256-cbc sha256 hmac-sha512 cmac-aes-128';
const chosen = NAMES.split(' ').map((name) => {
  const algorithm = findAlgorithm(name);
  if (!algorithm) throw new Error(name);
  return algorithm;
});
const MAIN = fileURLToPath(import.meta.resolve('#src/cli/main.js'));

const driver = allDrivers().find(({ name }) => name === 'afalg')!;
const probe = driver.probe();

describe('afalg', { skip: !probe.available && 'not in a guest' }, () => {
  let undo = (): void => {};
  before(() => {
    undo = loadModulesOnce();
    driver.reprobe();
  });
  after(() => undo());

  test('is trusted, and left as it was', () => {
    for (const algorithm of chosen) {
      assert.equal(driver.supports(algorithm).supported, true, algorithm.name);
      const before = openSockets().length;
      const verdict = checkImplementation(algorithm, { driver });
      assert.equal(verdict.trusted, true, `${algorithm.name}: ${JSON.stringify(verdict)}`);
      assert.equal(openSockets().length, before, `${algorithm.name}: sockets are open`);
    }
  });

  test('by the name of the implementation too, and not one that is not there', () => {
    const pinned = checkImplementation(chosen[0]!, { driver, kernelDriver: 'cbc(aes-generic)' });
    assert.equal(pinned.trusted, true, JSON.stringify(pinned));
    const absent = checkImplementation(chosen[0]!, { driver, kernelDriver: 'cbc-aes-nonesuch' });
    assert.equal(absent.trusted, 'unknown');
  });

  test('is right in requests drawn at random, asynchronous ones and sessions in turns among them', async () => {
    const found = await selftest({
      algorithms: chosen,
      drivers: [{ driver }],
      seconds: 600,
      trials: 3,
      seed: SEED,
    });
    assert.deepEqual(found.failures, []);
    assert.equal(found.tried.length, chosen.length);
    assert.deepEqual(found.untried, []);
  });

  test('hwcrypt selftest says so', () => {
    const args = ['selftest', '--driver', 'afalg', '--seconds', '5', '--seed', '1'];
    const { status, stdout } = spawnSync(process.execPath, [MAIN, ...args], { encoding: 'utf8' });
    // How many algorithms five seconds are enough for depends on the machine.
    assert.match(stdout, /^all equal: \d+ requests/m);
    assert.match(stdout, /^afalg +[1-9]\d* +[1-9]\d* .* 0 +\w+/m);
    assert.equal(status, 0);
  });
});
