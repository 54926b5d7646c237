/** All rules. The order is that of topics; what is told first is decided by the findings' weights. */
import type { Rule } from '../finding.js';
import { benchmarkRules } from './benchmark.js';
import { cpuRules } from './cpu.js';
import { diskRules } from './disk.js';
import { driverRules } from './driver.js';
import { logRules } from './log.js';
import { modeRules } from './modes.js';
import { moduleRules } from './modules.js';
import { namedRules, tooLittle } from './named.js';
import { opensslRules } from './openssl.js';
import { secretRules } from './secrets.js';
import { vpnRules } from './vpn.js';
import { wayRules } from './ways.js';

export const RULES: readonly Rule[] = [
  ...secretRules,
  ...driverRules,
  ...logRules,
  ...moduleRules,
  ...modeRules,
  ...wayRules,
  ...opensslRules,
  ...benchmarkRules,
  ...diskRules,
  ...cpuRules,
  ...vpnRules,
  ...namedRules,
];

/** Where none of them found anything. */
export const LAST_RULES: readonly Rule[] = [tooLittle];
