/**
 * `npm test`: the whole test run. Style and types, the unit tests on this machine, and the other layers in the guests
 * that they need (helpers/layers.ts). Says of each layer what came out, and ends with one line for all.
 *
 * A layer that cannot run here says why and counts as one skipped. One that dies, takes too long, or in which no test
 * ran, has failed. Where CI is set, that is a failure.
 */
import { spawn } from 'node:child_process';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism, freemem } from 'node:os';
import { interruption, projectFolder, RigUnavailableError, runInGuest } from '../rig/index.js';
import { findLayer, type Layer, testFiles } from './helpers/layers.js';
import {
  describeFailures,
  describeSlowest,
  type Event,
  type FileResult,
  type LayerResult,
  type Tally,
  tally,
  tallyLine,
} from './helpers/results.js';
import { parseRunArguments, type RunArguments, usage } from './helpers/run-args.js';
import { eventsFile, runLayer, summaryFile } from './helpers/run-layer.js';
import { Slots } from './helpers/slots.js';

/** A guest's own memory and that of its host process. */
const guestBytes = 1.5 * 1024 ** 3;

const { signal, status: interrupted } = interruption();
const strict = !['', '0', 'false'].includes(process.env['CI'] ?? '');
const total: Tally = { passed: 0, failed: 0, skipped: 0 };
let skippedLayers = 0;

process.exitCode = await main();

async function main(): Promise<number> {
  let args: RunArguments;
  try {
    args = parseRunArguments(process.argv.slice(2));
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n\n${usage}`);
    return 2;
  }
  if (args.help) {
    process.stdout.write(usage);
    return 0;
  }

  const chosen = args.layers.filter((name) => name !== 'check').map(findLayer);
  const wanted = chosen.filter((layer) => !layer.optional || testFiles(layer).length > 0);
  // One more than there are processors, since guests and tests of commands wait for a good part of their time; and guests side by side
  // only where there is memory for them.
  const slots = new Slots(
    Math.max(1, Math.min(availableParallelism() + 1, Math.floor(freemem() / guestBytes))),
  );
  const deadline = Date.now() + args.minutes * 60_000;
  // The guests ask first: they are the longest pieces, and the many short ones of the host fill what they leave.
  const guests = wanted.filter((layer) => layer.guest);
  const hosts = wanted.filter((layer) => !layer.guest);
  await Promise.all([
    ...(args.layers.includes('check') ? [slots.use(check)] : []),
    ...guests.map((layer) => slots.use(() => guestLayer(layer, args, deadline))),
    ...hosts.map((layer) => hostLayer(layer, args, deadline, slots)),
  ]);

  const by = interrupted();
  if (by !== undefined) {
    process.stderr.write('interrupted\n');
    return by;
  }
  // With a filter, most layers have nothing to run; all of them together must have.
  if (total.passed + total.failed + total.skipped === 0) {
    process.stdout.write('✖ no test ran\n');
    total.failed += 1;
  }
  if (strict && skippedLayers > 0)
    process.stdout.write('CI is set: a layer that was skipped fails the run\n');
  process.stdout.write(`${tallyLine(total)}\n`);
  return total.failed > 0 || (strict && skippedLayers > 0) ? 1 : 0;
}

// ---------------------------------------------------------------------------------------------------------------------

async function check(): Promise<void> {
  const started = performance.now();
  const bin = `${projectFolder}/node_modules/.bin`;
  // scripts/run.mjs has just compiled, and hands over what the compiler said.
  const compiled = process.env['HWCRYPT_TSC'];
  delete process.env['HWCRYPT_TSC'];
  const types =
    compiled === undefined
      ? await tool(`${bin}/tsc`, ['-b'])
      : { status: compiled === '' ? 0 : 1, output: compiled };
  const style = await tool(`${bin}/biome`, ['check', '--colors=off', '.']);
  if (signal.aborted) return;
  const file = (name: string, { status, output }: { status: number; output: string }): FileResult => ({
    file: name,
    tests:
      status === 0
        ? [{ name, outcome: 'passed', ms: 0 }]
        : [{ name, outcome: 'failed', ms: 0, message: excerpt(output) }],
    troubles: [],
    output: '',
  });
  const files = [file('types (tsc -b)', types), file('style (biome check)', style)];
  section('check', files, performance.now() - started);
}

function excerpt(output: string): string {
  const lines = output.replaceAll(`${projectFolder}/`, '').trim().split('\n');
  const more = lines.length > 200 ? [`… and ${lines.length - 200} more lines`] : [];
  return [...lines.slice(0, 200), ...more].join('\n');
}

function tool(program: string, args: readonly string[]): Promise<{ status: number; output: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, [...args], {
      cwd: projectFolder,
      stdio: ['ignore', 'pipe', 'pipe'],
      signal,
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        output += text;
      });
    }
    child.on('error', (error) =>
      signal.aborted ? resolve({ status: 1, output: 'interrupted' }) : reject(error),
    );
    child.on('close', (status) => resolve({ status: status ?? 1, output }));
  });
}

async function hostLayer(layer: Layer, args: RunArguments, deadline: number, slots: Slots): Promise<void> {
  const late = AbortSignal.timeout(deadline - Date.now());
  const { files, elapsedMs } = await runLayer(layer, {
    filter: args.filter,
    slots,
    resultsFolder: `${projectFolder}/results/${layer.name}`,
    signal: AbortSignal.any([signal, late]),
  });
  if (signal.aborted) return;
  const left = testFiles(layer).length - files.length;
  const all = late.aborted
    ? [...files, trouble(layer, `not done after ${args.minutes} minutes; ${left} files were not begun`)]
    : files;
  section(layer.name, all, elapsedMs, args);
}

async function guestLayer(layer: Layer, args: RunArguments, deadline: number): Promise<void> {
  if (signal.aborted) return;
  const started = performance.now();
  const resultsFolder = `${projectFolder}/results/${layer.name}`;
  for (const name of [eventsFile, summaryFile]) rmSync(`${resultsFolder}/${name}`, { force: true });
  try {
    const result = await runInGuest({
      ...layer.guest!,
      command: [
        'node',
        'build/test/layer.js',
        layer.name,
        ...(args.filter === undefined ? [] : ['--filter', args.filter]),
      ],
      env: process.env['CI'] === undefined ? {} : { CI: process.env['CI'] },
      timeoutSeconds: Math.max(1, (deadline - Date.now()) / 1000),
      resultsFolder,
      output: 'capture',
      signal,
    });
    if (result.outcome === 'aborted') return;
    const elapsedMs = performance.now() - started;
    const summary = readSummary(`${resultsFolder}/${summaryFile}`);
    if (result.outcome === 'exited' && summary !== undefined) {
      section(layer.name, summary.files, elapsedMs, args, result.bootMs);
      return;
    }
    // What had come out until then is told too.
    const { files, running } = readEvents(`${resultsFolder}/${eventsFile}`);
    const what = result.message ?? `the layer ended with status ${result.status} and no summary`;
    const output = `${result.stdout}${result.stderr}${result.console}`
      .trimEnd()
      .split('\n')
      .slice(-60)
      .join('\n');
    files.push(trouble(layer, `${what}${running ? `, in: ${running}` : ''}`, output));
    section(layer.name, files, elapsedMs, args, result.bootMs);
  } catch (error) {
    if (!(error instanceof RigUnavailableError)) throw error;
    process.stdout.write(`— ${layer.name}: skipped: ${error.message}\n`);
    total.skipped += 1;
    skippedLayers += 1;
  }
}

function trouble(layer: Layer, message: string, output = ''): FileResult {
  return { file: `layer ${layer.name}`, tests: [], troubles: [message], output };
}

function readSummary(path: string): LayerResult | undefined {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as LayerResult;
  } catch {
    return undefined;
  }
}

/** The last line may be half a line. */
function readEvents(path: string): { files: FileResult[]; running: string | undefined } {
  const files: FileResult[] = [];
  let running: string | undefined;
  if (!existsSync(path)) return { files, running };
  for (const line of readFileSync(path, 'utf8').split('\n').slice(0, -1)) {
    const event = JSON.parse(line) as Event;
    if (event.type === 'file') {
      files.push({ file: event.file, tests: [], troubles: [], output: '' });
      running = event.file;
    } else if (event.type === 'start') {
      running = `${files.at(-1)?.file} › ${event.name}`;
    } else if (event.type === 'test') {
      const { type: _, ...test } = event;
      files.at(-1)?.tests.push(test);
    }
  }
  return { files, running };
}

function section(
  name: string,
  files: readonly FileResult[],
  elapsedMs: number,
  { verbose, filter }: Partial<RunArguments> = {},
  bootMs?: number,
): void {
  const sum = tally(files);
  let text = describeFailures(files);
  if (sum.passed + sum.failed + sum.skipped === 0 && filter === undefined) {
    text += `✖ layer ${name}\n    no test ran\n`;
    sum.failed += 1;
  }
  const boot = bootMs === undefined ? '' : `, ${(bootMs / 1000).toFixed(1)} s of it booting`;
  const time = verbose ? ` in ${(elapsedMs / 1000).toFixed(1)} s${boot}` : '';
  text += `${sum.failed > 0 ? '✖' : '✔'} ${name}: ${tallyLine(sum)}${time}\n`;
  if (verbose) text += describeSlowest(files, 5);
  process.stdout.write(text);
  total.passed += sum.passed;
  total.failed += sum.failed;
  total.skipped += sum.skipped;
}
