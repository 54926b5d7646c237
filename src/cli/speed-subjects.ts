/**
 * What `hwcrypt speed` is to measure: OpenSSL's names and options for it, in hwcrypt's terms.
 *
 * Room `cli`.
 */
import { type Algorithm, findAlgorithm, hmacOf, suggest } from '../algorithms.js';
import type { Operation } from '../bench/model.js';
import { HwcryptError } from '../errors.js';
import { opensslAlgorithm } from '../interop/names.js';
import { nearest } from './options.js';

export interface SpeedSubject {
  readonly algorithm: Algorithm;
  readonly operation: Operation;
  /** What openssl speed calls it in its table. */
  readonly printed: string;
}

/** What openssl speed knows and hwcrypt does not measure. */
const PUBLIC_KEY =
  /^(?:rsa|dsa|ecdsa|ecdh|eddsa|ed25519|ed448|ffdh|dh|x25519|x448|sm2|ml-?kem|ml-?dsa|kem|sig)/i;
const GROUPS: Readonly<Record<string, readonly string[]>> = {
  aes: ['aes-128-cbc', 'aes-192-cbc', 'aes-256-cbc'],
  camellia: ['camellia-128-cbc', 'camellia-192-cbc', 'camellia-256-cbc'],
  des: ['des-cbc', 'des-ede3'],
  hmac: ['hmac(md5)'],
};
/** Rows of 3.0's table that are not called as hwcrypt calls the algorithm. */
const ROWS: Readonly<Record<string, string>> = {
  'des-ede3-cbc': 'des-ede3',
  'bf-cbc': 'blowfish',
  'cast5-cbc': 'cast-cbc',
  ripemd160: 'rmd160',
};

export interface SpeedNames {
  readonly evp: readonly string[];
  readonly hmac: readonly string[];
  readonly cmac: readonly string[];
  /** Without an option. */
  readonly bare: readonly string[];
  readonly decrypt: boolean;
  readonly aead: boolean;
}

/**
 * Each once, in the order in which they were named.
 * @throws HwcryptError USAGE
 */
export function subjectsOf({ evp, hmac, cmac, bare, decrypt, aead }: SpeedNames): SpeedSubject[] {
  const subject = (algorithm: Algorithm, printed: string): SpeedSubject => ({
    algorithm,
    operation: operationOf(algorithm, decrypt),
    printed,
  });
  const all = [
    ...evp.map((name) => {
      const algorithm = known(name);
      if (aead && algorithm.kind !== 'aead') throw notAead(algorithm);
      return subject(algorithm, evpRow(algorithm, name));
    }),
    ...hmac.map((name) => {
      const algorithm = hmacOf(name);
      if (!algorithm) throw unknown(name, 'hash for -hmac');
      return subject(algorithm, `hmac(${name})`);
    }),
    ...cmac.map((name) => {
      const over = findAlgorithm(name)?.name ?? name;
      const algorithm = findAlgorithm(`cmac-${over}`) ?? findAlgorithm(`cmac-${name}`);
      if (!algorithm) throw unknown(name, 'cipher for -cmac');
      return subject(algorithm, `cmac(${name})`);
    }),
    ...bare
      .flatMap((name) => (Object.hasOwn(GROUPS, name) ? (GROUPS[name] as readonly string[]) : [name]))
      .map((name) => {
        const algorithm = known(name);
        if (aead && algorithm.kind !== 'aead') throw notAead(algorithm);
        return subject(algorithm, bareRow(algorithm));
      }),
  ];
  const isEncryption = all.some(({ algorithm: { kind } }) => kind === 'cipher' || kind === 'aead');
  if (decrypt && all.length > 0 && !isEncryption) {
    throw new HwcryptError('USAGE', `-decrypt has no effect: ${all[0]!.printed} has no direction`);
  }
  if (aead && !all.some(({ algorithm: { kind } }) => kind === 'aead')) {
    throw new HwcryptError('USAGE', '-aead needs an AEAD cipher: -evp aes-128-gcm');
  }
  return all.filter(
    ({ algorithm }, i) => all.findIndex((other) => other.algorithm.name === algorithm.name) === i,
  );
}

function operationOf({ kind }: Algorithm, decrypt: boolean): Operation {
  if (kind === 'hash') return 'digest';
  if (kind === 'mac') return 'mac';
  return decrypt ? 'decrypt' : 'encrypt';
}

/** With -evp: a cipher as OpenSSL's provider calls it, a digest as it was typed. */
function evpRow({ kind, name, names }: Algorithm, typed: string): string {
  if (kind === 'cipher' || kind === 'aead') return names.openssl ?? name.toUpperCase();
  return kind === 'mac' ? macRow(name) : typed.toLowerCase();
}

function bareRow({ kind, name }: Algorithm): string {
  return kind === 'mac' ? macRow(name) : (ROWS[name] ?? name);
}

const macRow = (name: string): string => name.replace(/^([hc]mac)-(.*)$/, '$1($2)');

function known(name: string): Algorithm {
  const found = opensslAlgorithm(name);
  if (found) return found;
  if (PUBLIC_KEY.test(name)) {
    throw new HwcryptError(
      'USAGE',
      `"${name}" is public-key cryptography: hwcrypt measures ciphers, AEADs, hashes and MACs; openssl speed ${name} does that`,
    );
  }
  if (/^(?:rand|ghash)$/i.test(name)) {
    throw new HwcryptError(
      'USAGE',
      `"${name}" is not measured here: hwcrypt measures ciphers, AEADs, hashes and MACs`,
    );
  }
  throw unknown(name, 'algorithm');
}

function notAead({ name }: Algorithm): HwcryptError {
  return new HwcryptError('USAGE', `-aead measures AEAD ciphers such as aes-128-gcm, and ${name} is none`);
}

function unknown(name: string, what: string): HwcryptError {
  const near = [...new Set([...nearest(name, Object.keys(GROUPS)), ...suggest(name)])].slice(0, 3);
  const hint = near.length > 0 ? `did you mean ${near.join(' or ')}?` : 'hwcrypt list --all shows all';
  return new HwcryptError('USAGE', `there is no ${what} "${name}" (${hint})`);
}
