import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { fileURLToPath } from 'node:url';
import { type CipherAlgorithm, cipherLike } from '#src/algorithms.js';
import type { EncHooks, EncOptions } from '#src/enc/run.js';

/** The project's folder; this file runs from build/test/unit/enc. */
export const ROOT = fileURLToPath(new URL('../../../../', import.meta.url));
export const DATA = join(ROOT, 'test/data/enc');

/** A folder that is gone when the test file is done. */
export function scratch(): string {
  const folder = mkdtempSync(join(tmpdir(), 'hwcrypt-test-'));
  after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

export const noOpenssl =
  spawnSync('openssl', ['version'], { encoding: 'utf8' }).status === 0
    ? false
    : 'openssl is not installed: it is what this test compares with';

/** Standard output of openssl; throws with what it printed on standard error. */
export function openssl(args: readonly string[], input?: Uint8Array): Buffer {
  const result = spawnSync('openssl', args, { input: input ?? '', maxBuffer: 2 ** 28 });
  if (result.status !== 0) throw new Error(`openssl ${args.join(' ')}: ${result.stderr.toString()}`);
  return result.stdout;
}

export function cipher(name: string): CipherAlgorithm {
  const found = cipherLike(name);
  if (found?.kind !== 'cipher') throw new Error(`no cipher ${name}`);
  return found;
}

/** What `runEnc` said. */
export interface Heard extends EncHooks {
  readonly warnings: string[];
  readonly notes: string[];
  readonly printed: string[];
}

export function hooks(): Heard {
  const heard = { warnings: [] as string[], notes: [] as string[], printed: [] as string[] };
  return {
    ...heard,
    warn: (line) => void heard.warnings.push(line),
    note: (line) => void heard.notes.push(line),
    print: (lines) => void heard.printed.push(lines),
  };
}

/** Options with a passphrase and OpenSSL's defaults. */
export function withPassphrase(
  text: string,
  options: Partial<EncOptions> & Pick<EncOptions, 'direction' | 'cipher'>,
): EncOptions {
  return {
    passphrase: async () => Buffer.from(text),
    kdf: { kind: 'bytes-to-key', digest: 'sha256' },
    salt: true,
    padding: true,
    ...options,
  };
}
