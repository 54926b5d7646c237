/**
 * Room `doctor`: what is wrong, how sure that is, and what to do. Facts, from this machine or from texts that came off another
 * one, go through rules and become findings.
 *
 * May import: the rooms below. It gives data, with sentences in it; `report` and `cli` put them on a page or a terminal.
 *
 * `facts/` reads texts, `case.ts` derives what several rules ask, `rules/` has the rules by topic, `engines.ts` what is known of hardware, `cures.ts`
 * what to do about it, `prediction.ts` what it would bring.
 */
export { type Diagnosis, diagnose, diagnoseFacts } from './diagnose.js';
export type { Quote, Source } from './facts/document.js';
export { type Facts, gatherFacts, joinFacts, readText } from './facts/index.js';
export type { System } from './facts/machine.js';
export type { Finding, Kind, Rule, Step, Sureness, Topic } from './finding.js';
export {
  LOCAL_SHELL,
  measureHere,
  runProbe,
  type Shell,
  seenHere,
  sshShell,
  worthMeasuring,
} from './live.js';
export { type Configuration, type ConfigurationForm, configuration } from './openssl/configuration.js';
export {
  type EngineProof,
  type EngineState,
  nodeOpenssl,
  opensslPrograms,
  type SurveyedEngine,
  type SurveyedOpenssl,
  surveyOpenssl,
  weigh,
} from './openssl/survey.js';
export { probeScript } from './probe.js';
export { LAST_RULES, RULES } from './rules/index.js';
export { DIAGNOSIS_SCHEMA } from './schema.js';
