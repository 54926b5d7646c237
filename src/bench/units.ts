/** Numbers for people. MB is 10^6 bytes, MiB 2^20, and both say which they are. */

/** `95.4 MB`, `512 B`. */
export function megabytes(bytes: number): string {
  if (bytes < 10_000) return `${bytes} B`;
  const [value, unit] = bytes < 1e9 ? [bytes / 1e6, 'MB'] : [bytes / 1e9, 'GB'];
  return `${value.toFixed(value < 10 ? 2 : 1)} ${unit}`;
}

/** Bytes in elapsed nanoseconds: `812 MB/s`, `43.1 kB/s`; `-` where there is nothing to tell. */
export function rate(bytes: number, elapsedNs: number): string {
  if (bytes === 0 || elapsedNs <= 0) return '-';
  const perSecond = (bytes * 1e9) / elapsedNs;
  const [value, unit] =
    perSecond < 1e3
      ? [perSecond, 'B/s']
      : perSecond < 1e5
        ? [perSecond / 1e3, 'kB/s']
        : [perSecond / 1e6, 'MB/s'];
  return `${value.toFixed(value < 10 ? 2 : value < 100 ? 1 : 0)} ${unit}`;
}

/** `1.23 s`, `45.6 ms`. */
export function seconds(elapsedNs: number): string {
  return elapsedNs >= 1e9 ? `${(elapsedNs / 1e9).toFixed(2)} s` : `${(elapsedNs / 1e6).toFixed(1)} ms`;
}

/** `8 s`, `3:05`, `1:02:05`: a time to wait. */
export function duration(ns: number): string {
  const whole = Math.ceil(ns / 1e9);
  if (whole < 60) return `${whole} s`;
  const [hours, minutes, rest] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  const two = (value: number): string => String(value).padStart(2, '0');
  return hours > 0 ? `${hours}:${two(minutes)}:${two(rest)}` : `${minutes}:${two(rest)}`;
}

/** `16 B`, `1 KiB`, `1.5 KiB`, `64 KiB`; a size that is no round number of KiB stays in bytes: `1500 B`. */
export function requestSize(bytes: number): string {
  for (const [unit, name] of BINARY) {
    if (bytes >= unit && Number.isInteger((bytes * 4) / unit)) return `${bytes / unit} ${name}`;
  }
  return `${bytes} B`;
}

/** The same with two figures, for estimates: `47 B`, `1.9 KiB`. */
export function roughSize(bytes: number): string {
  const [unit, name] = BINARY.find(([least]) => bytes >= least) ?? [1, 'B'];
  return `${Number((bytes / unit).toPrecision(2))} ${name}`;
}

const BINARY = [
  [2 ** 30, 'GiB'],
  [2 ** 20, 'MiB'],
  [2 ** 10, 'KiB'],
] as const;

/** Three figures, or all of a larger number: `0.0521`, `8.06`, `125`, `3417`. */
export function threeFigures(value: number): string {
  if (value === 0) return '0';
  const size = Math.abs(value);
  if (size >= 1e7 || size < 1e-4) return value.toExponential(1);
  if (size >= 100) return value.toFixed(0);
  if (size >= 10) return value.toFixed(1);
  return size >= 1 ? value.toFixed(2) : String(Number(value.toPrecision(3)));
}

/** What a request takes: `840 ns`, `12.5 us`, `3.10 ms`. */
export function requestTime(ns: number): string {
  const size = Math.abs(ns);
  if (size < 1e3) return `${threeFigures(ns)} ns`;
  return size < 1e6 ? `${threeFigures(ns / 1e3)} us` : `${threeFigures(ns / 1e6)} ms`;
}

/** `2.0x`, `15.5x`, `418x`; near 1 with two decimals. */
export function times(ratio: number): string {
  if (ratio >= 1e7) return `${ratio.toExponential(1)}x`;
  return `${ratio.toFixed(ratio >= 100 ? 0 : ratio >= 1.995 ? 1 : 2)}x`;
}

/** A share as `4 %`, `0.3 %`. */
export function percent(share: number): string {
  const value = share * 100;
  const size = Math.abs(value);
  if (size >= 1e7) return `${value.toExponential(1)} %`;
  return `${size >= 9.95 || value === 0 ? value.toFixed(0) : String(Number(value.toPrecision(size >= 1 ? 2 : 1)))} %`;
}
