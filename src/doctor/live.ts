/**
 * This machine's facts: the probe's own text, run here, and what only a program of this machine can find out beside it — the kernel's flags by netlink,
 * why AF_ALG and /dev/crypto open or do not, and figures of an engine measured on the spot, with its interrupts.
 */
import { spawn } from 'node:child_process';
import { findAlgorithm } from '../algorithms.js';
import type { ResultSet } from '../bench/model.js';
import type { Driver } from '../drivers/driver.js';
import { judgeHardware } from '../drivers/hardware.js';
import { allDrivers, getDriver } from '../drivers/registry.js';
import { HwcryptError, type Reason } from '../errors.js';
import { readEngineInterrupts } from '../linux/engine-interrupts.js';
import { listAlgorithms } from '../linux/netlink.js';
import { readKernelVersion, readModuleIndex } from '../linux/proc.js';
import { candidates, hardwareEntries, type KernelEntry } from './facts/algorithms.js';
import type { Growth } from './facts/devices.js';
import type { Quote } from './facts/document.js';
import type { Facts } from './facts/index.js';
import type { Message } from './facts/messages.js';
import type { CryptodevSession } from './facts/openssl.js';
import { gatherResults } from './facts/results.js';
import { probeScript } from './probe.js';

/** What a live fact is quoted as. */
export const LIVE = 'this machine';

const quote = (text: string): Quote => ({ source: LIVE, line: 0, text });

/** A bundle is some ten kilobytes; who sends more is no probe. */
const MOST_BYTES = 16 * 1024 * 1024;
/** The script keeps below a minute by itself; a machine that hangs is given up after this. */
const PATIENCE_MS = 180_000;

const ENDING = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** `sh` and its arguments: of this machine, or of another one through the system's ssh. */
export interface Shell {
  readonly file: string;
  readonly args: readonly string[];
  /** For messages: `this machine`, `root@router`. */
  readonly name: string;
}

export const LOCAL_SHELL: Shell = { file: 'sh', args: [], name: LIVE };

/**
 * @param target `user@host` or `host`, as ssh takes it
 * @throws HwcryptError USAGE for what ssh would take for an option
 */
export function sshShell(target: string): Shell {
  if (!/^[A-Za-z0-9_[][\w.@:%[\]~+-]{0,254}$/.test(target)) {
    throw new HwcryptError('USAGE', `--ssh takes user@host, not "${target}"`);
  }
  // -T: no terminal, which would change line ends; ssh asks for a password at the terminal itself.
  // Nobody waits minutes for a host that takes the connection and says nothing.
  return { file: 'ssh', args: ['-T', '-o', 'ConnectTimeout=20', target], name: target };
}

/**
 * Runs the probe in a shell and gives its text.
 *
 * @throws HwcryptError INPUT_FILE where the shell or ssh cannot be run, fails, or answers with something else
 */
export async function runProbe(shell: Shell, quick: boolean): Promise<string> {
  const words = `sh -s --${quick ? ' --quick' : ''}`;
  const args = shell.file === 'ssh' ? [...shell.args, words] : ['-s', '--', ...(quick ? ['--quick'] : [])];
  const child = spawn(shell.file, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  const chunks: Buffer[] = [];
  let bytes = 0;
  const fail = (what: string, cause?: unknown): HwcryptError =>
    new HwcryptError('INPUT_FILE', `${shell.name}: ${what}`, cause === undefined ? {} : { cause });
  // A signal to hwcrypt alone, not to the terminal's group: the child would go on without a reader.
  const endWith = (signal: NodeJS.Signals): void => {
    child.kill('SIGTERM');
    process.off(signal, endWith);
    process.kill(process.pid, signal);
  };
  for (const signal of ENDING) process.on(signal, endWith);
  const ended = await new Promise<{ status: number | null; error?: HwcryptError }>((resolve) => {
    let error: HwcryptError | undefined;
    const stop = (reason: HwcryptError): void => {
      error ??= reason;
      child.kill('SIGTERM');
    };
    const timer = setTimeout(
      () => stop(fail(`the probe did not end within ${PATIENCE_MS / 1000} s`)),
      PATIENCE_MS,
    );
    child.on('error', (cause) => {
      clearTimeout(timer);
      const missing = (cause as NodeJS.ErrnoException).code === 'ENOENT';
      resolve({
        status: null,
        error: fail(missing ? `${shell.file} is not installed` : cause.message, cause),
      });
    });
    // Whoever does not read the script to its end says why by its exit status.
    child.stdin.on('error', () => {});
    child.stdin.end(probeScript());
    child.stdout.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > MOST_BYTES) stop(fail(`it sent more than ${MOST_BYTES / 2 ** 20} MiB`));
      else chunks.push(chunk);
    });
    child.on('close', (status) => {
      clearTimeout(timer);
      resolve({ status, ...(error ? { error } : {}) });
    });
  });
  for (const signal of ENDING) process.off(signal, endWith);
  if (ended.error) throw ended.error;
  const text = Buffer.concat(chunks).toString('utf8');
  if (ended.status !== 0 || !text.includes('hwcrypt-probe ')) {
    const begun = text.includes('hwcrypt-probe ');
    // ssh's own status for whatever is no command's.
    const lost = ended.status === 255 && shell.file === 'ssh';
    if (lost && !begun) throw fail('ssh could not connect, or was cut off before the probe wrote anything');
    const why = lost
      ? 'ssh had connected, and then lost the connection'
      : `the probe ended with status ${ended.status ?? 'none'}`;
    throw fail(`${why}, ${begun ? 'in the middle of the probe’s text' : 'before it wrote anything'}`);
  }
  return text;
}

/** Facts of a text that the probe wrote here, and what this process sees beside it. */
export function seenHere(facts: Facts): Facts {
  const { entries, complete } = facts.kernel;
  const sessions: CryptodevSession[] = [];
  const messages: Message[] = [];
  const kernel = { entries: withFlags(entries), complete };
  let masked: Facts['ways']['masked'];
  const [afalg, cryptodev] = [getDriver('afalg'), getDriver('cryptodev')] as const;
  const reason = absent(afalg);
  if (reason) messages.push(...messageOf(reason));
  else {
    messages.push(...withoutCiphers(afalg));
    masked = maskedBy(afalg, kernel.entries);
  }
  for (const name of ['aes-128-cbc', 'aes-256-cbc', 'aes-128-ctr'] as const) {
    const algorithm = findAlgorithm(name)!;
    const implementation = absent(cryptodev) ? undefined : cryptodev.implementation(algorithm);
    if (!implementation || sessions.some(({ driver }) => driver === implementation.kernelDriver)) continue;
    const { kernelDriver, hardware, evidence } = implementation;
    const own = quote(`/dev/crypto: ${name} by ${kernelDriver}; ${evidence.slice(0, 2).join('; ')}`);
    sessions.push({
      algorithm: algorithm.names.kernel ?? name,
      driver: kernelDriver,
      verdict: { ...judgeHardware({ driver: kernelDriver }), hardware, evidence },
      flag: evidence.some((text) => text.includes('for the kernel only')),
      quote: own,
    });
  }
  return {
    ...facts,
    kernel,
    messages: [...facts.messages, ...messages],
    ways: { ...facts.ways, ...(masked ? { masked } : {}) },
    openssl: { ...facts.openssl, sessions: [...facts.openssl.sessions, ...sessions] },
  };
}

function absent(driver: Driver): Reason | undefined {
  const probe = driver.probe();
  return probe.available ? undefined : probe.reason;
}

/** The kernel's list with its flags, which /proc/crypto does not show. */
function withFlags(known: readonly KernelEntry[]): KernelEntry[] {
  const { algorithms, source } = listAlgorithms();
  if (source !== 'netlink') return [...known];
  const files = readModuleIndex(readKernelVersion()?.release ?? '').files;
  const quotes = new Map(known.map((entry) => [`${entry.name} ${entry.driver}`, entry.quote]));
  const listed = algorithms.map((entry): KernelEntry => {
    const verdict = judgeHardware({ ...entry, modulePath: files.get(entry.module) });
    const own =
      quotes.get(`${entry.name} ${entry.driver}`) ??
      quote(`netlink: ${entry.name} ${entry.driver}, priority ${entry.priority}`);
    return { ...entry, verdict, quote: own, partial: false };
  });
  const seen = new Set(listed.map(({ name, driver }) => `${name} ${driver}`));
  // Netlink cuts long names; whatever it lacks is kept as /proc/crypto has it.
  return [...listed, ...known.filter(({ name, driver }) => !seen.has(`${name} ${driver}`))];
}

function messageOf({ code, errno, message }: Reason): Message[] {
  const own = quote(`socket(AF_ALG): ${errno ?? ''} ${message}`.replace(/ {2,}/g, ' '));
  if (code === 'SECCOMP' || code === 'LSM_DENIED')
    return [{ code: 'SOCKET_DENIED', asked: false, quote: own }];
  return /^AF_ALG_|^MODULE_/.test(code) ? [{ code: 'NO_FAMILY', asked: false, quote: own }] : [];
}

/** Seen by trying: AF_ALG opens, and its part for ciphers is not there. */
function withoutCiphers(afalg: Driver): Message[] {
  const support = afalg.supports(findAlgorithm('aes-128-cbc')!);
  if (support.supported || support.reason.code !== 'ALGIF_MISSING') return [];
  const { errno, message } = support.reason;
  const own = quote(`bind cbc(aes): ${errno ?? ''} ${message}`.replace(/ {2,}/g, ' '));
  return [{ code: 'NO_KERNEL_INTERFACE', asked: false, quote: own }];
}

/** Seen by trying: is an engine's driver refused by name, where the kernel would give it to itself? */
function maskedBy(afalg: Driver, entries: readonly KernelEntry[]): Facts['ways']['masked'] {
  const algorithm = findAlgorithm('aes-128-cbc')!;
  const engine = candidates({ entries, complete: true }, 'cbc(aes)').find(
    ({ verdict }) => verdict.hardware === 'yes',
  );
  if (!engine) return undefined;
  const support = afalg.supports(algorithm, { kernelDriver: engine.driver });
  if (support.supported || support.reason.code !== 'OFF_CPU_MASKED') return undefined;
  return { value: true, quote: quote(`bind ${engine.driver}: ${support.reason.message}`) };
}

/** Bytes a request: a disk's sectors, a packet, what `openssl enc` writes, and a large one. */
const SIZES = [16, 512, 1504, 4096, 8192, 65536];
const SECONDS = 0.1;

/** Is there anything here that could be faster than the CPU, so that measuring tells something? */
export function worthMeasuring({ kernel, openssl }: Facts): boolean {
  return hardwareEntries(kernel).some(({ name }) => name === 'cbc(aes)') || openssl.sessions.length > 0;
}

/**
 * AES-128-CBC by OpenSSL's code, by what the kernel gives to the name, by the engine itself and through /dev/crypto, for some seconds; and whether
 * the engine interrupted meanwhile.
 */
export async function measureHere(facts: Facts, signal?: AbortSignal): Promise<Facts> {
  const { contestant, lacks, measure } = await import('../bench/engine/index.js');
  const algorithm = findAlgorithm('aes-128-cbc')!;
  const engine = hardwareEntries(facts.kernel).find(({ name }) => name === 'cbc(aes)');
  const labels = [
    ...allDrivers()
      .filter(({ name }) => name === 'libcrypto' || name === 'node')
      .slice(0, 1)
      .map(({ name }) => name),
    'afalg',
    ...(engine ? [`afalg:${engine.driver}`] : []),
    'cryptodev',
  ];
  const contestants = labels
    .map(contestant)
    .filter((one) => one.driver.probe().available && lacks(one, algorithm) === undefined);
  const software = contestants.filter(({ driver }) => driver.name !== 'afalg' && driver.name !== 'cryptodev');
  const offloaded = contestants.filter((one) => !software.includes(one));
  if (offloaded.length === 0) return facts;
  const plan = {
    subjects: [{ algorithm, operation: 'encrypt' as const }],
    sizes: SIZES,
    seconds: SECONDS,
    ...(signal ? { signal } : {}),
  };
  const before = readEngineInterrupts();
  const set = await measure({ ...plan, contestants });
  const after = readEngineInterrupts();
  const growth: Growth[] =
    before === undefined || after === undefined
      ? []
      : [
          {
            device: 'engine',
            before,
            after,
            quotes: [
              quote(`/proc/interrupts: the engine’s lines rose by ${after - before} while it was measured`),
            ],
          },
        ];
  return withResults(facts, { ...set, source: LIVE }, growth);
}

function withResults(facts: Facts, set: ResultSet, growth: readonly Growth[]): Facts {
  return {
    ...facts,
    results: gatherResults([...facts.results.sets, set]),
    devices: { ...facts.devices, growth: [...facts.devices.growth, ...growth] },
  };
}
