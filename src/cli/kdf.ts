/**
 * What a new keyslot shall cost, by cryptsetup's options.
 *
 * Room `cli`.
 */
import { HwcryptError } from '../errors.js';
import { costOf, type KdfCost, type KdfWish } from '../luks/keyslot/cost.js';
import { requireDiskHash } from '../luks/keyslot/hash.js';
import { MAX_MEMORY_KIB } from '../luks/keyslot/kdf.js';
import type { Given, OptionSpec } from './options.js';
import type { Rule } from './rules.js';

const DEFAULT_MS = 2000;
const KINDS = ['argon2id', 'argon2i', 'pbkdf2'] as const;

export const KDF_OPTIONS: readonly OptionSpec[] = [
  { names: ['--pbkdf'], value: 'NAME', help: 'argon2id (default), argon2i or pbkdf2', section: 'New key' },
  {
    names: ['--iter-time', '-i'],
    value: 'MS',
    help: `How long opening shall take on this machine (${DEFAULT_MS})`,
    section: 'New key',
  },
  {
    names: ['--pbkdf-memory'],
    value: 'KIB',
    help: 'Memory of argon2 (half of what is available, 1 GiB at most); a small router cannot open what takes more than it has',
    section: 'New key',
  },
  {
    names: ['--pbkdf-parallel'],
    value: 'N',
    help: 'Threads of argon2 (a core each, 4 at most)',
    section: 'New key',
  },
  {
    names: ['--pbkdf-force-iterations'],
    value: 'N',
    help: 'So many passes or rounds, without measuring',
    section: 'New key',
  },
  { names: ['--hash', '-h'], value: 'NAME', help: 'Hash of the keyslot (sha256)', section: 'New key' },
];

export const KDF_RULES: readonly Rule[] = [{ of: '--iter-time', beside: ['--pbkdf-force-iterations'] }];

export function hashOf(given: Given): string {
  const name = given.get('hash') ?? 'sha256';
  requireDiskHash(name);
  return name;
}

/** Measures, where nobody says how much. @param keyBytes of the keyslot's own key */
export async function kdfCostOf(given: Given, keyBytes: number): Promise<KdfCost> {
  const name = given.get('pbkdf') ?? 'argon2id';
  const type = KINDS.find((kind) => kind === name);
  if (!type) throw new HwcryptError('USAGE', `--pbkdf is one of ${KINDS.join(', ')}, not "${name}"`);
  const memoryKiB = given.number('pbkdf-memory', 32, MAX_MEMORY_KIB);
  const threads = given.number('pbkdf-parallel', 1, 4);
  if (type === 'pbkdf2' && (memoryKiB ?? threads) !== undefined) {
    throw new HwcryptError('USAGE', '--pbkdf-memory and --pbkdf-parallel have no effect with pbkdf2');
  }
  const wish: KdfWish = {
    type,
    hash: hashOf(given),
    milliseconds: given.number('iter-time', 1, 3_600_000) ?? DEFAULT_MS,
    iterations: given.number('pbkdf-force-iterations', type === 'pbkdf2' ? 1000 : 4, 2 ** 32 - 1),
    memoryKiB,
    threads,
  };
  return costOf(wish, keyBytes);
}
