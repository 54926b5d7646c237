/**
 * The OpenSSLs of this machine: which engines and providers each can use, and by measurement whether it does. The programs are asked, as a person would; their
 * answers are read by the doctor's own readers.
 */
import { execFile } from 'node:child_process';
import { accessSync, constants, realpathSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { readEngineInterrupts } from '../../linux/engine-interrupts.js';
import { type CurvePair, derive } from '../case.js';
import { gatherFacts } from '../facts/index.js';
import { versionAtLeast } from '../facts/openssl.js';

export type EngineState =
  /** It loads and says that it is available. */
  | 'available'
  /** Its library is there and refuses to start: what it needs of the kernel is not to be had. */
  | 'refused'
  /** Not installed, not built. */
  | 'absent'
  /** OpenSSL 4 and later: there are no engines. */
  | 'removed';

/** What measuring an engine beside OpenSSL's own code came to. */
export interface EngineProof {
  /**
   * `yes`: its figures are not software's, or hardware interrupted meanwhile. `no`: it was asked for, and OpenSSL's own code ran. `unclear`: there is no difference.
   * `wrong`: what it encrypts or decrypts is not what OpenSSL's own code does; it was not measured then. `doubtful`: faster than any engine can be.
   */
  readonly used: 'yes' | 'no' | 'unclear' | 'wrong' | 'doubtful';
  /** How often the engine interrupted, where /proc/interrupts names it. */
  readonly interrupts?: number;
  readonly pair?: CurvePair;
}

export interface SurveyedEngine {
  readonly id: string;
  readonly state: EngineState;
  /** Algorithms that it registers. */
  readonly algorithms: readonly string[];
  readonly proof?: EngineProof;
}

export interface SurveyedOpenssl {
  /** The program; absent for the OpenSSL inside of Node. */
  readonly path?: string;
  readonly version: string;
  readonly engines: readonly SurveyedEngine[];
  readonly providers: readonly string[];
}

/** Engines that lead to hardware. */
const ENGINES = ['devcrypto', 'afalg', 'qatengine'] as const;
const NAMES = ['openssl', 'openssl3', 'openssl-3', 'openssl11', 'openssl-1.1', 'openssl10'];
const PATIENCE_MS = 60_000;

/** Every openssl program on the path, each once. */
export function opensslPrograms(path = process.env['PATH'] ?? ''): string[] {
  const found = new Map<string, string>();
  for (const folder of [...path.split(delimiter), '/usr/local/bin', '/usr/local/ssl/bin']) {
    if (!folder.startsWith('/')) continue;
    for (const name of NAMES) {
      const file = join(folder, name);
      try {
        accessSync(file, constants.X_OK);
        const real = realpathSync(file);
        if (!found.has(real)) found.set(real, file);
      } catch {
        // Not there, or nobody may run it.
      }
    }
  }
  return [...found.values()];
}

/** Standard output and error of a program, whatever its status; of one that was given something to read, standard output alone. */
type Ask = (args: readonly string[], plain?: boolean, input?: string) => Promise<string>;

function asker(path: string): Ask {
  return (args, plain = false, input = undefined) =>
    new Promise((resolve) => {
      // Without configuration nothing is loaded that was not asked for.
      const env = { ...process.env, LC_ALL: 'C', ...(plain ? { OPENSSL_CONF: '/dev/null' } : {}) };
      const child = execFile(
        path,
        [...args],
        { env, timeout: PATIENCE_MS, maxBuffer: 4 * 2 ** 20 },
        (_, stdout, stderr) => resolve(input === undefined ? `${stderr}\n${stdout}` : stdout),
      );
      // A program that does not read to the end shows it by what it answers.
      child.stdin?.on('error', () => {});
      child.stdin?.end(input);
    });
}

/** @param measured some six seconds for each engine that is available, and for software beside it */
export async function surveyOpenssl(path: string, measured: boolean): Promise<SurveyedOpenssl | undefined> {
  const ask = asker(path);
  const about = await ask(['version', '-a']);
  const read = (sections: readonly (readonly [name: string, text: string])[]) =>
    gatherFacts([{ name: path, text: sections.map(([name, text]) => `[[${name}]]\n${text}\n`).join('') }]);
  const version = read([['openssl', about]]).openssl.versions.at(-1)?.value;
  if (version === undefined) return undefined;
  const providers = [...(await ask(['list', '-providers'])).matchAll(/^ {2}([a-z][\w-]*)$/gm)].map(
    ([, name]) => name!,
  );
  if (versionAtLeast(version, 4)) {
    return {
      path,
      version,
      providers,
      engines: ENGINES.map((id) => ({ id, state: 'removed', algorithms: [] })),
    };
  }
  const engines: SurveyedEngine[] = [];
  let software: string | undefined;
  for (const id of ENGINES) {
    const { openssl } = read([['openssl-engines', await ask(['engine', '-t', '-c', id], true)]]);
    const listed = openssl.engines.find((engine) => engine.id === id && engine.available !== false);
    if (!listed) {
      engines.push({
        id,
        state: openssl.loadFailures.get(id)?.why === 'refused' ? 'refused' : 'absent',
        algorithms: [],
      });
      continue;
    }
    const found = { id, state: 'available' as const, algorithms: listed.algorithms ?? [] };
    if (!measured) {
      engines.push(found);
      continue;
    }
    if (!(await worksRight(ask, id))) {
      engines.push({ ...found, proof: { used: 'wrong' } });
      continue;
    }
    software ??= await ask(speedOf(version), true);
    engines.push({ ...found, proof: await prove(ask, id, version, software) });
  }
  return { path, version, providers, engines };
}

/** Several requests of the program, and a last one that is no whole block. */
const KNOWN_TEXT = 'What an engine makes of this is compared with OpenSSL’s own code.\n'.repeat(301);
const KNOWN_KEY = ['-K', '000102030405060708090a0b0c0d0e0f', '-iv', 'f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff'];

/** A known text, encrypted by OpenSSL's own code and by the engine, and decrypted by the engine. */
async function worksRight(ask: Ask, id: string): Promise<boolean> {
  const enc = (args: readonly string[], input: string) =>
    ask(['enc', '-aes-128-cbc', '-a', ...KNOWN_KEY, ...args], true, input);
  const own = await enc([], KNOWN_TEXT);
  if ((await enc(['-engine', id], KNOWN_TEXT)) !== own) return false;
  return (await enc(['-d', '-engine', id], own)) === KNOWN_TEXT;
}

/** No engine is so many times as fast as a CPU at the same requests: such figures are of work that was not done. */
const IMPLAUSIBLE_RATIO = 100;

/** -seconds is there since 1.1.1. */
function speedOf(version: string, engine?: string): string[] {
  const short = versionAtLeast(version, 1, 1) && !/^1\.1\.0/.test(version) ? ['-seconds', '1'] : [];
  return [
    'speed',
    '-elapsed',
    ...short,
    '-evp',
    'aes-128-cbc',
    ...(engine === undefined ? [] : ['-engine', engine]),
  ];
}

async function prove(ask: Ask, id: string, version: string, software: string): Promise<EngineProof> {
  const before = readEngineInterrupts();
  const offloaded = await ask(speedOf(version, id), true);
  const after = readEngineInterrupts();
  const rose = before === undefined || after === undefined ? undefined : after - before;
  return weigh(software, offloaded, id, rose);
}

/** From the two outputs of openssl speed. @param interrupts by how many the engine's rose meanwhile */
export function weigh(software: string, offloaded: string, id: string, interrupts?: number): EngineProof {
  const command = 'openssl speed -elapsed -evp aes-128-cbc';
  const facts = gatherFacts([
    { name: 'software', text: `[[speed-software]] ${command}\n${software}\n` },
    { name: id, text: `[[speed-engine]] ${command} -engine ${id}\n${offloaded}\n` },
  ]);
  const run = facts.results.sets.flatMap(({ runs }) => runs).find(({ engine }) => engine !== undefined);
  const [pair] = derive(facts).pairs;
  const rose = interrupts === undefined ? {} : { interrupts };
  if (run?.engine?.loaded !== 'yes' || !pair) return { used: 'no', ...rose };
  if (pair.ratios.some(({ ratio }) => ratio >= IMPLAUSIBLE_RATIO)) return { used: 'doubtful', ...rose, pair };
  const differs = pair.ratios.some(({ outcome }) => outcome !== 'even');
  return { used: differs || (interrupts ?? 0) > 0 ? 'yes' : 'unclear', ...rose, pair };
}

/** The OpenSSL that Node brings: it has no engines for hardware, and its configuration is not the system's. */
export function nodeOpenssl(): SurveyedOpenssl {
  return { version: process.versions.openssl ?? 'unknown', engines: [], providers: ['default'] };
}
