/** Texts in, diagnosis out. Pure: nothing is run, read or printed. */
import { HwcryptError } from '../errors.js';
import { derive } from './case.js';
import type { Source } from './facts/document.js';
import { type Facts, gatherFacts } from './facts/index.js';
import type { System } from './facts/machine.js';
import { apply, type Finding } from './finding.js';
import { LAST_RULES, RULES } from './rules/index.js';

export const DIAGNOSIS_FORMAT = 'hwcrypt-diagnosis';
export const DIAGNOSIS_VERSION = 1;

export interface Diagnosis {
  readonly format: typeof DIAGNOSIS_FORMAT;
  readonly version: typeof DIAGNOSIS_VERSION;
  /** The first finding's sentence, or that nothing was found. */
  readonly verdict: string;
  /** Is there anything to do? */
  readonly healthy: boolean;
  readonly findings: readonly Finding[];
  readonly machine: {
    readonly model?: string;
    readonly cpu?: string;
    readonly kernel?: string;
    readonly system?: System;
  };
  readonly sources: Facts['sources'];
}

/** @throws HwcryptError INPUT_FILE where nothing in the texts is of any use */
export function diagnose(sources: readonly Source[]): Diagnosis {
  return diagnoseFacts(gatherFacts(sources));
}

export function diagnoseFacts(facts: Facts): Diagnosis {
  if (!facts.understood) {
    const names = facts.sources.map(({ name }) => name).join(', ');
    throw new HwcryptError(
      'INPUT_FILE',
      `nothing in ${names} is known: neither a bundle of hwcrypt probe nor output of a program that the doctor reads`,
    );
  }
  const subject = derive(facts);
  const told = RULES.flatMap((rule) => apply(rule, subject)).sort((a, b) => b.weight - a.weight);
  const findings = told.length > 0 ? told : LAST_RULES.flatMap((rule) => apply(rule, subject));
  const { model, cpu, kernel, system } = facts.machine;
  return {
    format: DIAGNOSIS_FORMAT,
    version: DIAGNOSIS_VERSION,
    verdict:
      findings[0]?.verdict ??
      'Nothing is wrong with what these texts show, and nothing in them can be made better',
    healthy: findings.every(({ kind }) => kind === 'fine'),
    findings,
    machine: {
      ...(model ? { model: model.value } : {}),
      ...(cpu ? { cpu: cpu.value } : {}),
      ...(kernel ? { kernel: kernel.value.release } : {}),
      ...(system ? { system: system.value } : {}),
    },
    sources: facts.sources,
  };
}
