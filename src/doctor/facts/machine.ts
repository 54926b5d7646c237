/** What the machine is: kernel, distribution, CPU and its instructions, memory. */
import { atLeast, type KernelVersion, parseCpuFlags, parseKernelRelease } from '../../linux/proc.js';
import type { Document, DocumentLine, Quote, Sourced } from './document.js';

export type System = 'openwrt' | 'debian' | 'buildroot' | 'other';

export interface Machine {
  readonly kernel?: Sourced<KernelVersion>;
  readonly system?: Sourced<System>;
  readonly model?: Sourced<string>;
  readonly cpu?: Sourced<string>;
  readonly cpus?: number;
  /** Does the CPU have AES instructions? Absent where the text does not tell. */
  readonly aes?: Sourced<boolean>;
  readonly memoryKiB?: Sourced<number>;
  readonly availableKiB?: Sourced<number>;
}

/** CPU flags that are AES instructions: x86 `aes`, Arm `aes`, RISC-V `zkne`, `zvkned`. */
const AES_FLAGS = ['aes', 'zkne', 'zknd', 'zvkned'];

export function readMachine(document: Document): Machine {
  const out: { -readonly [K in keyof Machine]: Machine[K] } = {};
  for (const line of document.in('kernel', 'distribution', 'model', 'cpuinfo', 'memory')) {
    const quote = (): Quote => document.quote(line);
    const { text } = line;
    const kernel = kernelOf(line);
    if (kernel) out.kernel ??= { value: kernel, quote: quote() };
    const system = systemOf(line);
    // What a name says counts more than the family it descends from.
    if (system && (!out.system || out.system.value === 'other'))
      out.system = { value: system, quote: quote() };
    const colon = /^([A-Za-z][A-Za-z _]{1,24}?)\s{0,12}:\s{0,4}(\S.*)$/.exec(text);
    const [, key = '', value = ''] = colon ?? [];
    if (line.section === 'model') out.model ??= { value: text.slice(0, 120), quote: quote() };
    if (/^(?:system type|machine|hardware)$/i.test(key))
      out.model ??= { value: value.slice(0, 120), quote: quote() };
    if (/^(?:model name|cpu model)$/i.test(key)) out.cpu ??= { value: value.slice(0, 120), quote: quote() };
    if (key === 'processors' && /^\d{1,5}$/.test(value)) out.cpus ??= Number(value);
    if (
      /^(?:flags|features|isa)$/i.test(key) &&
      (line.section === 'cpuinfo' || value.split(/[ _]/).length > 3)
    ) {
      const flags = parseCpuFlags(text);
      out.aes ??= { value: AES_FLAGS.some((flag) => flags.has(flag)), quote: shortened(document, line) };
    }
    const memory = /^(MemTotal|MemAvailable):\s+(\d{1,12}) kB$/.exec(text);
    if (memory) {
      const found = { value: Number(memory[2]), quote: quote() };
      if (memory[1] === 'MemTotal') out.memoryKiB ??= found;
      else out.availableKiB ??= found;
    }
  }
  return out;
}

/** A line of flags is too long to show; what matters is whether `aes` is in it. */
function shortened(document: Document, line: DocumentLine): Quote {
  const { source, line: number } = document.quote({ number: line.number, text: '' });
  const flags = [...parseCpuFlags(line.text)];
  const aes = flags.filter((flag) => AES_FLAGS.includes(flag));
  const shown = aes.length > 0 ? `… ${aes.join(' ')} …` : `${flags.slice(0, 6).join(' ')} …, no aes`;
  return { source, line: number, text: `${line.text.split(':')[0]!.trim()}: ${shown}` };
}

function kernelOf({ text, section }: DocumentLine): KernelVersion | undefined {
  // `uname -a` has the host's name behind `Linux`, `uname -s -r -m` has not; iostat and dmesg name it in their ways.
  const release =
    /^Linux (?:\S{1,64} )?(\d{1,2}\.\d{1,3}(?:[.\-+]\S{0,60})?)(?: |$)/.exec(text)?.[1] ??
    /\bLinux version (\d{1,2}\.\d{1,3}\S{0,60})/.exec(text)?.[1] ??
    (section === 'kernel' ? /^\S+ (\d{1,2}\.\d{1,3}\S{0,60})/.exec(text)?.[1] : undefined) ??
    /^(?:kernel(?: version| release)?|DISTRIB_KERNEL)\s{0,4}[:=]\s{0,4}v?(?:Linux )?(\d{1,2}\.\d{1,3}\S{0,60})/i.exec(
      text,
    )?.[1];
  return release === undefined ? undefined : parseKernelRelease(release);
}

function systemOf({ text, section }: DocumentLine): System | undefined {
  const id = /^(?:ID|NAME|PRETTY_NAME|DISTRIB_ID|ID_LIKE|DISTRIB_DESCRIPTION)=["']?([^"']{1,80})/.exec(
    text,
  )?.[1];
  if (id !== undefined) {
    if (/openwrt|lede|turris|immortalwrt/i.test(id)) return 'openwrt';
    if (/debian|ubuntu|raspbian|armbian/i.test(id)) return 'debian';
    if (/buildroot/i.test(id)) return 'buildroot';
    return 'other';
  }
  if (section !== undefined) return undefined;
  if (/\bopkg\b|^root@(?:OpenWrt|LEDE):|-openwrt-linux|\bOpenWrt (?:\d\d\.\d\d|SNAPSHOT)/i.test(text))
    return 'openwrt';
  if (/\bapt(?:-get)? install\b|\bDebian GNU\/Linux\b/.test(text)) return 'debian';
  return undefined;
}

/** Is the kernel at least that new? False where it is not known. */
export function kernelAtLeast({ kernel }: Machine, major: number, minor: number): boolean {
  return atLeast(kernel?.value, major, minor);
}
