/** Devices that are crypto engines, whoever drives them or nobody: device tree, platform, PCI and virtio devices, and what the kernel said of them. */

import { redact } from '../../interop/redact.js';
import { engineLines } from '../../linux/engine-interrupts.js';
import { type Interrupt, parseInterrupts } from '../../linux/proc.js';
import { ENGINES, type Engine, speaks } from '../engines.js';
import type { Document, DocumentLine, Quote, Sourced } from './document.js';

export interface Device {
  readonly engine: Engine;
  /** `1e004000.crypto`, `crypto@1e004000`, `0000:00:04.0`, `virtio3`. */
  readonly name: string;
  /** The bound driver; `null` where the text says that there is none, absent where it does not say. */
  readonly driver?: string | null;
  /** The device tree's `status` where it is not `okay`. */
  readonly disabled?: true;
  /** The driver itself said that it works, in the kernel's log. */
  readonly ready?: true;
  readonly quote: Quote;
}

/** A line of the kernel's log that tells of trouble. */
export interface LogTrouble {
  readonly kind:
    | 'selftest'
    /** The test could not be run: the algorithm is not built into this kernel. */
    | 'not-built'
    | 'firmware'
    | 'probe'
    /** It works no more: time-outs, errors of the engine itself. */
    | 'fault'
    /** The kernel crashed in the driver's code. */
    | 'crash';
  /** The driver, device or module that it is about. */
  readonly subject: string;
  /** With `selftest`: the algorithm, where it is named. */
  readonly algorithm?: string;
  /** The error's number as the kernel gives it, without its sign. */
  readonly errno?: number;
  readonly quote: Quote;
}

export interface Growth {
  readonly device: string;
  readonly before: number;
  readonly after: number;
  readonly quotes: readonly Quote[];
}

export interface Devices {
  readonly devices: readonly Device[];
  /** What drivers said that they registered, by engine: `cbc(aes)`, or the driver's own name for it. */
  readonly registered: ReadonlyMap<string, readonly string[]>;
  readonly troubles: readonly LogTrouble[];
  /** Interrupts of engines, where they are counted at two points in time. */
  readonly growth: readonly Growth[];
  /** Of engines, at any time; an engine that never interrupted never worked, or works without. */
  readonly interrupts: readonly Sourced<Interrupt>[];
  /** `word (driver) bound to a device`: drivers under /sys with their devices. */
  readonly loadedDrivers: readonly string[];
}

export function readDevices(document: Document): Devices {
  const devices = new Map<string, Device>();
  const troubles: LogTrouble[] = [];
  const loadedDrivers: string[] = [];
  const registered = new Map<string, string[]>();
  /** The node of a device tree's source that is open, and the engine that it is, once its `compatible` was read. */
  let node: { name: string; device?: Device } | undefined;
  for (const line of document.lines) {
    const opens = /^(?:[\w-]{1,40}: )?([\w-]{1,40}@[0-9a-f]{1,16}) \{$/i.exec(line.text)?.[1];
    if (opens !== undefined) node = { name: canonical(opens) };
    const compatible = node && /^compatible = (".{1,200}");?$/.exec(line.text)?.[1];
    if (node && compatible !== undefined) {
      const engine = byCompatible(compatible);
      if (engine) {
        node.device = { engine, name: node.name, quote: document.quote(line) };
        if (!devices.has(node.name)) devices.set(node.name, node.device);
      }
    }
    if (node?.device && /^status = "(?:disabled|fail|reserved)"/.test(line.text))
      devices.set(node.name, { ...node.device, disabled: true, quote: document.quote(line) });
    const said = registrationOf(line);
    if (said) {
      const names = registered.get(said.engine.id) ?? [];
      if (!names.includes(said.name) && names.length < 60) names.push(said.name);
      registered.set(said.engine.id, names);
    }
    for (const device of devicesOf(line, document)) {
      const known = devices.get(device.name);
      // A bound device, and one that spoke in the log, say more than a node of the tree.
      if (
        !known ||
        (known.driver === undefined && device.driver !== undefined) ||
        (device.ready && !known.ready)
      ) {
        // Who drives it now is told by the line that says so; the log tells of the past.
        const { quote } = known?.driver === undefined ? device : known;
        devices.set(device.name, { ...known, ...device, quote });
      }
    }
    const trouble = troubleOf(line, document);
    if (trouble) troubles.push({ ...trouble, subject: redact(trouble.subject, 64) });
    if (line.section === 'drivers') loadedDrivers.push(line.text);
  }
  const stalled = stallOf(document, devices);
  if (stalled) troubles.push(stalled);
  const { growth, interrupts } = readEngineInterrupts(document);
  return { devices: [...devices.values()], registered, troubles, growth, interrupts, loadedDrivers };
}

/** A CPU that stands still in an engine's interrupt, or in its thread: `Comm: irq/20-1e004000`. */
function stallOf(document: Document, devices: ReadonlyMap<string, Device>): LogTrouble | undefined {
  if (
    !document.lines.some(({ text }) =>
      /\bself-detected stall\b|\bsoft lockup\b|\bblocked for more than\b/.test(text),
    )
  )
    return undefined;
  for (const line of document.lines) {
    const task = /\bComm: irq\/\d{1,4}-([\w.]{4,40})/.exec(line.text)?.[1];
    const device =
      task && [...devices.values()].find(({ name }) => name.startsWith(task) || task.startsWith(name));
    if (device) return { kind: 'crash', subject: device.engine.modules[0]!, quote: document.quote(line) };
  }
  return undefined;
}

/** `sun8i-ce 1904000.crypto: Register cbc(aes)`, `caam 2100000.caam: cbc-aes-caam`. */
function registrationOf({ text, section }: DocumentLine): { engine: Engine; name: string } | undefined {
  if ((section !== undefined && section !== 'log') || text.length > 200) return undefined;
  const name =
    /: Register(?:ed|ing)?:? ([a-z0-9_]+\([a-z0-9_(),]+\)|(?:md5|sha\d{1,3}))$/.exec(text)?.[1] ??
    /: ((?:qcrypto-)?[a-z0-9]+(?:-[a-z0-9]+)*-aes(?:-caam)?)$/.exec(text)?.[1];
  const engine = name === undefined ? undefined : ENGINES.find((one) => speaks(one, text));
  return engine === undefined ? undefined : { engine, name: name! };
}

const byCompatible = (text: string): Engine | undefined =>
  ENGINES.find(({ compatible }) => compatible?.test(text) === true);

function devicesOf(line: DocumentLine, document: Document): Device[] {
  const { text, section } = line;
  const quote = (): Quote => document.quote(line);
  const node = /^(\S{1,80}) compatible=(.{0,300}?)(?: driver=(\S{1,60}))?(?: status=(\S{0,20}))?$/.exec(text);
  if (node) {
    const [, name, compatible, driver, status] = node as unknown as [
      string,
      string,
      string,
      string?,
      string?,
    ];
    const engine = byCompatible(`${compatible} ${name}`);
    if (!engine) return [];
    return [
      {
        engine,
        name: canonical(name),
        ...(driver === undefined ? {} : { driver: driver === 'none' ? null : driver }),
        ...(status === undefined || status === '' || status === 'okay' || status === 'ok'
          ? {}
          : { disabled: true as const }),
        quote: quote(),
      },
    ];
  }
  const pci =
    /^(\S{7,16}) 0x([0-9a-f]{4}):0x([0-9a-f]{4}) class \S+ driver=(\S{1,60})$/i.exec(text) ??
    /^(\S{7,16}) .{1,200}\[([0-9a-f]{4}):([0-9a-f]{4})\]()/i.exec(text);
  if (pci) {
    const [, name, vendor, device, driver] = pci as unknown as [string, string, string, string, string];
    const engine = ENGINES.find((one) => one.pci?.test(`${vendor}:${device}`) === true);
    // The virtio bus has its own line for what is behind a virtio-pci device.
    if (!engine || driver === 'virtio-pci') return [];
    return [
      {
        engine,
        name,
        ...(driver === '' ? {} : { driver: driver === 'none' ? null : driver }),
        quote: quote(),
      },
    ];
  }
  const virtio = /^(virtio\d{1,4}) device=0x0014 driver=(\S{1,60})$/.exec(text);
  if (virtio) {
    const [, name, driver] = virtio as unknown as [string, string, string];
    const engine = ENGINES.find(({ id }) => id === 'virtio')!;
    return [{ engine, name, driver: driver === 'none' ? null : driver, quote: quote() }];
  }
  if ((section === undefined || section === 'log') && !/^(?:driver|name|module) *:/.test(text)) {
    const engine = OTHER_DUTIES.test(text) ? undefined : ENGINES.find((one) => speaks(one, text));
    const failed = TROUBLE.test(text);
    if (engine && !failed && text.length < 300 && FROM_LOG.test(text)) {
      const name = /\b(virtio\d+|[0-9a-f]{6,8}\.\w+|\w{4}:\w\w:\w\w\.\w)\b/.exec(text)?.[1] ?? engine.id;
      return [{ engine, name, ready: true, quote: quote() }];
    }
  }
  return [];
}

/** `crypto@1e004000` of the device tree is `1e004000.crypto` among the platform devices. */
function canonical(name: string): string {
  const match = /^([\w-]{1,40})@([0-9a-f]{1,16})$/i.exec(name);
  return match ? `${match[2]}.${match[1]}` : name;
}

/** A line of the kernel's log (dmesg, also with -T, syslog, logread, journalctl), and no path, module list or sentence. */
const FROM_LOG =
  /^(?:\[ {0,8}[\d.+]{3,16}\]|<\d>|[\w-]{2,30}(?: [\w:.,-]{4,40})?: |\[?(?:[A-Z][a-z]{2} )?[A-Z][a-z]{2} {1,2}\d{1,2} [\d:]{8} |\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d)/;

/** AMD's CCP shares its device with the processor that starts encrypted guests; what that says has nothing to do with AES for others. */
const OTHER_DUTIES = /\b(?:sev(?:-snp|-es)?|psp|tee|amd_sev\w{0,30})\b/i;

const TROUBLE =
  /\b(?:fail(?:ed|ure|s)?|error|cannot|could not|unable|timed? ?out|not found|no such|refus\w+|missing|probe of \S+ failed|err(?:=| ?-)\d*)\b/i;

function troubleOf(line: DocumentLine, document: Document): LogTrouble | undefined {
  const { text, section } = line;
  if (section !== undefined && section !== 'log') return undefined;
  if (text.length > 400) return undefined;
  const quote = (): Quote => document.quote(line);
  // Linux 5.10 and later; before, `alg: skcipher: Test 1 failed … for cbc-aes-eip93`.
  const selftest =
    /\balg: self-tests for (\S{1,64}) using (\S{1,64}) failed/.exec(text) ??
    /\balg: self-tests for ()(\S{1,64}) .{0,40}failed/.exec(text);
  if (selftest) {
    const [, algorithm, subject] = selftest as unknown as [string, string, string];
    // The module tcrypt asks for all algorithms that it knows; ENOENT is the answer for what this kernel does not have.
    if (/\(rc=-2\)/.test(text)) return { kind: 'not-built', subject, quote: quote() };
    return { kind: 'selftest', subject, ...(algorithm === '' ? {} : { algorithm }), quote: quote() };
  }
  const older =
    /\balg: \w+: setkey failed\b.{0,60}\bfor (\S{1,64}?)[:,.]?(?:\s|$)/i.exec(text) ??
    /\balg: \w+: .{0,120}\b(?:test|encryption|decryption|digest)\b.{0,60}\bfailed\b.{0,60}\bfor (\S{1,64}?)[:,.]?(?:\s|$)/i.exec(
      text,
    ) ??
    /\balg: (?:skcipher|aead|hash|ahash|shash|cipher|ablkcipher): (\S{1,64}) .{0,120}(?:test failed|failed|wrong result)/i.exec(
      text,
    );
  if (older) return { kind: 'selftest', subject: older[1]!, quote: quote() };
  if (/\balg: \w+: failed to allocate transform for /.test(text)) return undefined;
  const crash =
    /\b(?:PC is at|RIP: .{0,24}?|pc : |EIP is at|NIP \[.{1,40}\] )\s{0,4}[\w.]{1,80}\+0x[0-9a-f]+\/0x[0-9a-f]+ \[(\w{2,40})\]/.exec(
      text,
    )?.[1];
  if (
    crash !== undefined &&
    ENGINES.some(({ modules }) => modules.some((module) => sameModule(module, crash)))
  )
    return { kind: 'crash', subject: crash, quote: quote() };
  if (OTHER_DUTIES.test(text)) return undefined;
  if (/\b(?:firmware|\.bin)\b/i.test(text) && !/\bbroken BIOS\b/.test(text) && TROUBLE.test(text)) {
    const engine = /inside-secure|eip197/i.test(text)
      ? ENGINES.find(({ id }) => id === 'safexcel')
      : /\bqat\b|qat_/i.test(text)
        ? ENGINES.find(({ id }) => id === 'qat')
        : engineSpeaking(text);
    if (engine) return { kind: 'firmware', subject: engine.name, quote: quote() };
  }
  const errno = /\b(?:error|err|ret|rc|returned)\b[:= ]{0,3}-(\d{1,3})\b|: -(\d{1,3})$/.exec(text);
  const number = errno ? { errno: Number(errno[1] ?? errno[2]) } : {};
  // A package manager's trouble is not a driver's.
  if (
    PROBE.test(text) &&
    !/\b(?:opkg|apk|apt|dpkg)\b|pkg_[a-z]+|\bkmod-[\w-]+:?$|cannot find dependency/.test(text)
  ) {
    const engine = engineSpeaking(text);
    if (engine) return { kind: 'probe', subject: engine.name, ...number, quote: quote() };
    // An engine that no table knows: its driver's name says what it is.
    const unknown =
      /\b([\w-]{0,24}(?:crypto|cryp|[-_]aes|[-_]sha)[\w-]{0,12}): probe of \S{1,60} failed/.exec(text)?.[1];
    if (unknown !== undefined) return { kind: 'probe', subject: unknown, ...number, quote: quote() };
  }
  if (FAULT.test(text)) {
    const engine = ENGINES.find((one) => speaks(one, text));
    if (engine) return { kind: 'fault', subject: engine.name, ...number, quote: quote() };
  }
  return undefined;
}

/** What a driver, or the kernel for it, says when a device cannot be taken into use. */
const PROBE =
  /\bprobe(?: of \S{1,80})?(?: \S{1,40})? failed|\b(?:unable|cannot|could not|can't) (?:to )?(?:request|get|map|init\w*|start|enable|allocate|find) .{0,60}|\bfailed to (?:probe|init|register|enable|start|load)|\bfailed to (?:get|request|map) .{0,30}\b(?:clocks?|clk|resets?|irq|interrupt|regulator|memory|resource|phy|dma|channel|region)\b|probe with driver .{1,60} failed|unable to access the device|there are no available CCPs|deferred probe pending/i;

/** Errors of work that an engine had taken. */
const FAULT =
  /\b(?:DMA )?time(?:d )?-?out\b|\b(?:DECO|CCB|QI|JRI): |\berror 0x[0-9a-f]+\b|\bhung\b|\bhang\b/i;

const engineSpeaking = (text: string): Engine | undefined =>
  ENGINES.find((one) => speaks(one, text)) ?? byCompatible(text);

const sameModule = (one: string, other: string): boolean =>
  one.replaceAll('-', '_').replace(/_jr$/, '') === other.replaceAll('-', '_').replace(/^caam\w*$/, 'caam');

function readEngineInterrupts(document: Document): Pick<Devices, 'growth' | 'interrupts'> {
  // Which of the virtio devices is the crypto one is said elsewhere in the text.
  const virtio = new Set<string>();
  for (const { text } of document.lines) {
    const name =
      /^(virtio\d{1,4}) device=0x0014 /.exec(text)?.[1] ?? /\bvirtio_crypto (virtio\d{1,4}):/.exec(text)?.[1];
    if (name !== undefined) virtio.add(name);
  }
  const seen = new Map<string, Sourced<Interrupt>[]>();
  for (const line of document.in('interrupts-before', 'interrupts-after')) {
    if (!/^[\w-]{1,8}:\s/.test(line.text)) continue;
    const [interrupt] = engineLines(parseInterrupts(line.text), virtio);
    if (!interrupt) continue;
    const key = `${interrupt.irq} ${interrupt.description}`;
    const list = seen.get(key) ?? [];
    list.push({ value: interrupt, quote: document.quote(line) });
    seen.set(key, list);
  }
  const growth: Growth[] = [];
  for (const list of seen.values()) {
    const first = list[0]!;
    // Counters only rise; of a text that was given twice the last one is an early one again.
    const last = list.reduce((most, one) => (one.value.total > most.value.total ? one : most));
    // Configuration interrupts tell of no work.
    if (list.length < 2 || /-config$/.test(first.value.description)) continue;
    growth.push({
      device: first.value.description.split(/\s+/).at(-1)!,
      before: first.value.total,
      after: last.value.total,
      quotes: last === first ? [first.quote] : [first.quote, last.quote],
    });
  }
  return { growth, interrupts: [...seen.values()].map((list) => list.at(-1)!) };
}
