/** What is known of this machine, for a result set. Never its name. */
import { arch, cpus, loadavg, release, totalmem } from 'node:os';

import { readText } from '../../linux/proc.js';
import type { MachineFacts } from '../model.js';

/** `uname -m`'s word for what Node calls an architecture, where the two differ. */
const ARCHITECTURES: Readonly<Record<string, string>> = {
  x64: 'x86_64',
  ia32: 'i686',
  arm64: 'aarch64',
  loong64: 'loongarch64',
  ppc64: 'ppc64le',
};

export function machineFacts(): MachineFacts {
  const all = cpus();
  const model = text('/proc/device-tree/model') ?? board();
  const cpu = all[0]?.model.trim();
  const os = /^PRETTY_NAME="?([^"\n]*)"?$/m.exec(readText('/etc/os-release') ?? '')?.[1];
  return {
    ...(model ? { model } : {}),
    // ARM kernels give no name there.
    ...(cpu && cpu !== 'unknown' ? { cpu } : {}),
    cpus: all.length,
    architecture: ARCHITECTURES[arch()] ?? arch(),
    kernel: release(),
    ...(os ? { os } : {}),
    memoryBytes: totalmem(),
    loadBefore: loadavg()[0] as number,
  };
}

/** What a PC's firmware calls it, unless that is a placeholder. */
function board(): string | undefined {
  const product = text('/sys/class/dmi/id/product_name');
  return product && !/to be filled|default string|system product/i.test(product) ? product : undefined;
}

/** The device tree ends its strings with a zero byte. */
function text(path: string): string | undefined {
  return readText(path)?.replaceAll('\0', '').trim() || undefined;
}
