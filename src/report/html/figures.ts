/** Numbers as the page shows them. Room `report`. */
import { threeFigures, times } from '../units.js';

/** A number that can be drawn on a logarithmic scale. Inputs may hold anything that JSON can. */
export function drawable(value: number | null | undefined): value is number {
  return typeof value === 'number' && value >= 1e-12 && value <= 1e24;
}

/** As `threeFigures`; arithmetic on what JSON can hold may have left the numbers. */
export function digits(value: number): string {
  return Number.isFinite(value) ? threeFigures(value) : '–';
}

export function megabytesPerSecond(bytesPerSecond: number): string {
  return digits(bytesPerSecond / 1e6);
}

export function count(value: number): string {
  return Number.isSafeInteger(value) ? String(value) : digits(value);
}

/** For the ticks of a scale: `100 kB/s`, `1 GB/s`. */
export function rateTick(bytesPerSecond: number): string {
  let [rest, unit] = [bytesPerSecond, 'B/s'];
  for (const next of ['kB/s', 'MB/s', 'GB/s', 'TB/s']) {
    if (rest < 999.5) break;
    [rest, unit] = [rest / 1000, next];
  }
  return `${plain(rest)} ${unit}`;
}

/** `840 ns`, `12.5 µs`, `3.1 ms`, `2 s`. */
export function time(ns: number): string {
  let [rest, unit] = [ns, 'ns'];
  for (const next of ['µs', 'ms', 's']) {
    if (rest < 999.5) break;
    [rest, unit] = [rest / 1000, next];
  }
  return `${digits(rest).replace(/\.0+$/, '')} ${unit}`;
}

/** A tick's number, which is a round one: `100`, `1.5`, `0.3`. */
export function plain(value: number): string {
  return value >= 1e7 || value < 1e-4 ? value.toExponential(0) : String(Number(value.toPrecision(3)));
}

/** `15.5x`, `1.00x`, `0.22x`, `0.0213x`. */
export function ratioText(ratio: number): string {
  return ratio < 0.095 ? `${digits(ratio)}x` : times(ratio);
}
