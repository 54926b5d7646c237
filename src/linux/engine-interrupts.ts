/**
 * Which lines of /proc/interrupts belong to a crypto engine: the best proof there is that it works for somebody.
 *
 * A line names its device: by the driver's own word (`mv_cesa`, `qat…`), by the device tree's (`1e004000.crypto`), or, virtio's, by
 * a number that only /sys connects with virtio_crypto.
 */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';

import { type Interrupt, readInterrupts } from './proc.js';

/**
 * Words that drivers of engines register their interrupts under: `request_irq`'s last name in drivers/crypto of Linux, mostly the device's own
 * (`1e004000.crypto`, `2101000.jr`, `54001000.cryp`), and what OpenWrt's add.
 */
const ENGINES = new RegExp(
  [
    String.raw`(?:\b|[._])crypto(?:\b|[-_])`,
    String.raw`\.(?:jr|cryp|hash|aes|des|tdes|sham|sha)\b`,
    String.raw`\bjr\d*\b|\bcaam|\bdcp-|mxs-dcp|\bsahara`,
    String.raw`\beip\d|eip93|safexcel|cesa|ccree|\bqat|nitrox|talitos|\bccp-|hisi_sec|sun\di-(?:ce|ss)\b`,
    '(?:omap|atmel|stm32)-(?:aes|des|tdes|sham|sha|cryp|hash)',
  ].join('|'),
  'i',
);

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
