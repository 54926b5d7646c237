/**
 * Which lines of /proc/interrupts belong to a crypto engine: the best proof there is that it works for somebody.
 *
 * A line names its device: by the driver's own word (`mv_cesa`, `qat…`), by the device tree's (`1e004000.crypto`), or, virtio's, by
 * a number that only /sys connects with virtio_crypto.
 */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';

import { type Interrupt, readInterrupts } from './proc.js';

/** Words that drivers of engines register their interrupts under. */
const ENGINES =
  /\bcrypto\b|\.crypto\b|crypto-engine|\beip\d|eip93|safexcel|cesa|\bcaam|\bjr\d*\b|\.jr\b|\bqat|talitos|\bccp-|hisi_sec|stm32-cryp|omap-(?:aes|sham|des)|\bsahara|mxs-dcp|-ce\b|\bcrypto[-_]/i;

const VIRTIO = /(virtio\d+)-(?:virtqueues|dataq\.\d+)/;

/** Names of the virtio devices that virtio_crypto drives: `virtio1`. */
function virtioCrypto(root: string): Set<string> {
  try {
    const names = readdirSync(join(root, 'sys/bus/virtio/drivers/virtio_crypto'));
    return new Set(names.filter((name) => /^virtio\d+$/.test(name)));
  } catch {
    return new Set();
  }
}

export function engineLines(interrupts: readonly Interrupt[], virtio: ReadonlySet<string>): Interrupt[] {
  return interrupts.filter(({ description }) => {
    const device = VIRTIO.exec(description)?.[1];
    return device === undefined ? ENGINES.test(description) : virtio.has(device);
  });
}

/** How often the crypto engines have interrupted since the machine started; undefined where no line is an engine's. */
export function readEngineInterrupts(root = '/'): number | undefined {
  const lines = engineLines(readInterrupts(root), virtioCrypto(root));
  return lines.length === 0 ? undefined : lines.reduce((sum, { total }) => sum + total, 0);
}
