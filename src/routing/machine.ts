/** Which machine a measurement holds for. Never its name. */
import { arch, release } from 'node:os';

import { parseCpuFlags, parseCpuName, readText } from '../linux/proc.js';

export interface MachineKey {
  /** `uname -r`. */
  readonly kernel: string;
  /** As Node calls it: `x64`, `arm64`. */
  readonly architecture: string;
  /** What the CPU is called; `unknown` where it does not say. */
  readonly cpu: string;
  /**
   * Its features as the kernel lists them, in alphabetical order, with blanks in between: under a hypervisor CPUs of one name have AES
   * instructions or not. And what OpenSSL is told to do without (OPENSSL_ia32cap and its like), where it is.
   */
  readonly features: string;
}

/** Variables by which OpenSSL is told which instructions to use. */
const CAPABILITIES = [
  'OPENSSL_ia32cap',
  'OPENSSL_armcap',
  'OPENSSL_ppccap',
  'OPENSSL_riscvcap',
  'OPENSSL_s390xcap',
];

export function machineKey(env: NodeJS.ProcessEnv = process.env, root = '/'): MachineKey {
  const text = readText('/proc/cpuinfo', root) ?? '';
  const told = CAPABILITIES.flatMap((name) => (env[name] === undefined ? [] : [`${name}=${env[name]}`]));
  return {
    kernel: release(),
    architecture: arch(),
    cpu: parseCpuName(text) ?? 'unknown',
    features: [...[...parseCpuFlags(text)].sort(), ...told].join(' '),
  };
}

/** What differs, in words; undefined where nothing does. */
export function machineDifference(was: MachineKey, is: MachineKey): string | undefined {
  if (was.architecture !== is.architecture || was.cpu !== is.cpu) {
    return `it was measured on another CPU: ${was.cpu} (${was.architecture}), and this is ${is.cpu} (${is.architecture})`;
  }
  if (was.kernel !== is.kernel) return `it was measured with Linux ${was.kernel}, and this is ${is.kernel}`;
  if (was.features === is.features) return undefined;
  const [before, now] = [was.features, is.features].map((list) => new Set(list.split(' ')));
  const lost = [...before!].filter((name) => !now!.has(name));
  const gained = [...now!].filter((name) => !before!.has(name));
  const some = (names: readonly string[]): string =>
    names.length > 4 ? `${names.slice(0, 4).join(', ')} …` : names.join(', ');
  const changes = [
    ...(lost.length > 0 ? [`without ${some(lost)}`] : []),
    ...(gained.length > 0 ? [`with ${some(gained)}`] : []),
  ];
  return `the CPU’s features are others: now ${changes.join(', ')}`;
}
