/** Texts for the doctor: of the forms that the programs print, with devices and figures of our own. */
import { type Diagnosis, diagnose } from '#src/doctor/index.js';

export interface Entry {
  readonly name: string;
  readonly driver: string;
  readonly module?: string;
  readonly priority?: number;
  readonly type?: string;
  readonly async?: boolean;
  readonly internal?: boolean;
  readonly selftest?: string;
}

/** /proc/crypto. */
export function procCrypto(...entries: readonly Entry[]): string {
  return entries
    .map(
      ({
        name,
        driver,
        module = 'kernel',
        priority = 100,
        type = 'skcipher',
        async = false,
        internal = false,
        selftest = 'passed',
      }) =>
        [
          `name         : ${name}`,
          `driver       : ${driver}`,
          `module       : ${module}`,
          `priority     : ${priority}`,
          'refcnt       : 1',
          `selftest     : ${selftest}`,
          `internal     : ${internal ? 'yes' : 'no'}`,
          `type         : ${type}`,
          `async        : ${async ? 'yes' : 'no'}`,
          'blocksize    : 16',
          '',
        ].join('\n'),
    )
    .join('\n');
}

/** The kernel's own software, enough of it that a listing counts as whole. */
export const GENERIC: readonly Entry[] = [
  ...['ecb', 'cbc', 'ctr', 'xts'].map((mode) => ({ name: `${mode}(aes)`, driver: `${mode}(aes-generic)` })),
  { name: 'gcm(aes)', driver: 'gcm_base(ctr(aes-generic),ghash-generic)', type: 'aead' },
  { name: 'aes', driver: 'aes-generic', type: 'cipher' },
  ...['md5', 'sha1', 'sha224', 'sha256', 'sha384', 'sha512'].map((name) => ({
    name,
    driver: `${name}-generic`,
    type: 'shash',
  })),
  { name: 'crc32c', driver: 'crc32c-generic', type: 'shash' },
];

export const EIP93: readonly Entry[] = ['ecb', 'cbc', 'ctr'].map((mode) => ({
  name: `${mode}(aes)`,
  driver: `${mode}(aes-eip93)`,
  module: 'crypto_hw_eip93',
  priority: 1500,
  async: true,
}));

export const VIRTIO: Entry = {
  name: 'cbc(aes)',
  driver: 'virtio_crypto_aes_cbc',
  module: 'virtio_crypto',
  priority: 150,
  async: true,
};

/** A bundle of the probe with these sections. */
export function bundle(sections: Readonly<Record<string, string>>, end = true): string {
  const parts = Object.entries(sections).map(
    ([name, text]) =>
      `[[${name.replace(/ .*/, '')}]] ${name.includes(' ') ? name.replace(/^\S+ /, '') : name}\n${text.trimEnd()}\n`,
  );
  return `hwcrypt-probe 1\n# made up\n\n${parts.join('\n')}${end ? '\n[[end]]\n' : ''}`;
}

/** openssl speed's lines for these request counts by size, each in `seconds` of a nominal 3. */
export function speed(name: string, counts: Readonly<Record<number, number>>, seconds = 3): string {
  return Object.entries(counts)
    .map(
      ([size, count]) =>
        `Doing ${name} for 3s on ${size} size blocks: ${count} ${name}'s in ${seconds.toFixed(2)}s\n`,
    )
    .join('');
}

export const ELAPSED = 'You have chosen to measure elapsed time instead of user CPU time.\n';

/** Requests of each size in three seconds on a curve t = fixed + size × perByte, in nanoseconds. */
export function counts(
  fixedNs: number,
  nsPerByte: number,
  sizes: readonly number[] = [16, 64, 256, 1024, 8192, 16384],
): Record<number, number> {
  return Object.fromEntries(sizes.map((size) => [size, Math.round(3e9 / (fixedNs + nsPerByte * size))]));
}

export function diagnosed(...texts: readonly string[]): Diagnosis {
  return diagnose(texts.map((text, index) => ({ name: `text-${index + 1}`, text })));
}

export function ids(...texts: readonly string[]): string[] {
  return diagnosed(...texts).findings.map(({ id }) => id);
}

/** The finding of that name, which must be there. */
export function finding(id: string, ...texts: readonly string[]): Diagnosis['findings'][number] {
  const { findings } = diagnosed(...texts);
  const found = findings.find((one) => one.id === id);
  if (!found) throw new Error(`no ${id} among ${findings.map((one) => one.id).join(', ') || 'no findings'}`);
  return found;
}
