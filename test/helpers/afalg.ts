/** What the tests of AF_ALG in the guests share. */
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

import {
  type AeadAlgorithm,
  type CipherAlgorithm,
  findAlgorithm,
  type HashAlgorithm,
  type MacAlgorithm,
} from '#src/algorithms.js';

const MODPROBE = '/proc/sys/kernel/modprobe';

/** Modules of everything that the tests bind. */
const MODULES =
  'af_alg algif_hash algif_skcipher algif_aead algif_rng crypto_user cbc ctr xts ecb cfb ofb gcm ccm cmac hmac authenc cryptd ' +
  'des_generic serpent_generic twofish_generic camellia_generic cast5_generic blowfish_generic seed ghash-generic chacha_generic ' +
  'poly1305_generic chacha20poly1305 sha512_generic sha3_generic rmd160 wp512 md4 drbg jitterentropy_rng ansi_cprng essiv';

/**
 * Loads all modules at once and then keeps the kernel from running modprobe, which it does twice for every name that it
 * does not know and which takes 0.1 s each time in user-mode Linux. Returns how to undo it.
 */
export function loadModulesOnce(): () => void {
  const before = readFileSync(MODPROBE, 'latin1').trim();
  if (before !== '') {
    try {
      execFileSync('modprobe', ['-a', '-q', ...MODULES.split(' ')], { stdio: 'ignore' });
    } catch {
      // One that this kernel does not have; the others are loaded.
    }
  }
  writeFileSync(MODPROBE, '\n');
  return () => writeFileSync(MODPROBE, `${before}\n`);
}

/** Open descriptors of this process that are sockets. */
export function openSockets(): number[] {
  const found: number[] = [];
  for (const name of readdirSync('/proc/self/fd')) {
    try {
      if (readlinkSync(`/proc/self/fd/${name}`).startsWith('socket:')) found.push(Number(name));
    } catch {
      // The descriptor of the folder itself, gone by now.
    }
  }
  return found.sort((a, b) => a - b);
}

let gc: (() => void) | undefined;

/** Collects garbage, and lets finalizers run. */
export async function collectGarbage(): Promise<void> {
  if (!gc) {
    setFlagsFromString('--expose-gc');
    gc = runInNewContext('gc') as () => void;
  }
  for (let i = 0; i < 5; i++) {
    gc();
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

export const hasVirtioCrypto = (): boolean => existsSync('/sys/module/virtio_crypto');

function known(name: string, kind: string): unknown {
  const algorithm = findAlgorithm(name);
  if (algorithm?.kind !== kind) throw new Error(`${name} is no ${kind}`);
  return algorithm;
}
export const cipherOf = (name: string): CipherAlgorithm => known(name, 'cipher') as CipherAlgorithm;
export const aeadOf = (name: string): AeadAlgorithm => known(name, 'aead') as AeadAlgorithm;
export const hashOf = (name: string): HashAlgorithm => known(name, 'hash') as HashAlgorithm;
export const macOf = (name: string): MacAlgorithm => known(name, 'mac') as MacAlgorithm;
