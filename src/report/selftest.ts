/**
 * What a selftest found, as text: a table of what was tried, why the rest was not, and for each failure a report that can be sent to
 * whoever maintains the driver.
 *
 * Room `report`.
 */
import { findAlgorithm } from '../algorithms.js';
import type { KernelAlgorithm } from '../linux/proc.js';
import type { Selftest, SelftestFailure, Tried, Untried } from '../routing/selftest.js';
import { bytesOf, type FailureMessage } from '../routing/trust/failure.js';
import { type Column, table } from './table.js';
import { megabytes } from './units.js';

/** Longer hex is of no use in a mail: it is in the JSON. */
const SHOWN_HEX = 1024;
/** A key or IV of zeros is written out. */
const SHORT_BYTES = 64;

const COLUMNS: readonly Column[] = [
  { title: 'driver' },
  { title: 'algorithms', align: 'right' },
  { title: 'requests', align: 'right' },
  { title: 'bytes', align: 'right' },
  { title: 'different', align: 'right' },
  { title: 'compared with' },
];

/** One line a driver. */
export function triedText(tried: readonly Tried[], width?: number): string {
  const rows = groups(tried, ({ driver }) => driver).map(([driver, own]) => {
    const sum = (of: (one: Tried) => number): number => own.reduce((all, one) => all + of(one), 0);
    const references = groups(own, ({ reference }) => reference ?? '')
      .sort(([, a], [, b]) => b.length - a.length)
      .map(
        ([reference, all]) => `${reference === '' ? 'known answers and itself' : reference} (${all.length})`,
      );
    return [
      driver,
      String(own.length),
      String(sum(({ requests }) => requests)),
      megabytes(sum(({ bytes }) => bytes)),
      String(own.filter(({ equal }) => !equal).length),
      references.join(', '),
    ];
  });
  return table(COLUMNS, rows, width);
}

/** Why the rest was not tried, one line a driver and reason. */
export function untriedText(untried: readonly Untried[], named: boolean): string {
  const lines: string[] = [];
  for (const [driver, own] of groups(untried, (one) => one.driver)) {
    for (const [, all] of groups(own, kindOf)) {
      const { reason, algorithm } = all[0]!;
      const names = all.flatMap((one) => one.algorithm ?? []);
      const some = `${names.slice(0, 3).join(', ')}${names.length > 3 ? ` and ${names.length - 3} more` : ''}`;
      if (algorithm === undefined) lines.push(`${driver}: ${reason?.message}`);
      else if (all[0]!.stopped) {
        for (const one of all) lines.push(`${driver}: ${one.algorithm}, begun: ${one.reason?.message}`);
      } else if (!reason) lines.push(`${driver}: no time for ${some}: give it more seconds, or another seed`);
      // That a driver lacks most of the table is its nature; of what was named, each one is told.
      else if (reason.code === 'ALGORITHM_UNKNOWN' && !named) {
        lines.push(`${driver}: has no name for ${names.length} algorithms of the table`);
      } else lines.push(`${driver}: ${some}: ${reason.message}`);
    }
  }
  return lines.map((line) => `not tried: ${line}\n`).join('');
}

/** Reasons that are told in one line. What a driver has no name for differs in the algorithm's name only. */
function kindOf({ reason, stopped }: Untried): string {
  const message = reason?.code === 'ALGORITHM_UNKNOWN' ? '' : reason?.message;
  return `${reason?.code} ${message} ${stopped}`;
}

function groups<T>(list: readonly T[], key: (one: T) => string): [string, T[]][] {
  const found = new Map<string, T[]>();
  for (const one of list) {
    const own = found.get(key(one));
    if (own) own.push(one);
    else found.set(key(one), [one]);
  }
  return [...found];
}

/** What a report says besides the failure itself. */
export interface ReportFacts {
  /** `uname -sr` and the architecture. */
  readonly kernel: string;
  /** `hwcrypt 0.1.0`. */
  readonly program: string;
  readonly seed: number;
  /** Entries of /proc/crypto. */
  readonly registered: readonly KernelAlgorithm[];
}

/** All that a kernel developer needs, for a mail. */
export function failureText(failure: SelftestFailure, facts: ReportFacts): string {
  const { algorithm, task, driver, what, sessions, session, message } = failure;
  const lines = [`${driver}: ${algorithm} ${task}: ${what}`, ''];
  const field = (name: string, text: string): void => {
    lines.push(`  ${name.padEnd(18)}${text}`.trimEnd());
  };
  field('kernel', facts.kernel);
  field('driver', implementationText(failure));
  const entry = facts.registered.find(({ driver: own }) => own === failure.kernelDriver);
  if (entry) field('/proc/crypto', entryText(entry));
  field(
    'found with',
    `${facts.program}: hwcrypt selftest --driver ${driver} --seed ${facts.seed} ${algorithm}`,
  );
  if (failure.trial !== undefined) field('trial', String(failure.trial));
  if (failure.intermittent) field('', 'not every time: the same requests were right when they were repeated');
  if (failure.tagBytes !== undefined) field('tag', `${failure.tagBytes} bytes`);
  if (failure.outputBytes !== undefined) field('digest', `${failure.outputBytes} bytes`);
  if (failure.interleaved) field('sessions', `${sessions.length}, request by request in turns`);
  for (const [i, messages] of sessions.entries()) {
    for (const [j, own] of messages.entries()) {
      const wrong = i === session && j === message;
      const several = sessions.length > 1 || messages.length > 1;
      lines.push('');
      if (several) lines.push(`  session ${i + 1}, message ${j + 1}${wrong ? ' (the wrong one)' : ''}`);
      messageFields(own, field);
    }
  }
  lines.push('');
  if (failure.error) {
    field('error', failure.error.message);
    if (failure.error.errno) field('errno', failure.error.errno);
  }
  if (failure.expected !== undefined && failure.got !== undefined) {
    const from = failure.shownFrom ? ` from byte ${failure.shownFrom}` : '';
    field('expected', `${shownHex(failure.expected)}${from}`);
    field('got', `${shownHex(failure.got)}${from}`);
    field('first difference', `byte ${failure.firstDifference} of the output`);
  }
  field('expected by', failure.reference);
  const commands = commandsOf(failure);
  if (commands.length > 0) lines.push('', ...commands.map((command) => `  ${command}`));
  return `${lines.join('\n')}\n`;
}

function implementationText({ kernelDriver, module, implementation }: SelftestFailure): string {
  if (kernelDriver === undefined) return 'unknown';
  const where = module === undefined ? '' : module === 'kernel' ? ', built in' : `, module ${module}`;
  const hardware = implementation?.hardware;
  const what = hardware === 'yes' ? ', hardware' : hardware === 'no' ? ', software' : '';
  return `${kernelDriver}${where}${what}`;
}

function entryText(entry: KernelAlgorithm): string {
  const { name, driver, module, type, priority, selftest, async, blockBytes, ivBytes } = entry;
  return [
    `name ${name}`,
    `driver ${driver}`,
    `module ${module}`,
    `type ${type}`,
    `priority ${priority}`,
    ...(selftest === undefined ? [] : [`selftest ${selftest}`]),
    ...(async === undefined ? [] : [`async ${async ? 'yes' : 'no'}`]),
    ...(blockBytes === undefined ? [] : [`blocksize ${blockBytes}`]),
    ...(ivBytes === undefined ? [] : [`ivsize ${ivBytes}`]),
  ].join('; ');
}

const shownHex = (hex: string): string =>
  hex.length <= SHOWN_HEX ? hex || '(empty)' : `${hex.slice(0, 64)}… (the rest with --json)`;

function messageFields(own: FailureMessage, field: (name: string, text: string) => void): void {
  if (own.key !== undefined) field('key', shownHex(own.key));
  if (own.iv !== undefined) field('iv', shownHex(own.iv));
  if (own.aad !== undefined) field('aad', shownHex(own.aad));
  field('input', `${shownHex(own.input)}, ${own.inputBytes} bytes`);
  if (own.tag !== undefined) field('tag', own.tag);
  if (own.forged) field('', `one bit of the ${own.forged} was turned over: it must be refused`);
  const form = [
    own.pieces.length > 1 ? `${own.pieces.length} requests of ${own.pieces.join(', ')} bytes` : 'one request',
    own.layout === 'apart' ? 'into another buffer' : own.layout,
    `input ${own.inputOffset} and output ${own.outputOffset} bytes from a multiple of 16`,
    ...(own.asynchronous ? ['asynchronous'] : []),
    ...(own.handoverAfter === undefined
      ? []
      : [`another session goes on after ${own.handoverAfter} of them`]),
  ];
  field('how', form.join('; '));
}

/** Ways to see it without hwcrypt, where one request shows it. */
function commandsOf(failure: SelftestFailure): string[] {
  const { sessions, driver, kernelDriver, task } = failure;
  const own = sessions[0]?.[0];
  const algorithm = findAlgorithm(failure.algorithm);
  const kernel = driver.startsWith('afalg') || driver.startsWith('cryptodev');
  if (!own || !algorithm) return [];
  if (sessions.length > 1 || sessions[0]!.length > 1 || own.pieces.length > 1) {
    return kernel ? ['One request does not show it, and kcapi makes no others: use the line above.'] : [];
  }
  if (own.input.length > SHOWN_HEX && !/^(?:00|\{\d+\})*$/.test(own.input)) return [];
  const lines: string[] = [];
  const hex = (text: string): string => {
    const zeros = /^00\{(\d+)\}$/.exec(text);
    return zeros && Number(zeros[1]) > SHORT_BYTES
      ? `$(head -c ${zeros[1]} /dev/zero | xxd -p | tr -d '\\n')`
      : Buffer.from(bytesOf(text)).toString('hex');
  };
  if (kernel && kernelDriver !== undefined) {
    lines.push("With libkcapi's test program:", `  ${kcapiCommand(failure, own, algorithm.kind, hex)}`);
  }
  const openssl = opensslCommand(algorithm.names.openssl, algorithm.kind, task, own, hex);
  if (openssl) lines.push('What OpenSSL makes of it:', `  ${openssl}`);
  return lines;
}

/** kcapi of libkcapi (test/kcapi-main.c): -x 1 cipher, 2 AEAD, 3 hash; -p goes in to encrypt and digest, -q to decrypt. */
function kcapiCommand(
  { kernelDriver, task, tagBytes, expected }: SelftestFailure,
  own: FailureMessage,
  kind: 'cipher' | 'aead' | 'hash' | 'mac',
  hex: (text: string) => string,
): string {
  const type = kind === 'cipher' ? 1 : kind === 'aead' ? 2 : 3;
  const name = `"${kernelDriver}"`;
  const input = `${task === 'decrypt' ? '-q' : '-p'} "${hex(own.input)}"`;
  const parts = [`kcapi -x ${type}`, ...(task === 'encrypt' ? ['-e'] : []), '-c', name];
  if (own.key !== undefined) parts.push('-k', hex(own.key));
  if (own.iv !== undefined) parts.push('-i', hex(own.iv));
  parts.push(input);
  if (own.aad !== undefined && own.aad !== '') parts.push(`-a "${hex(own.aad)}"`);
  if (own.tag !== undefined) parts.push('-t', own.tag);
  else if (kind === 'aead') {
    const whole = expected === undefined ? 16 : bytesOf(expected).length - own.inputBytes;
    parts.push('-l', String(tagBytes ?? Math.min(16, Math.max(4, whole))));
  }
  return parts.join(' ');
}

/** openssl enc knows ciphers but no AEAD and no XTS; openssl dgst knows hashes and HMAC. */
function opensslCommand(
  name: string | undefined,
  kind: 'cipher' | 'aead' | 'hash' | 'mac',
  task: string,
  own: FailureMessage,
  hex: (text: string) => string,
): string | undefined {
  if (name === undefined || kind === 'aead') return undefined;
  const zeros = /^00\{(\d+)\}$/.exec(own.input);
  const input = zeros ? `head -c ${zeros[1]} /dev/zero` : `echo "${hex(own.input)}" | xxd -r -p`;
  if (kind === 'hash') return `${input} | openssl dgst -${name.toLowerCase()}`;
  if (kind === 'mac' || /XTS/.test(name)) return undefined;
  const iv = own.iv === undefined ? '' : ` -iv ${hex(own.iv)}`;
  const way = task === 'decrypt' ? ' -d' : '';
  return `${input} | openssl enc -${name.toLowerCase()}${way} -nopad -K ${hex(own.key ?? '')}${iv} | xxd -p -c 32`;
}

/** The last line: is all well? */
export function verdictText({ tried, failures, elapsedNs, seed, interrupted }: Selftest): string {
  const requests = tried.reduce((sum, one) => sum + one.requests, 0);
  const seconds = (elapsedNs / 1e9).toFixed(1);
  const begun = interrupted ? 'interrupted after' : 'in';
  if (tried.length === 0) return `nothing was compared: no driver here could be tried (seed ${seed})\n`;
  const wrong = failures.length;
  const found = wrong === 0 ? 'all equal' : `${wrong} difference${wrong > 1 ? 's' : ''}`;
  return `${found}: ${requests} requests ${begun} ${seconds} s (seed ${seed})\n`;
}
