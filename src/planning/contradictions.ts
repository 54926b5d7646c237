/** Several texts are taken for one machine's: where they speak against that, it is told. */
import type { Facts } from '../doctor/facts/index.js';
import { megabytesPerSecond } from '../doctor/facts/results.js';
import { figuresOf } from './figures.js';
import { CONTRADICTION } from './predict.js';

/** @param texts each with its own facts @returns sentences without their full stops */
export function contradictions(
  texts: readonly { readonly name: string; readonly facts: Facts }[],
): readonly string[] {
  const notes: string[] = [];
  for (const [what, of] of [
    ['model', ({ machine }: Facts) => machine.model?.value],
    ['CPU', ({ machine }: Facts) => machine.cpu?.value],
    ['number of CPUs', ({ machine }: Facts) => machine.cpus],
    ['kernel', ({ machine }: Facts) => machine.kernel?.value.release],
  ] as const) {
    const said = texts.flatMap(({ name, facts }) => {
      const value = of(facts);
      return value === undefined ? [] : [{ name, value: String(value) }];
    });
    if (new Set(said.map(({ value }) => value)).size > 1)
      notes.push(
        `the texts are taken for one machine, but differ in its ${what}: ${said.map(({ name, value }) => `${value} (${name})`).join(', ')}`,
      );
  }
  const rates = new Map<string, { readonly name: string; readonly rate: number }[]>();
  for (const { name, facts } of texts) {
    for (const { algorithm, operation, by, points } of figuresOf(facts)) {
      const last = points.at(-1);
      if (by !== 'kernel' || !last) continue;
      const key = `${algorithm}${operation === undefined ? '' : ` ${operation}`} at ${last.requestBytes} bytes`;
      const rate = (last.requestBytes * 1e9) / last.elapsedNs;
      rates.set(key, [...(rates.get(key) ?? []), { name, rate }]);
    }
  }
  const apart = [...rates].flatMap(([key, all]) => {
    const sorted = all.toSorted((a, b) => a.rate - b.rate);
    const [slow, fast] = [sorted[0]!, sorted.at(-1)!];
    return slow.name !== fast.name && fast.rate > slow.rate * CONTRADICTION ? [{ key, slow, fast }] : [];
  });
  const [first] = apart;
  if (first) {
    const { key, slow, fast } = first;
    notes.push(
      `the benchmarks contradict each other, as if of two machines: ${key} ${megabytesPerSecond(slow.rate)} (${slow.name}) and ${megabytesPerSecond(fast.rate)} (${fast.name})${
        apart.length > 1 ? `, and ${apart.length - 1} more` : ''
      }`,
    );
  }
  return notes;
}
