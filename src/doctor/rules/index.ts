/** All rules. The order is that of topics; what is told first is decided by the findings' weights. */
import type { Rule } from '../finding.js';
import { benchmarkRules } from './benchmark.js';
import { cpuRules } from './cpu.js';
import { diskRules } from './disk.js';
import { driverRules } from './driver.js';
import { modeRules } from './modes.js';
import { opensslRules } from './openssl.js';
import { secretRules } from './secrets.js';
import { wayRules } from './ways.js';

export const RULES: readonly Rule[] = [
  ...secretRules,
  ...driverRules,
  ...modeRules,
  ...wayRules,
  ...opensslRules,
  ...benchmarkRules,
  ...diskRules,
  ...cpuRules,
];
