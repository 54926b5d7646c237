/** What the machine is: kernel, distribution, CPU and its instructions, memory. */
import { redact } from '../../interop/redact.js';
import { atLeast, type KernelVersion, parseCpuFlags, parseKernelRelease } from '../../linux/proc.js';
import { type Chip, chipIn } from '../chips.js';
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
  /** A chip that is named, be it in a sentence. */
  readonly chip?: Sourced<Chip>;
  /** A virtual machine: what its flags lack may be hidden from it. */
  readonly guest?: Sourced<string>;
  readonly memoryKiB?: Sourced<number>;
  readonly availableKiB?: Sourced<number>;
}

/** CPU flags that are AES instructions: x86 `aes`, Arm `aes`, RISC-V `zkne`, `zvkned`. */
const AES_FLAGS = ['aes', 'zkne', 'zknd', 'zvkned'];

/** Models of CPU that QEMU makes up; a guest with one has the flags of that model and not its host's. */
const MADE_UP_CPU = /^(?:QEMU Virtual CPU|Common (?:32-bit )?KVM processor|(?:qemu|kvm)(?:32|64)\b)/i;

export function readMachine(document: Document): Machine {
  const out: { -readonly [K in keyof Machine]: Machine[K] } = {};
  const lines = joinFlags(document.in('kernel', 'distribution', 'model', 'cpuinfo', 'memory'));
  for (const line of lines) {
    const quote = (): Quote => document.quote(line);
    const { text } = line;
    const chip = text.length < 600 ? chipIn(text) : undefined;
    if (chip) out.chip ??= { value: chip, quote: quote() };
    const kernel = kernelOf(line);
    if (kernel) out.kernel ??= { value: kernel, quote: quote() };
    const system = systemOf(line);
    // What a name says counts more than the family it descends from.
    if (system && (!out.system || out.system.value === 'other'))
      out.system = { value: system, quote: quote() };
    // lscpu has up to thirty blanks behind the colon.
    const colon = /^([A-Za-z][A-Za-z _]{1,24}?)\s{0,12}:\s{0,40}(\S.*)$/.exec(text);
    const [, key = '', value = ''] = colon ?? [];
    if (line.section === 'model') out.model ??= { value: redact(text, 120), quote: quote() };
    if (/^(?:system type|machine|hardware)$/i.test(key))
      out.model ??= { value: redact(value, 120), quote: quote() };
    if (/^(?:model name|cpu model)$/i.test(key)) {
      out.cpu ??= { value: redact(value, 120), quote: quote() };
      if (MADE_UP_CPU.test(value)) out.guest ??= { value: redact(value, 60), quote: quote() };
    }
    const hypervisor = /^hypervisor vendor$/i.test(key)
      ? value
      : /\bHypervisor detected: (\S{1,40})/.exec(text)?.[1];
    if (hypervisor !== undefined) out.guest ??= { value: redact(hypervisor, 40), quote: quote() };
    // gocryptfs --speed
    const told = /^cpu: (\S.{0,80}); (with|without) AES acceleration$/.exec(text);
    if (told) {
      out.cpu ??= { value: redact(told[1]!, 120), quote: quote() };
      out.aes ??= { value: told[2] === 'with', quote: quote() };
      if (MADE_UP_CPU.test(told[1]!)) out.guest ??= { value: redact(told[1]!, 60), quote: quote() };
    }
    if (key === 'processors' && /^\d{1,5}$/.test(value)) out.cpus ??= Number(value);
    if (
      /^(?:flags|features|isa)$/i.test(key) &&
      (line.section === 'cpuinfo' || value.split(/[ _]/).length > 3)
    ) {
      const flags = parseCpuFlags(text);
      out.aes ??= { value: AES_FLAGS.some((flag) => flags.has(flag)), quote: shortened(document, line) };
      if (flags.has('hypervisor'))
        out.guest ??= { value: 'a hypervisor', quote: shortened(document, line, 'hypervisor') };
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

/** lscpu's flags fill several lines where a terminal or a web page has wrapped them. */
function joinFlags(lines: readonly DocumentLine[]): DocumentLine[] {
  const out: DocumentLine[] = [];
  let open = false;
  for (const line of lines) {
    const last = out.at(-1);
    if (open && last && /^[a-z][a-z0-9_]+(?: [a-z][a-z0-9_]+)*$/.test(line.text)) {
      out[out.length - 1] = { ...last, text: `${last.text} ${line.text}` };
      continue;
    }
    open = /^flags\s{0,12}:\s{0,40}[a-z][a-z0-9_]+(?: [a-z][a-z0-9_]+){3}/i.test(line.text);
    out.push(line);
  }
  return out;
}

/** A line of flags is too long to show; what matters is whether `aes`, or another one, is in it. */
function shortened(document: Document, line: DocumentLine, wanted?: string): Quote {
  const { source, line: number } = document.quote({ number: line.number, text: '' });
  const flags = [...parseCpuFlags(line.text)];
  const found = flags.filter((flag) => (wanted === undefined ? AES_FLAGS.includes(flag) : flag === wanted));
  const shown = found.length > 0 ? `… ${found.join(' ')} …` : `${flags.slice(0, 6).join(' ')} …, no aes`;
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
  const told =
    release ??
    // cryptsetup --debug, stress-ng, the greeting of Ubuntu.
    /\b(?:Detected kernel|system:) Linux (?:\S{1,64} )?(\d{1,2}\.\d{1,3}\.\d{1,3}\S{0,60})/.exec(text)?.[1] ??
    /\(GNU\/Linux (\d{1,2}\.\d{1,3}\.\d{1,3}\S{0,60})/.exec(text)?.[1];
  return told === undefined ? undefined : parseKernelRelease(told);
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

/** The same, and true where it is not known. */
export function kernelMayBe(machine: Machine, major: number, minor: number): boolean {
  return machine.kernel === undefined || kernelAtLeast(machine, major, minor);
}
