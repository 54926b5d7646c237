/**
 * What /proc, /sys, /etc/modprobe.d and /lib/modules say: parsers that take text, and thin readers around them.
 *
 * A parser never throws and never guesses: what it cannot read it leaves out. The same parsers read files of this machine
 * and files that came off another one, so they tolerate truncation, CRLF, and lines of something else in between.
 *
 * Sources: Documentation/filesystems/proc.rst, crypto/proc.c, modprobe.d(5), kernel/module/main.c.
 */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { release } from 'node:os';
import { join } from 'node:path';

/** One entry of /proc/crypto, or of a NETLINK_CRYPTO dump: one implementation of one algorithm. Sizes in bytes. */
export interface KernelAlgorithm {
  /** `cra_name`: `cbc(aes)`. */
  readonly name: string;
  /** `cra_driver_name`: `cbc-aes-aesni`. */
  readonly driver: string;
  /** The kernel module, or `kernel` where it is built in. */
  readonly module: string;
  /** `skcipher`, `lskcipher`, `aead`, `shash`, `ahash`, `rng`, `cipher` … as the kernel prints it. */
  readonly type: string;
  readonly priority: number;
  readonly refcnt: number;
  /** CRYPTO_ALG_INTERNAL: a helper of another implementation that cannot be asked for. */
  readonly internal: boolean;
  /** `passed`, or `unknown` where it was not tested (yet). A kernel without self-tests prints `passed` all the same. */
  readonly selftest?: string;
  readonly async?: boolean;
  /** `cra_flags`, from netlink only; see `CRYPTO_ALG`. */
  readonly flags?: number;
  readonly blockBytes?: number;
  readonly minKeyBytes?: number;
  readonly maxKeyBytes?: number;
  readonly ivBytes?: number;
  readonly digestBytes?: number;
  readonly maxAuthBytes?: number;
  readonly seedBytes?: number;
}

const NUMBERS: Readonly<Record<string, keyof KernelAlgorithm>> = {
  priority: 'priority',
  refcnt: 'refcnt',
  blocksize: 'blockBytes',
  'min keysize': 'minKeyBytes',
  'max keysize': 'maxKeyBytes',
  ivsize: 'ivBytes',
  digestsize: 'digestBytes',
  maxauthsize: 'maxAuthBytes',
  seedsize: 'seedBytes',
};

/** /proc/crypto. An entry needs at least a name and a driver; one cut off by truncation is kept if it has its type. */
export function parseProcCrypto(text: string): KernelAlgorithm[] {
  const entries: KernelAlgorithm[] = [];
  let current: Record<string, string | number | boolean> | undefined;
  const finish = (): void => {
    if (current && typeof current['driver'] === 'string' && typeof current['type'] === 'string') {
      entries.push({
        module: '',
        priority: 0,
        refcnt: 0,
        internal: false,
        ...current,
      } as unknown as KernelAlgorithm);
    }
    current = undefined;
  };
  for (const line of text.split(/\r?\n/)) {
    const match = /^([a-z][a-z ]*?)\s*:\s*(.*?)\s*$/.exec(line);
    if (!match) {
      if (line.trim() === '') finish();
      continue;
    }
    const key = match[1] as string;
    const value = match[2] as string;
    if (key === 'name') {
      finish();
      if (value !== '') current = { name: value };
      continue;
    }
    if (!current || value === '') continue;
    const number = Object.hasOwn(NUMBERS, key) ? NUMBERS[key] : undefined;
    if (number) {
      if (/^-?\d{1,10}$/.test(value)) current[number] = Number(value);
    } else if (key === 'internal') current['internal'] = value === 'yes';
    else if (key === 'async') current['async'] = value === 'yes';
    else if (key === 'driver' || key === 'module' || key === 'type' || key === 'selftest')
      current[key] = value;
  }
  finish();
  return entries;
}

export interface KernelVersion {
  /** As the kernel gives it: `6.1.176`, `5.15.0-1-amd64`. */
  readonly release: string;
  readonly major: number;
  readonly minor: number;
}

/** `6.12.0-rc1+` → 6, 12. Undefined for what is not a release. */
export function parseKernelRelease(text: string): KernelVersion | undefined {
  const match = /^\s*(\d{1,4})\.(\d{1,4})(?![\d])(\S*)/.exec(text);
  if (!match) return undefined;
  return { release: (match[0] as string).trim(), major: Number(match[1]), minor: Number(match[2]) };
}

export function atLeast(version: KernelVersion | undefined, major: number, minor: number): boolean {
  return (
    version !== undefined && (version.major > major || (version.major === major && version.minor >= minor))
  );
}

/** Module names are the same with `-` and `_`; the kernel uses `_`. */
export function moduleName(name: string): string {
  return name.replaceAll('-', '_');
}

export interface LoadedModule {
  readonly name: string;
  readonly bytes: number;
  readonly refcnt: number;
  readonly usedBy: readonly string[];
  readonly state: string;
}

/** /proc/modules. */
export function parseModules(text: string): LoadedModule[] {
  const modules: LoadedModule[] = [];
  for (const line of text.split(/\r?\n/)) {
    const match = /^([\w-]+) (\d{1,15}) (-?\d{1,9}|-) (\S+) (Live|Loading|Unloading)/.exec(line);
    if (!match) continue;
    const users = match[4] as string;
    modules.push({
      name: moduleName(match[1] as string),
      bytes: Number(match[2]),
      refcnt: match[3] === '-' ? 0 : Number(match[3]),
      usedBy: users === '-' ? [] : users.split(',').filter((user) => user !== '' && !user.startsWith('[')),
      state: match[5] as string,
    });
  }
  return modules;
}

/** A line of modprobe.d(5), or of the kernel command line, that keeps a module from being loaded. */
export interface ModuleRule {
  /**
   * `install`: the module is never loaded, by name or by alias; a program runs in its stead.
   * `blacklist`: its aliases are ignored, so the kernel does not load it of itself; `modprobe NAME` still does.
   * `cmdline`: module_blacklist=, which the kernel itself enforces.
   */
  readonly kind: 'install' | 'blacklist' | 'cmdline';
  /** With `_`; may hold shell wildcards. */
  readonly module: string;
  /** Where it is written: a file, or `kernel command line`. */
  readonly file: string;
  /** The line, for people. */
  readonly line: string;
}

/** Does this `install` command load nothing? `/bin/true` and `/bin/false` in their spellings; anything else may load it. */
function loadsNothing(command: string): boolean {
  return /^(?:\/?(?:usr\/)?(?:s?bin\/)?)(?:true|false|nologin)(?:\s|;|$)|^(?::|exit)(?:\s|;|$)/.test(command);
}

/** One file of modprobe.d: only rules that keep something from being loaded. */
export function parseModprobe(text: string, file = ''): ModuleRule[] {
  const rules: ModuleRule[] = [];
  // A backslash at the end continues the line.
  for (const raw of text.replaceAll(/\\\r?\n/g, ' ').split(/\r?\n/)) {
    const line = raw.trim();
    const match = /^(blacklist|install)\s+(\S+)\s*(.*)$/.exec(line);
    if (!match) continue;
    const kind = match[1] as 'blacklist' | 'install';
    if (kind === 'install' && !loadsNothing(match[3] as string)) continue;
    rules.push({ kind, module: moduleName(match[2] as string), file, line });
  }
  return rules;
}

/** Rules on the kernel command line: module_blacklist=, modprobe.blacklist=, and initcall_blacklist= for built-in code. */
export function parseCommandLine(text: string): ModuleRule[] {
  const rules: ModuleRule[] = [];
  const file = 'kernel command line';
  for (const word of text.trim().split(/\s+/)) {
    const match = /^(module_blacklist|modprobe[.]blacklist|initcall_blacklist)=(.+)$/.exec(word);
    if (!match) continue;
    for (const item of (match[2] as string).split(',')) {
      if (item === '') continue;
      // An initcall is a function: algif_aead_init, af_alg_init, crypto_user_init.
      const module = moduleName(
        match[1] === 'initcall_blacklist' ? item.replace(/_(?:mod_)?init$/, '') : item,
      );
      const kind = match[1] === 'modprobe.blacklist' ? 'blacklist' : 'cmdline';
      rules.push({ kind, module, file, line: `${match[1]}=${item}` });
    }
  }
  return rules;
}

/** The rules that name a module. */
export function rulesFor(rules: readonly ModuleRule[], module: string): ModuleRule[] {
  const name = moduleName(module);
  return rules.filter((rule) => wildcard(rule.module, name));
}

function wildcard(pattern: string, name: string): boolean {
  if (!/[*?[]/.test(pattern)) return pattern === name;
  const source = pattern
    .replaceAll(/[.+^${}()|\\]/g, '\\$&')
    .replaceAll('*', '.*')
    .replaceAll('?', '.');
  try {
    return new RegExp(`^${source}$`).test(name);
  } catch {
    return false;
  }
}

/** modules.builtin: the names of the modules that are part of the kernel image. */
export function parseModuleFiles(text: string): Set<string> {
  const names = new Set<string>();
  for (const line of text.split(/\r?\n/)) {
    const match = /^\S*?([\w-]+)\.ko(?:\.(?:gz|xz|zst))?(?::.*)?$/.exec(line.trim());
    if (match) names.add(moduleName(match[1] as string));
  }
  return names;
}

/** modules.dep: module name → path of its file below /lib/modules/RELEASE. */
export function parseModulePaths(text: string): Map<string, string> {
  const paths = new Map<string, string>();
  for (const match of text.matchAll(/^(\S*?([\w-]+)\.ko(?:\.(?:gz|xz|zst))?):/gm)) {
    paths.set(moduleName(match[2] as string), match[1] as string);
  }
  return paths;
}

/** `alias crypto-…` lines of modules.alias: the thing that the kernel asks modprobe for → the modules that provide it. */
export function parseModulesAlias(
  text: string,
  into: Map<string, Set<string>> = new Map(),
): Map<string, Set<string>> {
  for (const match of text.matchAll(/^alias (crypto-\S+|net-pf-\S+|algif-\S+) (\S+)\s*$/gm)) {
    add(into, match[1] as string, match[2] as string);
  }
  return into;
}

/** modules.builtin.modinfo: NUL-separated `module.alias=…`. */
export function parseBuiltinModinfo(
  text: string,
  into: Map<string, Set<string>> = new Map(),
): Map<string, Set<string>> {
  for (const item of text.split('\0')) {
    const match = /^([\w-]+)\.alias=(crypto-\S+|net-pf-\S+|algif-\S+)$/.exec(item);
    if (match) add(into, match[2] as string, match[1] as string);
  }
  return into;
}

function add(map: Map<string, Set<string>>, alias: string, module: string): void {
  // depmod keeps each alias as it was written; modprobe compares with `-` and `_` equal.
  const key = moduleName(alias);
  let modules = map.get(key);
  if (!modules) {
    modules = new Set();
    map.set(key, modules);
  }
  modules.add(moduleName(module));
}

export interface ProcessStatus {
  /** CapEff as a bit set. */
  readonly capEff?: bigint;
  /** 0 off, 1 strict, 2 filter. */
  readonly seccomp?: number;
}

/** /proc/self/status. */
export function parseStatus(text: string): ProcessStatus {
  const cap = /^CapEff:\s*([0-9a-fA-F]{1,32})\s*$/m.exec(text)?.[1];
  const seccomp = /^Seccomp:\s*(\d)\s*$/m.exec(text)?.[1];
  return {
    ...(cap === undefined ? {} : { capEff: BigInt(`0x${cap}`) }),
    ...(seccomp === undefined ? {} : { seccomp: Number(seccomp) }),
  };
}

export const CAP_NET_ADMIN = 12n;
export const CAP_SYS_ADMIN = 21n;

/**
 * May this process use what Linux 7.3 keeps for CAP_NET_ADMIN or CAP_SYS_ADMIN in the initial user namespace?
 * `uidMap` is /proc/self/uid_map: root of a container's own namespace has the bits and not the power.
 */
export function isPrivileged(status: ProcessStatus, uidMap: string | undefined): boolean {
  const cap = status.capEff ?? 0n;
  if (((cap >> CAP_NET_ADMIN) & 1n) === 0n && ((cap >> CAP_SYS_ADMIN) & 1n) === 0n) return false;
  return uidMap === undefined || /^\s*0\s+0\s+4294967295\s*$/.test(uidMap);
}

export interface Interrupt {
  /** Number or short name: `24`, `NMI`. */
  readonly irq: string;
  readonly counts: readonly number[];
  readonly total: number;
  /** Controller, trigger and the names of the devices, as printed. */
  readonly description: string;
}

/** /proc/interrupts. */
export function parseInterrupts(text: string): Interrupt[] {
  const lines: Interrupt[] = [];
  for (const line of text.split(/\r?\n/)) {
    const match = /^\s*([\w-]+):((?:\s+\d+)+)(?:\s+(\S.*?))?\s*$/.exec(line);
    if (!match) continue;
    const counts = (match[2] as string).trim().split(/\s+/).map(Number);
    if (counts.some((count) => !Number.isSafeInteger(count))) continue;
    lines.push({
      irq: match[1] as string,
      counts,
      total: counts.reduce((a, b) => a + b, 0),
      description: match[3] ?? '',
    });
  }
  return lines;
}

/** /proc/cpuinfo: the flags of the first CPU: x86 `flags`, ARM `Features`, s390 `features`, RISC-V `isa` (its extensions). */
export function parseCpuFlags(text: string): Set<string> {
  const match = /^(flags|features|isa|ASEs implemented)[ \t]*:[ \t]*(.*?)[ \t\r]*$/im.exec(text);
  if (!match) return new Set();
  // RISC-V writes its extensions as one word: rv64imafdc_zvkned_zba.
  const separator = match[1]?.toLowerCase() === 'isa' ? /[\s_]+/ : /\s+/;
  return new Set((match[2] as string).split(separator).filter((word) => word !== ''));
}

/**
 * /proc/cpuinfo: what the CPU is called. ARM says only who made it and which part it is; where there are several kinds (big and little), all
 * of them. Undefined where nothing is said.
 */
export function parseCpuName(text: string): string | undefined {
  const all = (key: string): string[] => {
    const pattern = new RegExp(`^${key}[ \\t]*:[ \\t]*(.*?)[ \\t\\r]*$`, 'gim');
    return [...text.matchAll(pattern)].flatMap(([, value]) => value || []);
  };
  const named = ['model name', 'cpu model', 'uarch', 'cpu'].map(all).find((found) => found.length > 0);
  const [makers, parts] = [all('CPU implementer'), all('CPU part')];
  const kinds = named ?? makers.map((maker, i) => `ARM ${maker} ${parts[i] ?? ''}`.trim());
  return [...new Set(kinds)].join(' + ') || undefined;
}

/** Is protocol family ALG registered (/proc/net/protocols)? Then socket(AF_ALG) fails by somebody's decision only. */
export function parseHasAlgProtocol(text: string): boolean {
  return /^ALG\s/m.test(text);
}

// --- readers ---------------------------------------------------------------------------------------------------

/** A file's text, or undefined where it cannot be read. `root` stands in for `/` in tests. */
export function readText(path: string, root = '/'): string | undefined {
  try {
    return readFileSync(join(root, path), 'latin1');
  } catch {
    return undefined;
  }
}

export function readProcCrypto(root = '/'): KernelAlgorithm[] | undefined {
  const text = readText('/proc/crypto', root);
  return text === undefined ? undefined : parseProcCrypto(text);
}

export function readKernelVersion(root = '/'): KernelVersion | undefined {
  // uname needs no file; another root has only the file.
  const text = root === '/' ? release() : readText('/proc/sys/kernel/osrelease', root);
  return text === undefined ? undefined : parseKernelRelease(text);
}

export function readModules(root = '/'): LoadedModule[] | undefined {
  const text = readText('/proc/modules', root);
  return text === undefined ? undefined : parseModules(text);
}

/** In modprobe's order: a file hides those of the same name in later folders. */
const MODPROBE_FOLDERS = [
  '/etc/modprobe.d',
  '/run/modprobe.d',
  '/usr/local/lib/modprobe.d',
  '/usr/lib/modprobe.d',
  '/lib/modprobe.d',
];

export function readModuleRules(root = '/'): ModuleRule[] {
  const rules: ModuleRule[] = [];
  const seen = new Set<string>();
  for (const folder of MODPROBE_FOLDERS) {
    let files: string[];
    try {
      files = readdirSync(join(root, folder)).sort();
    } catch {
      continue;
    }
    for (const file of files) {
      if (!file.endsWith('.conf') || seen.has(file)) continue;
      seen.add(file);
      const text = readText(`${folder}/${file}`, root);
      if (text !== undefined) rules.push(...parseModprobe(text, `${folder}/${file}`));
    }
  }
  rules.push(...parseCommandLine(readText('/proc/cmdline', root) ?? ''));
  return rules;
}

/** What module files a kernel has, and what it asks modprobe for. */
export interface ModuleIndex {
  /** False where /lib/modules/RELEASE is not there to look into (a container, a kernel without modules). */
  readonly known: boolean;
  /** Are the aliases of built-in code among `aliases` (modules.builtin.modinfo, Linux 5.2 and later)? Then what has none is not there. */
  readonly complete: boolean;
  readonly builtin: ReadonlySet<string>;
  /** Loadable modules: name → path below /lib/modules/RELEASE. */
  readonly files: ReadonlyMap<string, string>;
  /** `crypto_cbc` → `cbc`; keys with `_`. */
  readonly aliases: ReadonlyMap<string, ReadonlySet<string>>;
}

/** Modules that provide what the kernel would ask for: `crypto-cbc`, `net-pf-38`. */
export function providers(index: ModuleIndex, alias: string): readonly string[] {
  return [...(index.aliases.get(moduleName(alias)) ?? [])];
}

export function readModuleIndex(kernelRelease: string, root = '/'): ModuleIndex {
  const folder = `/lib/modules/${kernelRelease}`;
  const dep = readText(`${folder}/modules.dep`, root);
  const builtin = readText(`${folder}/modules.builtin`, root);
  const alias = readText(`${folder}/modules.alias`, root);
  const modinfo = readText(`${folder}/modules.builtin.modinfo`, root);
  const aliases = parseModulesAlias(alias ?? '');
  parseBuiltinModinfo(modinfo ?? '', aliases);
  return {
    known: dep !== undefined || builtin !== undefined,
    complete: dep !== undefined && builtin !== undefined && alias !== undefined && modinfo !== undefined,
    builtin: parseModuleFiles(builtin ?? ''),
    files: parseModulePaths(dep ?? ''),
    aliases,
  };
}

/** /proc/sys/crypto: every file by name. `af_alg_restrict` is there from Linux 7.3 on. */
export function readCryptoSysctls(root = '/'): Map<string, string> {
  const values = new Map<string, string>();
  let files: string[] = [];
  try {
    files = readdirSync(join(root, '/proc/sys/crypto'));
  } catch {
    return values;
  }
  for (const file of files) {
    const text = readText(`/proc/sys/crypto/${file}`, root);
    if (text !== undefined) values.set(file, text.trim());
  }
  return values;
}

export function readInterrupts(root = '/'): Interrupt[] {
  return parseInterrupts(readText('/proc/interrupts', root) ?? '');
}

export function readCpuFlags(root = '/'): Set<string> {
  return parseCpuFlags(readText('/proc/cpuinfo', root) ?? '');
}

export function readStatus(root = '/'): ProcessStatus {
  return parseStatus(readText('/proc/self/status', root) ?? '');
}

export function readPrivileged(root = '/'): boolean {
  return isPrivileged(readStatus(root), readText('/proc/self/uid_map', root));
}

/** A whole number from a one-line file, as sysctls are. */
export function readNumber(path: string, root = '/'): number | undefined {
  const text = readText(path, root)?.trim();
  return text !== undefined && /^-?\d{1,15}$/.test(text) ? Number(text) : undefined;
}

/** Whether /sys/module/NAME is there: true for a loaded module and for built-in code that has parameters. */
export function inSysModule(module: string, root = '/'): boolean {
  try {
    return statSync(join(root, `/sys/module/${moduleName(module)}`)).isDirectory();
  } catch {
    return false;
  }
}
