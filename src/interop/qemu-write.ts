/** What QEMU's tests/bench/benchmark-crypto-* print, from results, and the table that people make of it. MB is 2^20 bytes in both. */
import { findAlgorithm } from '../algorithms.js';
import type { Measurement } from '../bench/model.js';
import { fixed } from './numbers.js';

const MIB = 2 ** 20;

/** `enc(aes-128-cbc)`, `dec(aes-128-cbc)`, `hash(sha256)`, `hmac(sha256)`; hwcrypt's name where QEMU has none. */
export function qemuSubject({ algorithm, algorithmText, operation }: Measurement): string {
  const known = algorithm === undefined ? undefined : findAlgorithm(algorithm);
  const name = known?.names.qemu ?? known?.name ?? algorithmText;
  if (known?.kind === 'mac')
    return /^[hc]mac\(/.test(name) ? name : name.replace(/^([hc]mac)-(.*)$/, '$1($2)');
  if (known?.kind === 'hash') return `hash(${name})`;
  return `${operation === 'decrypt' ? 'dec' : 'enc'}(${name})`;
}

/** `enc(aes-128-cbc) chunk 512 bytes 123.45 MB/sec ` (the blank is the tool's) and a line feed; empty where there is no figure. */
export function qemuLine(measurement: Measurement): string {
  const { requestBytes, bytesPerSecond } = measurement;
  if (requestBytes === undefined || bytesPerSecond === undefined) return '';
  const subject = qemuSubject(measurement);
  const rate = `chunk ${requestBytes} bytes ${fixed(bytesPerSecond / MIB, 2)} MB/sec`;
  return /^(?:enc|dec)\(/.test(subject) ? `${subject} ${rate} \n` : `${subject}: ${rate}\n`;
}

export interface QemuColumn {
  readonly driver: string;
  readonly kernelDriver?: string;
  /** Of one subject; each size once. */
  readonly measurements: readonly Measurement[];
}

/**
 * A title, `chunk_size(bytes)   MB/sec(afalg:sha256-ssse3)   MB/sec(libcrypto:default)`, and a row for each size. Where a column lacks a
 * figure it has a `-`.
 */
export function qemuTable(title: string, columns: readonly QemuColumn[]): string {
  const sizes = [
    ...new Set(columns.flatMap(({ measurements }) => measurements.flatMap((own) => own.requestBytes ?? []))),
  ].sort((a, b) => a - b);
  const heads = columns.map(({ driver, kernelDriver }) => {
    const who = kernelDriver === undefined ? driver : `${driver}:${kernelDriver}`;
    return `MB/sec(${who})`;
  });
  const first = 'chunk_size(bytes)';
  const rows = sizes.map((size) => {
    const cells = columns.map(({ measurements }, i) => {
      const rate = measurements.find(({ requestBytes }) => requestBytes === size)?.bytesPerSecond;
      return (rate === undefined ? '-' : fixed(rate / MIB, 2)).padStart(heads[i]!.length);
    });
    return [String(size).padStart(first.length), ...cells].join('   ');
  });
  return `${[title, [first, ...heads].join('   '), ...rows].join('\n')}\n`;
}
