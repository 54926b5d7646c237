/**
 * `node build/test/layer.js LAYER [--filter TEXT] [--verbose]`: one layer of the tests, in the machine this runs in.
 * test/run.ts starts it inside the guests; for people there is `npm test -- --layer LAYER`.
 */
import { parseArgs } from 'node:util';
import { projectFolder } from '../rig/index.js';
import { findLayer } from './helpers/layers.js';
import { describeFailures, describeSlowest, tally, tallyLine } from './helpers/results.js';
import { runLayer } from './helpers/run-layer.js';
import { Slots } from './helpers/slots.js';

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { filter: { type: 'string' }, verbose: { type: 'boolean' } },
});
const layer = findLayer(positionals[0] ?? '');
const result = await runLayer(layer, {
  filter: values.filter,
  slots: new Slots(1),
  resultsFolder: process.env['HWCRYPT_RESULTS'] ?? `${projectFolder}/results/${layer.name}`,
});
const sum = tally(result.files);
process.stdout.write(describeFailures(result.files));
if (values.verbose) process.stdout.write(describeSlowest(result.files, 5));
process.stdout.write(`${tallyLine(sum)}\n`);
process.exitCode = sum.failed > 0 || sum.passed + sum.skipped === 0 ? 1 : 0;
