/** Plans of machines that are made of texts, in the forms that the programs print, with figures of our own. */
import { gatherFacts } from '#src/doctor/index.js';
import { makePlan, type Plan, type PlanRequest, type Row } from '#src/planning/index.js';

export function planned(texts: readonly string[], request: Partial<PlanRequest> = {}): Plan {
  const facts = gatherFacts(texts.map((text, index) => ({ name: `text-${index + 1}`, text })));
  return makePlan({ facts, here: false, ...request });
}

/** The row of a plan, which must be there. */
export function row(plan: Plan, cipher: string, keyBits: number, sectorBytes: number): Row {
  const found = plan.rows.find(
    (one) => one.cipher === cipher && one.keyBits === keyBits && one.sectorBytes === sectorBytes,
  );
  if (!found) throw new Error(`no ${cipher} ${keyBits} ${sectorBytes}`);
  return found;
}

/** `aes-xts-plain64 512 4096`. */
export const lineText = ({ cipher, keyBits, sectorBytes }: Row): string =>
  `${cipher} ${keyBits} ${sectorBytes}`;

/** Rows of cryptsetup benchmark, in MiB/s: name, key, both directions. */
export function cryptsetupBenchmark(...rows: readonly (readonly [string, number, number, number])[]): string {
  const lines = rows.map(
    ([name, bits, encrypt, decrypt]) =>
      `${name.padStart(15)}        ${bits}b       ${encrypt.toFixed(1)} MiB/s       ${decrypt.toFixed(1)} MiB/s`,
  );
  return [
    '# Tests are approximate using memory only (no storage IO).',
    '#     Algorithm |       Key |      Encryption |      Decryption',
    ...lines,
    '',
  ].join('\n');
}

export const commandsOf = (plan: Plan, purpose: string): readonly string[] =>
  plan.steps.filter((step) => step.purpose === purpose).flatMap(({ commands }) => commands);
