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
