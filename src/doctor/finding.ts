/** What a rule finds: data, with the sentences that people read in it. `docs/doctor.md` lists the identifiers. */

import type { Case } from './case.js';
import type { Quote } from './facts/document.js';
import type { System } from './facts/machine.js';

/** `problem`: something does not work as it should. `advice`: it works, and could do better. `fine`: nothing to do; told since somebody asked. */
export type Kind = 'problem' | 'advice' | 'fine';

/** `certain`: the texts say it. `likely`: several signs, none against. `possible`: one of several explanations. */
export type Sureness = 'certain' | 'likely' | 'possible';

export type Topic =
  | 'driver'
  | 'modes'
  | 'af-alg'
  | 'cryptodev'
  | 'openssl'
  | 'benchmark'
  | 'disk'
  | 'vpn'
  | 'cpu'
  | 'secrets';

/** What to do. Steps without a system are for all; of those with one, the machine's own are shown, or all where it is not known. */
export interface Step {
  readonly system?: System;
  readonly text: string;
  readonly commands: readonly string[];
}

export interface Finding {
  /** Stable: `driver-outranked`. */
  readonly id: string;
  readonly topic: Topic;
  readonly kind: Kind;
  /** The largest is told first. */
  readonly weight: number;
  /** One sentence without its full stop. */
  readonly verdict: string;
  /** Sentences that explain it. */
  readonly details: readonly string[];
  readonly sureness: Sureness;
  readonly evidence: readonly Quote[];
  readonly steps: readonly Step[];
  /** What it would bring, in figures where there are any to predict from. */
  readonly gain?: string;
}

export interface Rule {
  readonly id: string;
  readonly topic: Topic;
  /** What it looks for, in a few words, for the documentation. */
  readonly about: string;
  readonly examine: (subject: Case) => readonly Found[];
}

/** A finding before its rule has put its name to it. */
export type Found = Pick<Finding, 'kind' | 'weight' | 'verdict' | 'sureness'> &
  Partial<Pick<Finding, 'details' | 'evidence' | 'steps' | 'gain'>>;

export function apply(rule: Rule, subject: Case): Finding[] {
  return rule
    .examine(subject)
    .map((found) => ({ id: rule.id, topic: rule.topic, details: [], evidence: [], steps: [], ...found }));
}
